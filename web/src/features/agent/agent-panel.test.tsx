import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, test, vi } from "vitest";
import { LiveRun } from "@/api/live-run";
import { RunContext, type RunPageState } from "@/api/run-context";
import type { StopInfo } from "@/api/types";
import type { RunEvent } from "@/core/events";
import { fold } from "@/core/run-view";
import { AgentPanel } from "@/features/agent/agent-panel";

afterEach(cleanup);

const step = { frame: "main", step: "fix", occurrence: "fix" };
const note = (name: string, data: object) => ({ kind: "step.noted", ...step, note: `agent.${name}`, data });
const shell = (call: string) =>
  note("called", { call, name: "Bash", tool: "shell", input: { command: `echo ${call}` }, command: `echo ${call}` });
const STARTED = [
  { kind: "run.started", plan: "flow", values: {} },
  { kind: "frame.opened", frame: "main", name: "flow", parent: null, step: "" },
  { kind: "step.started", ...step },
  note("started", { profile: "claude", model: "sonnet", session: "5c71b7ed-0000" }),
];

/** A page with this in its log, which can grow. */
function stage(events: object[], more: Partial<RunPageState> = {}) {
  const run = new LiveRun("r1");
  const listeners = new Set<() => void>();
  const numbered = (all: object[]) =>
    all.map((event, index) => ({ ...event, number: index + 1, at: index }) as unknown as RunEvent);
  const view = fold(numbered(events));
  const detail = { flow_info: { steps: [{ path: "fix", title: "fix", kind: "agent" }] } };
  const editBreakpoint = vi.fn();
  const made = { ...run.snapshot(), run, view, detail, selected: "fix", stop: null, isLive: true, editBreakpoint };
  let state = { ...made, ...more } as unknown as RunPageState;
  render(
    <RunContext
      value={{
        subscribe: (listener) => {
          listeners.add(listener);
          return () => listeners.delete(listener);
        },
        state: () => state,
      }}
    >
      <AgentPanel />
    </RunContext>,
  );
  const grow = (...added: object[]) => {
    for (const event of added) {
      view.apply({ ...event, number: view.last_event + 1, at: view.last_event } as unknown as RunEvent);
    }
    state = { ...state, version: state.version + 1 };
    for (const listener of listeners) listener();
  };
  return { grow, editBreakpoint };
}

test("the panel shows who works, what it said, and each call with its state", async () => {
  const { grow } = stage(STARTED);
  screen.getByRole("heading", { name: "claude" });
  screen.getByText("Working");
  grow(note("said", { text: "I will look." }), shell("1"));
  await screen.findByText("I will look.");
  screen.getByRole("button", { name: /shell echo 1 #1 running/ });

  grow(
    note("edited", { call: "1", input: { command: "echo changed" } }),
    note("returned", { call: "1", ok: true, output: "changed" }),
  );
  await userEvent.click(await screen.findByRole("button", { name: /#1 ok/ }));
  screen.getByText("As changed in the debugger");
  screen.getByText("echo 1");
  expect(screen.getAllByText("echo changed")).toHaveLength(2); // in its line too, as that is what ran
  screen.getByText("changed");
});

test("a call that is held says so, and calls like it can be paused at", async () => {
  const stop = { id: 1, step: "fix/1", occurrence: "fix/1", position: "before" } as StopInfo;
  const { editBreakpoint } = stage([...STARTED, shell("1"), shell("2")], { stop });
  await userEvent.click(screen.getByRole("button", { name: /#1 held/ }));
  screen.getByRole("button", { name: /#2 running/ });
  await userEvent.click(screen.getByRole("button", { name: "Pause at shell calls…" }));
  expect(editBreakpoint).toHaveBeenCalledWith({ step: "fix", tool: "shell" });
});

test("of a long conversation the newest rows are drawn, and more on demand", async () => {
  const calls = Array.from({ length: 450 }, (_, index) => shell(`${index + 1}`));
  stage([...STARTED, ...calls]);
  expect(screen.getAllByRole("button", { name: /shell echo/ })).toHaveLength(200);
  await userEvent.click(screen.getByRole("button", { name: "Show 200 earlier of 250" }));
  await userEvent.click(screen.getByRole("button", { name: "Show 50 earlier of 50" }));
  expect(screen.getAllByRole("button", { name: /shell echo/ })).toHaveLength(450);
});

test("it follows the agent until the user scrolls up, and again when asked", async () => {
  const { grow } = stage(STARTED);
  const box = screen.getByRole("group", { name: "Conversation" });
  let height = 1000;
  Object.defineProperty(box, "scrollHeight", { get: () => height });
  Object.defineProperty(box, "clientHeight", { get: () => 300 });
  grow(shell("1"));
  await screen.findByRole("button", { name: /#1 running/ });
  expect(box.scrollTop).toBe(1000);

  box.scrollTop = 100;
  fireEvent.scroll(box);
  height = 2000;
  grow(shell("2"));
  await screen.findByRole("button", { name: /#2 running/ });
  expect(box.scrollTop).toBe(100);
  await userEvent.click(screen.getByRole("button", { name: "Follow the agent" }));
  expect(box.scrollTop).toBe(2000);
});
