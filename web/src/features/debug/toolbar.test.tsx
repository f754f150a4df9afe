import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, test, vi } from "vitest";
import { LiveRun } from "@/api/live-run";
import { RunContext, type RunPageState } from "@/api/run-context";
import type { RunDetail, StopInfo } from "@/api/types";
import { RunView } from "@/core/run-view";
import { DebugToolbar } from "@/features/debug/toolbar";

afterEach(cleanup);

const stop: StopInfo = {
  id: 4,
  frame: "main",
  step: "build",
  occurrence: "build",
  position: "before",
  reasons: ["breakpoint"],
  breakpoints: [2],
  problems: [],
  notes: [],
  outcome: null,
  allowed: ["continue", "step_over", "skip"],
  positions: ["before", "after"],
  will_run: true,
  is_cleanup: false,
  is_injected: false,
  file: null,
  line: null,
  column: null,
  end_line: null,
  after_event: 3,
  lease_ends_at: null,
  back: null,
  forward: null,
  call: null,
};

function stage(change: Partial<RunPageState> = {}) {
  const view = new RunView();
  view.apply({ kind: "frame.opened", number: 1, at: 0, frame: "main", name: "shop", parent: null, step: null });
  const run = new LiveRun("r1");
  const act = vi.fn(async () => true);
  const state: RunPageState = {
    ...run.snapshot(),
    run,
    view,
    frames: [...view.frames.values()],
    stops: [stop],
    detail: { flow_info: { name: "shop", file: "", inputs: [], steps: [] } } as unknown as RunDetail,
    selected: null,
    selectedView: undefined,
    select: vi.fn(),
    frame: "main",
    selectFrame: vi.fn(),
    stop,
    act,
    toggleBreakpoint: vi.fn(),
    editBreakpoint: vi.fn(),
    confirm: vi.fn(),
    askToCancel: vi.fn(),
    answerCall: vi.fn(),
    stepBack: vi.fn(),
    stepForward: vi.fn(),
    panels: { area: "flow", view: "graph", side: "step", dock: "log" },
    show: vi.fn(),
    shells: [],
    openShell: vi.fn(),
    endShell: vi.fn(),
    closeShell: vi.fn(),
    isLive: true,
    isViewer: false,
    ...change,
  };
  render(
    <RunContext value={{ subscribe: () => () => undefined, state: () => state }}>
      <DebugToolbar />
    </RunContext>,
  );
  return { act, state };
}

test("it says where the frame stands and why", () => {
  stage();
  expect(screen.getByRole("status").textContent).toBe("Paused before build");
  expect(screen.getByText(/breakpoint #2/)).toBeTruthy();
});

test("a failure is named once, without the number of its breakpoint", () => {
  const failed: StopInfo = { ...stop, position: "error", reasons: ["failure"], breakpoints: [1] };
  stage({ stop: failed, stops: [failed] });
  expect(screen.getByRole("status").textContent).toBe(" build failed");
  expect(screen.queryByText(/failure|#1/)).toBeNull();
});

test("a command names the stop that it acts on", async () => {
  const { act } = stage();
  await userEvent.click(screen.getByRole("button", { name: "Step over" }));
  expect(act).toHaveBeenCalledWith("step", { stop: 4, kind: "over" });
});

test("what the stop does not allow cannot be pressed", async () => {
  const { act } = stage();
  await userEvent.click(screen.getByRole("button", { name: "Retry step" }));
  await userEvent.click(screen.getByRole("button", { name: "Step into" }));
  expect(act).not.toHaveBeenCalled();
});

test("another frame that stopped is told of, and is looked at only when asked", async () => {
  const other = { ...stop, id: 5, frame: "checks.unit" };
  const { state } = stage({ stops: [stop, other] });
  expect(state.selectFrame).not.toHaveBeenCalled();
  await userEvent.click(screen.getByRole("button", { name: "1 more paused" }));
  expect(state.selectFrame).toHaveBeenCalledWith("checks.unit");
});

test("a run that has ended has no toolbar", () => {
  stage({ isLive: false });
  expect(screen.queryByRole("toolbar")).toBeNull();
});

test("while files of the workspace are kept, how far that is stands where the stop would", () => {
  stage({ stop: null, stops: [], filesProgress: "storing the workspace files: 1 of 2 files, 1 of 2 kB" });
  expect(screen.getByText("Storing the workspace files: 1 of 2 files, 1 of 2 kB")).toBeTruthy();
  expect(screen.getByRole("status").textContent).toBe("Storing the workspace files"); // not each number
});

test("at a tool call the commands are called by what they mean there, and refusing asks for the reason", async () => {
  const call = { call: "3", name: "Bash", tool: "shell", input: {}, paths: [], command: "ls", parent: null };
  const held: StopInfo = { ...stop, step: "fix/3", occurrence: "fix/3", call: { ...call, guarantee: true } };
  const { act, state } = stage({ stop: held, stops: [held] });
  expect(screen.getByRole("status").textContent).toBe("Paused before shell call 3 of fix");
  await userEvent.click(screen.getByRole("button", { name: "Refuse call…" }));
  expect(state.answerCall).toHaveBeenCalledWith("refuse");
  expect(act).not.toHaveBeenCalled();
  await userEvent.click(screen.getByRole("button", { name: "Next call" }));
  expect(act).toHaveBeenCalledWith("step", { stop: 4, kind: "over" });
});
