import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, test, vi } from "vitest";
import { LiveRun } from "@/api/live-run";
import { RunContext, type RunPageState } from "@/api/run-context";
import type { BreakpointInfo, StopInfo } from "@/api/types";
import { BreakpointsPanel } from "@/features/debug/breakpoints-panel";
import { Toasts } from "@/ui/toast";

afterEach(cleanup);

/** The panel with one breakpoint, beside what is told in passing; gives what the server was asked to change. */
function stage(status: number, answer: object, more: Partial<RunPageState> = {}) {
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (_url: string, { method = "GET", body = "" } = {}) => {
    if (method !== "GET") asked.push(`${method} ${body}`);
    return new Response(JSON.stringify(answer), { status });
  });
  const run = new LiveRun("r1");
  const breakpoint = { id: 7, request: { step: "build", condition: ".vars.x" }, paths: ["build"], hit_count: 0 };
  const state = {
    ...run.snapshot(),
    run,
    breakpoints: [breakpoint as unknown as BreakpointInfo],
    isLive: true,
    ...more,
  };
  render(
    <RunContext value={{ subscribe: () => () => undefined, state: () => state as unknown as RunPageState }}>
      <BreakpointsPanel />
      <Toasts />
    </RunContext>,
  );
  return asked;
}

test("switching a breakpoint off keeps what another client changed of it", async () => {
  const asked = stage(200, {});
  await userEvent.click(screen.getByRole("checkbox", { name: /Breakpoint 7/ }));

  expect(asked).toEqual(['PATCH {"enabled":false}']);
});

test("a breakpoint that another client has removed is not reported as removed", async () => {
  stage(404, { status: 404, code: "unknown.breakpoint", detail: "there is no breakpoint 7" });
  await userEvent.click(screen.getByRole("button", { name: "Remove breakpoint 7" }));

  await screen.findByText("there is no breakpoint 7");
  expect(screen.queryByText("Removed breakpoint 7")).toBeNull();
});

test("a breakpoint is added at the paused step, also before that has started", async () => {
  const editBreakpoint = vi.fn();
  stage(200, {}, { stop: { step: "package" } as StopInfo, editBreakpoint });
  await userEvent.click(screen.getByRole("button", { name: "Add" }));

  expect(editBreakpoint).toHaveBeenCalledWith({ step: "package" });
});
