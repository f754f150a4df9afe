import { expect, test } from "vitest";
import { newClock } from "@/core/durations";
import type { StepStatus } from "@/core/events";
import type { StepView } from "@/core/run-view";
import { turnStatuses } from "@/features/graph/box-state";

const step = (occurrence: string, status: StepStatus, is_retried = false): StepView => ({
  occurrence,
  step: "all.tests.unit",
  frame: "main",
  status,
  started_at: 1,
  ended_at: null,
  outcome: null,
  is_retried,
  started_event: 1,
  ended_event: 0,
  clock: newClock(1),
});

test("a turn without a frame of its own stands as the steps in it do", () => {
  const turns = turnStatuses([
    step("all.tests[0].setup", "passed"),
    step("all.tests[0].unit", "failed"),
    step("all.tests[0].report", "passed"),
    step("all.tests[1].unit", "failed", true),
    step("all.tests[1].unit#2", "passed"),
    step("all.tests[2].setup", "skipped"),
    step("all.tests[2].loop[4].ask", "running"),
  ]);

  expect(Object.fromEntries(turns)).toEqual({
    "all.tests[0]": "failed",
    "all.tests[1]": "passed",
    "all.tests[2]": "running",
    "all.tests[2].loop[4]": "running",
  });
});
