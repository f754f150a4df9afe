import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { joinStops } from "@/api/live-run";
import type { BreakpointInfo } from "@/api/types";
import { newClock } from "@/core/durations";
import type { RunEvent, StepStatus } from "@/core/events";
import { type LaneStep, layOut } from "@/core/lanes";
import { fold, type StepView } from "@/core/run-view";
import { boxStates, turnStatuses } from "@/features/graph/box-state";

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

test("a stop at a tool call pauses the box of the agent, and a breakpoint for calls is no breakpoint at its step", () => {
  const file = join(import.meta.dirname, "../../../../tests/events/streams/agent.json");
  const { flow_info, events } = JSON.parse(readFileSync(file, "utf8")) as {
    flow_info: { steps: LaneStep[] };
    events: RunEvent[];
  };
  const view = fold(events.slice(0, events.findIndex(({ kind }) => kind === "debug.stopped") + 1));
  const stops = joinStops(view.stops, null);
  const request = { step: "fix", tool: "shell", enabled: true };
  const breakpoints = [{ id: 2, request, paths: ["fix"], hit_count: 0 } as unknown as BreakpointInfo];
  const states = boxStates({ view, stops, activeStop: stops[0] ?? null, breakpoints, selected: "fix" });
  const shape = { occurrences: view.steps.keys(), frames: view.frames, injected: [] };
  const box = layOut(flow_info.steps, shape, new Set()).boxes.find(({ id }) => id === "fix");

  expect(stops.map(({ occurrence, positions }) => [occurrence, positions])).toEqual([["fix/2/1", ["before"]]]);
  expect(stops[0]?.allowed).toContain("skip");
  expect(stops[0]?.allowed).not.toContain("goto");
  expect(box && states(box)).toMatchObject({
    status: "paused",
    mark: "none",
    isActive: true,
    isSelected: true,
    calls: 3,
    hasCallMark: true,
  });
});
