import { expect, test } from "vitest";
import { describeTriggers } from "@/core/triggers";

const words = (triggers: Record<string, unknown>) => describeTriggers(triggers).map((each) => each.text);
const push = (more: object) => words({ push: { enabled: true, branches: [], tags: [], paths: [], ...more } });

test("a push is told by its branches, tags and files", () => {
  expect(push({ branches: ["**"] })).toEqual(["push to any branch"]);
  expect(push({ branches: ["main", "release/**", "!release/old"] })).toEqual([
    "push to main, release/** except release/old",
  ]);
  expect(push({ tags: ["v*"] })).toEqual(["push of tag v*"]);
  expect(push({ branches: ["main"], tags: ["**"] })).toEqual(["push to main or of any tag"]);
  expect(push({ branches: ["**"], paths: ["src/**", "!src/old/**"] })).toEqual([
    "push to any branch that changes src/** except src/old/**",
  ]);
  expect(push({ branches: ["**", "!wip/**"] })).toEqual(["push to anything except wip/**"]);
});

test("every schedule is a line of its own, in its timezone", () => {
  const schedule = [{ cron: "30 2 * * 1-5", timezone: "Europe/Berlin" }, { cron: "0 0 1 * *" }];
  expect(words({ schedule })).toEqual(["schedule 30 2 * * 1-5 (Europe/Berlin)", "schedule 0 0 1 * * (UTC)"]);
});

test("webhooks, cards and manual starts are told too", () => {
  expect(words({ webhook: { provider: "github", events: ["push", "pull_request"] } })).toEqual([
    "GitHub webhook: push, pull_request",
  ]);
  expect(words({ webhook: { provider: "plain", events: [] }, manual: {} })).toEqual(["webhook", "manual start"]);
  expect(words({ card_complete: { status: "in_review" } })).toEqual(["a card reaches in review"]);
});

test("a flow without triggers is started by hand, and a disabled trigger says so", () => {
  expect(words({})).toEqual(["manual start only"]);
  expect(describeTriggers({ push: { enabled: false, branches: ["main"] } })).toEqual([
    { kind: "push", text: "push to main", isEnabled: false },
  ]);
});
