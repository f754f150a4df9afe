import { expect, test } from "vitest";
import { nextMove, type StartedTrial, spentInHour } from "@/core/continuous";

const NOW = 10_000;
const trial = (id: string, state: StartedTrial["state"], secondsAgo: number, cost: number | null = null) => ({
  id,
  state,
  created_at: NOW - secondsAgo,
  live: { cost },
});
const move = (started: readonly StartedTrial[], more: Partial<Parameters<typeof nextMove>[0]> = {}) =>
  nextMove({ count: 1, started, cancelled: new Set(), limit: 5, now: NOW, ...more });

test("what runs is cancelled once, and waited for until it has ended", () => {
  const started = [trial("a", "running", 5), trial("b", "passed", 5)];
  expect(move(started)).toEqual({ kind: "cancel", trials: ["a"] });
  expect(move(started, { cancelled: new Set(["a"]) })).toEqual({ kind: "wait", seconds: null });
  expect(move([trial("a", "cancelling", 5)])).toEqual({ kind: "wait", seconds: null });
  expect(move([trial("a", "cancelled", 5)])).toEqual({ kind: "start" });
});

test("at most ten trials are started in a minute", () => {
  const started = Array.from({ length: 9 }, (_, at) => trial(`${at}`, "passed", 50 - at));
  expect(move(started)).toEqual({ kind: "start" });
  expect(move(started, { count: 2 })).toEqual({ kind: "wait", seconds: 10 });
  expect(move(started, { count: 4 })).toEqual({ kind: "wait", seconds: 12 });
  expect(move([...started, trial("x", "passed", 70)])).toEqual({ kind: "start" });
});

test("it stops when the budget of the hour is spent", () => {
  const started = [trial("a", "passed", 3000, 3), trial("b", "failed", 100, 2), trial("c", "passed", 4000, 50)];
  expect(spentInHour(started, NOW)).toBe(5);
  expect(move(started)).toMatchObject({ kind: "stop", reason: expect.stringContaining("$5.00") });
  expect(move(started, { limit: 6 })).toEqual({ kind: "start" });
});
