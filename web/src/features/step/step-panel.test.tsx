import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { LiveRun } from "@/api/live-run";
import { RunContext, type RunPageState } from "@/api/run-context";
import type { RunEvent } from "@/core/events";
import { fold } from "@/core/run-view";
import { StepPanel } from "@/features/step/step-panel";

afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

const step = { frame: "main", step: "tests", occurrence: "tests" };
const failed = {
  status: "failed",
  outputs: null,
  error: { type: "CommandFailed", message: "exit code 1", origin: "tests" },
};

test("a step that is paused at its failure says how long it ran, and how long it has been paused", async () => {
  vi.useFakeTimers({ now: 1_000_150_000 });
  vi.stubGlobal("fetch", async () => new Response("{}"));
  const told = [
    { kind: "run.started", plan: "shop", values: {}, at: 999_999 },
    { kind: "frame.opened", frame: "main", name: "shop", parent: null, step: "", at: 999_999 },
    { kind: "step.started", ...step, at: 999_999.5 },
    { kind: "step.finished", ...step, outcome: failed, at: 1_000_000 },
    { kind: "debug.stopped", ...step, stop: 1, position: "error", reasons: ["failure"], at: 1_000_000 },
  ];
  const view = fold(told.map((event, index) => ({ ...event, number: index + 1 }) as unknown as RunEvent));
  const run = new LiveRun("r1");
  const stop = { ...step, id: 1, position: "error", allowed: [] };
  const detail = { flow_info: { steps: [] } };
  const page = { ...run.snapshot(), run, view, detail, stops: [stop], stop, selected: "tests", isLive: true };
  const state = { ...page, selectedView: view.steps.get("tests") } as unknown as RunPageState;
  render(
    <QueryClientProvider client={new QueryClient()}>
      <RunContext value={{ subscribe: () => () => undefined, state: () => state }}>
        <StepPanel />
      </RunContext>
    </QueryClientProvider>,
  );
  const fact = (name: string) => screen.getByText(name).nextElementSibling?.textContent;

  screen.getByText("paused");
  expect([fact("Ran for"), fact("Paused for")]).toEqual(["500 ms", "2 m 30 s"]);
  act(() => void vi.advanceTimersByTime(10_000));
  expect([fact("Ran for"), fact("Paused for")]).toEqual(["500 ms", "2 m 40 s"]);
});
