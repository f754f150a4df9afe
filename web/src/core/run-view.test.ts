import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Clock, durationsOf } from "@/core/durations";
import type { RunEvent } from "@/core/events";
import { fold, RunView } from "@/core/run-view";

const STREAMS = join(import.meta.dirname, "../../../tests/events/streams");

function microseconds(clock: Clock | null, now: number): number[] {
  const { ran, paused, total } = clock ? durationsOf(clock, now) : { ran: 0, paused: 0, total: 0 };
  return [ran, paused, total].map((seconds) => Math.round(1e6 * seconds));
}

/** What both folds must agree on; `view_as_json` in tests/events is the same for Python. */
function asJson(view: RunView) {
  return {
    last_event: view.last_event,
    plan: view.plan,
    status: view.status,
    durations: microseconds(view.clock, view.last_at),
    steps: [...view.steps.values()].map(({ outcome: _, clock, ...step }) => ({
      ...step,
      durations: microseconds(clock, view.last_at),
    })),
    frames: [...view.frames.values()].map(({ own_state: _, opener: __, clock, ...frame }) => ({
      ...frame,
      durations: microseconds(clock, view.last_at),
    })),
    stops: [...view.stops.keys()],
    breakpoints: [...view.breakpoints.values()].map(({ id, hit_count }) => ({ id, hit_count })),
    watches: view.watches,
    interventions: view.interventions.map((event) => event.kind),
    is_detached: view.is_detached,
    ...(view.is_muted ? { is_muted: true } : {}),
  };
}

describe("a recorded stream", () => {
  for (const file of readdirSync(STREAMS)) {
    const recorded = JSON.parse(readFileSync(join(STREAMS, file), "utf8")) as {
      events: RunEvent[];
      views: Record<string, unknown>;
    };
    for (const [number, view] of Object.entries(recorded.views)) {
      test(`${file} gives the view that Python gave at event ${number}`, () => {
        expect(asJson(fold(recorded.events.slice(0, Number(number))))).toEqual(view);
      });
    }
  }
});

test("a step that was injected and removed is not among the injected ones", () => {
  const at = { at: 1, stop: 1, frame: "main", occurrence: "a" };
  const view = fold([
    {
      ...at,
      number: 1,
      kind: "debug.step_injected",
      position: "after",
      step: "a+1",
      type: "run",
      config: {},
      id: null,
    },
    {
      ...at,
      number: 2,
      kind: "debug.step_injected",
      position: "after",
      step: "a+2",
      type: "run",
      config: {},
      id: null,
    },
    { ...at, number: 3, kind: "debug.step_uninjected", step: "a+1" },
  ]);

  expect(view.injected.map(({ step }) => step)).toEqual(["a+2"]);
  expect(view.interventions).toHaveLength(2);
});

test("a re-run counts from its own start, and not from that of the run it goes on from", () => {
  const opened = { kind: "frame.opened", frame: "main", name: "flow", parent: null, step: "" };
  const step = { frame: "main", step: "group", occurrence: "group" };
  const told = [
    { kind: "run.started", plan: "flow", values: {}, at: 0 },
    { ...opened, at: 0 },
    { kind: "step.started", ...step, at: 1 },
    { kind: "run.started", plan: "flow", values: {}, at: 1000 },
    { ...opened, at: 1000 },
    { kind: "step.started", ...step, at: 1001 },
  ];
  const events = told.map((event, index) => ({ ...event, number: index + 1 }) as unknown as RunEvent);
  const view = fold(events, 3);

  expect(view.started_at).toBe(1000);
  expect(microseconds(view.clock, 1002)).toEqual([2e6, 0, 2e6]);
  expect(microseconds(view.steps.get("group")?.clock ?? null, 1002)).toEqual([1e6, 0, 1e6]);
});

test("an event of a later version changes nothing but the count", () => {
  const view = new RunView();
  view.apply({ kind: "run.mooed", number: 1, at: 0 } as unknown as RunEvent);

  expect(asJson(view)).toEqual({ ...asJson(new RunView()), last_event: 1 });
});

test("a frame that has not come back after a restart is forgotten when the run goes back over it", () => {
  const opened = [
    { kind: "frame.opened", frame: "main", name: "main", parent: null, step: "" },
    { kind: "frame.opened", frame: "p.x", name: "x", parent: "main", step: "p" },
    { kind: "frame.opened", frame: "p.x.y", name: "y", parent: "p.x", step: "p.x" },
  ];
  const started = { kind: "run.started", plan: "flow", values: {} };
  const back = {
    kind: "debug.rewound",
    frame: "main",
    point_frame: "main",
    occurrence: "p",
    position: "before",
    after: 2,
  };
  const paused = { kind: "debug.pause_asked", frame: "main" };
  const told = [started, ...opened, started, ...opened.slice(0, 2), back, paused, ...opened.slice(1)];
  const view = fold(told.map((event, index) => ({ ...event, number: index + 1, at: index }) as unknown as RunEvent));

  expect([...view.frames.values()].map(({ id, state }) => [id, state])).toEqual([
    ["main", "pausing"],
    ["p.x", "pausing"],
    ["p.x.y", "pausing"],
  ]);
});

test("a step that changed is another object, and the others are the same", () => {
  const view = new RunView();
  const start = (number: number, occurrence: string): RunEvent => ({
    kind: "step.started",
    number,
    at: number,
    frame: "main",
    step: occurrence,
    occurrence,
  });
  view.apply(start(1, "a"));
  view.apply(start(2, "b"));
  const [a, b] = [view.steps.get("a"), view.steps.get("b")];
  view.apply({
    ...(start(3, "b") as object),
    kind: "step.finished",
    outcome: { status: "passed", outputs: null, error: null, paused_seconds: 0 },
  } as RunEvent);

  expect(view.steps.get("a")).toBe(a);
  expect(view.steps.get("b")).not.toBe(b);
});

test("what is forced at a tool call is no outcome of a step, and the agent is known by what its step noted", () => {
  const recorded = JSON.parse(readFileSync(join(STREAMS, "agent.json"), "utf8")) as { events: RunEvent[] };
  const view = fold(recorded.events);
  const states = [...(view.agents.get("fix")?.calls.values() ?? [])].map(({ call, state }) => `${call} ${state}`);

  expect([...view.steps.keys()]).toEqual(["test", "fix", "fix/4+1", "check"]);
  expect(states).toEqual(["1 ok", "2 ok", "2/1 ok", "2/2 ok", "3 ok", "4 refused", "5 failed"]);
});

test("an agent that was undone is forgotten, and is back when that is undone", () => {
  const step = { frame: "main", step: "fix", occurrence: "fix" };
  const back = { frame: "main", point_frame: "main", occurrence: "fix", position: "before" };
  const called = { kind: "step.noted", frame: "main", occurrence: "fix", note: "agent.called" };
  const told = [
    { kind: "run.started", plan: "flow", values: {} },
    { kind: "frame.opened", frame: "main", name: "flow", parent: null, step: "" },
    { kind: "step.started", ...step },
    { ...called, data: { call: "1", name: "Bash" } },
    { kind: "debug.rewound", ...back, after: 2 },
    { kind: "step.started", ...step },
    { ...called, data: { call: "1", name: "Read" } },
    { kind: "debug.rewind_undone", ...back, after: 4, undoes: 5 },
  ].map((event, index) => ({ ...event, number: index + 1, at: index }) as unknown as RunEvent);
  const nameAt = (count: number) => fold(told.slice(0, count)).agents.get("fix")?.calls.get("1")?.name;

  expect([4, 5, 7, 8].map(nameAt)).toEqual(["Bash", undefined, "Read", "Bash"]);
});
