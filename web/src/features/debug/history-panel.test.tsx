import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, test, vi } from "vitest";
import { LiveRun } from "@/api/live-run";
import { RunContext, type RunPageState } from "@/api/run-context";
import type { DebugState, RunDetail, StopInfo } from "@/api/types";
import { HistoryPanel } from "@/features/debug/history-panel";

afterEach(cleanup);

test("a point that was chosen stays the same when others before it are gone, and is compared with what is now", async () => {
  let numbers = [3, 5, 9, 14];
  const compared: string[] = [];
  vi.stubGlobal("fetch", async (url: string) => {
    const points = numbers.map((number) => ({ number, step: "", occurrence: "", frame: "main", position: "before" }));
    if (url.includes("/debug/files")) compared.push(url);
    const files = url.includes("/debug/files") ? { changes: [], total: 0 } : [];
    return new Response(JSON.stringify(url.endsWith("/history") ? points : files));
  });
  const run = new LiveRun("r1");
  const acted = vi.fn(async () => true);
  let state = {
    ...run.snapshot(),
    run,
    detail: { flow_info: { steps: [] } } as unknown as RunDetail,
    stop: { id: 4, allowed: ["rewind"] } as unknown as StopInfo,
    select: vi.fn(),
    act: acted,
    isLive: true,
  } as unknown as RunPageState;
  const listeners = new Set<() => void>();
  const subscribe = (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  render(
    <QueryClientProvider client={new QueryClient()}>
      <RunContext value={{ subscribe, state: () => state }}>
        <HistoryPanel />
      </RunContext>
    </QueryClientProvider>,
  );
  fireEvent.change(await screen.findByRole("slider", { name: "Point in the history" }), { target: { value: 2 } });
  await screen.findByText("3/4");

  numbers = [3, 9, 14, 20];
  act(() => {
    state = { ...state, debug: { last_event: 20 } as DebugState };
    for (const listener of listeners) listener();
  });
  await screen.findByText("2/4");
  await userEvent.click(screen.getByRole("button", { name: "Rewind to here" }));

  expect(acted).toHaveBeenCalledWith("rewind", { stop: 4, point: 9 });
  expect(compared).toEqual(Array(2).fill("/api/v1/runs/r1/debug/files?from=9&limit=200"));
});
