import { expect, test } from "vitest";
import { durationsOf, endClock, newClock, pausesOf, setPaused } from "@/core/durations";

test("the stretches in which something was paused add up to how long it was", () => {
  const waited = newClock(12, 2); // at a stop before it
  const paused = setPaused(setPaused(setPaused(waited, true, 15), false, 20), true, 30);

  expect(pausesOf(paused, 34)).toEqual([
    [10, 12],
    [15, 20],
    [30, 34],
  ]);
  expect(durationsOf(paused, 34)).toEqual({ ran: 13, paused: 11, total: 24 });
  expect(pausesOf(endClock(paused, 33), 99)).toEqual([
    [10, 12],
    [15, 20],
    [30, 33],
  ]);
});
