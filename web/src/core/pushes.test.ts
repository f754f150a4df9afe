import { expect, test } from "vitest";
import { canStartAnyway, describeMove, outcomeWords, viaWords } from "@/core/pushes";

const push = { ref: "refs/heads/main", old: "a", new: "b", is_forced: false };

test("a push says what it did, unless it only moved its branch ahead", () => {
  expect(describeMove(push)).toBeNull();
  expect(describeMove({ ...push, is_forced: true })).toBe("forced");
  expect(describeMove({ ...push, old: null })).toBe("new branch");
  expect(describeMove({ ...push, ref: "refs/tags/v1", old: null })).toBe("new tag");
  expect(describeMove({ ...push, new: null })).toBe("deleted");
});

test("only what started no run may be started anyway", () => {
  const all = ["pending", "started", "skipped", "duplicate", "refused"];
  const anyway = (reason: string | null) => all.filter((outcome) => canStartAnyway({ outcome, reason }));
  expect(anyway(null)).toEqual(["skipped", "duplicate", "refused"]);
  expect(anyway("the flow file has errors: ci.yaml:4: unknown step type `rum`")).toEqual([]);
});

test("words that are not known are shown as they are", () => {
  expect([viaWords("push"), viaWords("pigeon")]).toEqual(["git push", "pigeon"]);
  expect([outcomeWords("skipped"), outcomeWords("odd")]).toEqual(["not started", "odd"]);
});
