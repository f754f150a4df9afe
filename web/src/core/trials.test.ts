import { expect, test } from "vitest";
import { filesOf, groupsOf, isTrialOver, saveName, secondsOf, titleOf, withToggled } from "@/core/trials";

test("a trial is over when nothing of it runs any more", () => {
  const states = ["queued", "running", "cancelling", "passed", "failed", "cancelled"] as const;
  expect(states.filter(isTrialOver)).toEqual(["passed", "failed", "cancelled"]);
});

test("the time of a trial counts from its start, and stops at its end", () => {
  expect(secondsOf({ state: "queued", started_at: null, ended_at: null }, 50)).toBeNull();
  expect(secondsOf({ state: "running", started_at: 40, ended_at: null }, 50)).toBe(10);
  expect(secondsOf({ state: "passed", started_at: 40, ended_at: 45 }, 50)).toBe(5);
  expect(secondsOf({ state: "running", started_at: 60, ended_at: null }, 50)).toBe(0);
});

test("trials that were started together are one group, in the order they were asked for", () => {
  const trial = (id: string, group: string) => ({ id, group, created_at: 1 });
  const newestFirst = [trial("d", "h"), trial("c", "g"), trial("b", "h"), trial("a", "g")];
  expect(groupsOf(newestFirst).map((group) => group.map(({ id }) => id))).toEqual([
    ["b", "d"],
    ["a", "c"],
  ]);
});

test("at most four trials are shown, and the one shown longest gives way", () => {
  expect(withToggled(["a", "b"], "a")).toEqual(["b"]);
  expect(withToggled(["a", "b", "c", "d"], "e")).toEqual(["b", "c", "d", "e"]);
});

test("the same file of all results is in one row", () => {
  const rows = filesOf([[{ path: "b" }, { path: "a" }], [{ path: "c" }], [{ path: "b" }]]);
  expect(rows.map(({ path, changes }) => [path, changes.map((each) => each !== null)])).toEqual([
    ["a", [true, false, false]],
    ["b", [true, false, true]],
    ["c", [false, true, false]],
  ]);
});

test("a prompt is titled with its first line that has text", () => {
  expect(titleOf("\n  \n  Repair the price. \nMore.")).toBe("Repair the price.");
  expect(titleOf(" \n")).toBe("");
});

test("a name for branches is made of any text", () => {
  expect(saveName("Opus 4.5, über!")).toBe("Opus-4-5-u-ber");
  expect(saveName("-- 日本 --")).toBe("trial");
  expect(saveName("a".repeat(60))).toHaveLength(40);
});
