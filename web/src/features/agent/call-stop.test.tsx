import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, test, vi } from "vitest";
import { LiveRun } from "@/api/live-run";
import { type CallAnswer, RunContext, type RunPageState } from "@/api/run-context";
import type { StopInfo, ToolCallInfo } from "@/api/types";
import { CallDialog } from "@/features/agent/call-dialogs";
import { CallStop } from "@/features/agent/call-stop";

afterEach(cleanup);

const call: ToolCallInfo = {
  call: "3",
  name: "Bash",
  tool: "shell",
  input: { command: "rm -rf build", timeout: 5 },
  paths: [],
  command: "rm -rf build",
  parent: null,
  guarantee: true,
};
const before = {
  id: 4,
  step: "fix/3",
  occurrence: "fix/3",
  position: "before",
  allowed: ["continue", "skip", "force", "config", "inject", "step_over", "step_out"],
  outcome: null,
  call,
} as unknown as StopInfo;
const after = {
  ...before,
  position: "after",
  allowed: ["continue", "force", "step_over"],
  outcome: { status: "passed", outputs: { output: "removed" } },
} as unknown as StopInfo;

/** The stop on its page, or one of its dialogs. */
function stage(stop: StopInfo, more: Partial<RunPageState> = {}, how: CallAnswer | null = null) {
  const run = new LiveRun("r1");
  const [act, answerCall, onClose] = [vi.fn(async () => true), vi.fn(), vi.fn()];
  const detail = { flow_info: { steps: [] } };
  const state = { ...run.snapshot(), run, stop, stops: [stop], detail, act, answerCall, ...more };
  render(
    <RunContext value={{ subscribe: () => () => undefined, state: () => state as unknown as RunPageState }}>
      {how === null ? <CallStop /> : <CallDialog how={how} stop={stop} onClose={onClose} />}
    </RunContext>,
  );
  return { act, answerCall, onClose };
}

test("a stop before a call shows what would run, whether the hold is a guarantee, and every answer", async () => {
  const { act, answerCall } = stage(before);
  screen.getByRole("heading", { name: "The agent wants to run a command" });
  screen.getByText("rm -rf build");
  screen.getByText(/^A guarantee: /);
  for (const name of ["Edit input…", "Refuse…", "Give a result…", "Inject a shell step…"]) {
    await userEvent.click(screen.getByRole("button", { name }));
  }
  expect(answerCall.mock.calls).toEqual([["edit"], ["refuse"], ["result"], ["inject"]]);
  await userEvent.click(screen.getByRole("button", { name: /^Allow/ }));
  await userEvent.click(screen.getByRole("button", { name: /^To the end of the agent/ }));
  expect(act.mock.calls).toEqual([
    ["continue", { stop: 4 }],
    ["step", { stop: 4, kind: "out" }],
  ]);
});

test("a hold by the hook of the agent is told to be a convenience", () => {
  stage({ ...before, call: { ...call, guarantee: false } });
  screen.getByText(/^A convenience, not a guard: /);
});

test("after a call its result is shown, and can be replaced", () => {
  stage(after);
  screen.getByText("removed");
  screen.getByRole("button", { name: "Replace the result…" });
  expect(screen.queryByRole("button", { name: "Refuse…" })).toBeNull();
  expect(screen.queryByText(/^A guarantee: /)).toBeNull();
});

test("a viewer sees the call, and no answers", () => {
  stage(before, { isViewer: true });
  screen.getByText("rm -rf build");
  expect(screen.queryByRole("button")).toBeNull();
});

test("at a step there is nothing to be seen", () => {
  stage({ ...before, step: "fix", occurrence: "fix", call: null });
  expect(screen.queryByRole("region")).toBeNull();
});

test("an edited input is sent before the call is allowed, and only what was changed", async () => {
  const { act, onClose } = stage(before, {}, "edit");
  const field = screen.getByLabelText("timeout");
  await userEvent.clear(field);
  await userEvent.type(field, "soon");
  expect(screen.getByRole<HTMLButtonElement>("button", { name: "Allow with changes" }).disabled).toBe(true);
  await userEvent.clear(field);
  await userEvent.type(field, "7");
  await userEvent.click(screen.getByRole("button", { name: "Allow with changes" }));
  expect(act.mock.calls).toEqual([
    ["config", { stop: 4, config: { timeout: 7 } }],
    ["continue", { stop: 4 }],
  ]);
  expect(onClose).toHaveBeenCalled();
});

test("a call whose change is refused is not allowed", async () => {
  const act = vi.fn(async () => false);
  const { onClose } = stage(before, { act }, "edit");
  await userEvent.type(screen.getByLabelText("command"), " dist");
  await userEvent.click(screen.getByRole("button", { name: "Allow with changes" }));
  expect(act.mock.calls).toEqual([["config", { stop: 4, config: { command: "rm -rf build dist" } }]]);
  expect(onClose).not.toHaveBeenCalled();
});

test("a refusal carries its reason", async () => {
  const { act } = stage(before, {}, "refuse");
  await userEvent.type(screen.getByLabelText("Reason"), "use make clean");
  await userEvent.click(screen.getByRole("button", { name: "Refuse" }));
  expect(act).toHaveBeenCalledWith("skip", { stop: 4, message: "use make clean" });
});

test("a result is given in place of the call, or of its own result", async () => {
  const { act } = stage(after, {}, "result");
  await userEvent.type(screen.getByLabelText("Result"), ", really");
  await userEvent.click(screen.getByRole("button", { name: "Replace" }));
  expect(act).toHaveBeenCalledWith("force", { stop: 4, status: "passed", outputs: { output: "removed, really" } });
});

test("a command is injected before the call", async () => {
  const { act } = stage(before, {}, "inject");
  await userEvent.type(screen.getByLabelText("Script"), "git status");
  await userEvent.click(screen.getByRole("button", { name: "Inject" }));
  const step = { uses: "run", with: { script: "git status" } };
  expect(act).toHaveBeenCalledWith("inject", { stop: 4, step, position: "before" });
});
