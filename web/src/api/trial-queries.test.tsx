import { QueryClient } from "@tanstack/react-query";
import { expect, test } from "vitest";
import type { News } from "@/api/feed";
import { refreshTrials } from "@/api/trial-queries";

const KEYS = [
  ["trial", "a", "detail"],
  ["trial", "b", "detail"],
  ["trials", "till"],
  ["trials", "oven"],
  ["trial-branches", "till"],
  ["trial-diff", "a", null],
];
const news = (kind: string, trial: string, repo = "till"): News => ({
  id: 1,
  at: 1,
  topic: `repo:${repo}`,
  kind,
  body: { trial },
});

/** What is asked for again after some news, on the page of one repository. */
async function refreshed(...told: readonly News[]): Promise<string[]> {
  const client = new QueryClient();
  for (const key of KEYS) client.setQueryData(key, {});
  await refreshTrials(client, "till", told);
  return KEYS.filter((key) => client.getQueryState(key)?.isInvalidated).map((key) => key.slice(0, 2).join(" "));
}

test("progress of a trial asks for that trial only", async () => {
  expect(await refreshed(news("trial.progress", "a"))).toEqual(["trial a"]);
});

test("a trial that starts or ends is asked for with the list of its repository", async () => {
  expect(await refreshed(news("trial.ended", "b"))).toEqual(["trial b", "trials till"]);
  expect(await refreshed(news("trial.started", "c", "oven"))).toEqual([]);
});

test("a saved result asks for the branches too", async () => {
  expect(await refreshed(news("trial.saved", "a"))).toEqual(["trial a", "trials till", "trial-branches till"]);
});

test("after a gap everything of the repository is asked for again", async () => {
  expect(await refreshed()).toEqual(["trial a", "trial b", "trials till", "trial-branches till"]);
});
