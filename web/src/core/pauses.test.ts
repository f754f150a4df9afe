import { expect, test } from "vitest";
import type { RunEvent } from "@/core/events";
import { isWithin, Pauses, pausedWithin } from "@/core/pauses";

const stopped = (stop: number, occurrence: string, at: number) =>
  ({ kind: "debug.stopped", number: 0, at, stop, frame: "main", step: occurrence, occurrence }) as unknown as RunEvent;
const resumed = (stop: number, at: number) =>
  ({ kind: "debug.resumed", number: 0, at, stop, frame: "main", verb: "continue" }) as RunEvent;

test("two branches that stood still at the same time count once for the step around them", () => {
  const pauses = new Pauses();
  for (const event of [stopped(1, "p.a", 10), stopped(2, "p.b", 12), resumed(1, 15), resumed(2, 20)])
    pauses.apply(event);

  expect(pausedWithin(pauses.all, "p", 0, 100)).toEqual([[10, 20]]);
  expect(pausedWithin(pauses.all, "p.a", 0, 100)).toEqual([[10, 15]]);
  expect(pausedWithin(pauses.all, "q", 0, 100)).toEqual([]);
});

test("a pause that lasts reaches to the end of what is looked at", () => {
  const pauses = new Pauses();
  pauses.apply(stopped(1, "a", 5));

  expect(pausedWithin(pauses.all, "a", 0, 9)).toEqual([[5, 9]]);
});

test("a name that only begins the same is not inside", () => {
  expect(isWithin("build2", "build")).toBe(false);
  expect(isWithin("build[0].a", "build")).toBe(true);
});
