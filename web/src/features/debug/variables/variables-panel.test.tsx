import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LiveRun } from "@/api/live-run";
import { RunContext, type RunPageState } from "@/api/run-context";
import type { ChangeInfo } from "@/api/types";
import { VariablesPanel } from "@/features/debug/variables/variables-panel";

let changes: ChangeInfo[] = []; // since the last stop, as the server tells them

beforeEach(() => {
  changes = [];
  localStorage.clear();
  const variables = [{ path: ".owner", name: "owner", preview: "null", size: null }];
  vi.stubGlobal("fetch", async (url: string) => {
    const answer = url.includes("/variables") ? { variables, next: null, total: 1 } : { values: [null] };
    return new Response(JSON.stringify(url.includes("/diff") ? changes : answer));
  });
});
afterEach(cleanup);

/** The panel at a stop of a run of this flow; gives what edits a variable there. */
function stage(flow: string) {
  const run = new LiveRun("r1");
  const stop = { id: 1, frame: "main", allowed: ["set"] };
  const page = { ...run.snapshot(), run, stop, isLive: true, edited: 0, detail: { flow } };
  let state = page as unknown as RunPageState;
  const listeners = new Set<() => void>();
  const subscribe = (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  render(
    <QueryClientProvider client={new QueryClient()}>
      <RunContext value={{ subscribe, state: () => state }}>
        <VariablesPanel />
      </RunContext>
    </QueryClientProvider>,
  );
  return () =>
    act(async () => {
      state = { ...state, edited: state.edited + 1 };
      for (const listener of listeners) listener();
    });
}

test("what is pinned in one flow is not pinned in another", async () => {
  stage("shop");
  (await screen.findByRole("tree", { name: "Variables" })).focus();
  await userEvent.keyboard("p");
  await screen.findByText(".owner");
  cleanup();

  stage("nightly");
  await screen.findByRole("tree", { name: "Variables" });
  expect(screen.queryByRole("list", { name: "Pinned" })).toBeNull();
  cleanup();

  stage("shop");
  await screen.findByRole("list", { name: "Pinned" });
});

test("an edit is among the changes as soon as it is made", async () => {
  const edit = stage("shop");
  await userEvent.click(await screen.findByRole("button", { name: "Changes since the last stop" }));
  await screen.findByText(/^No changes at this stop/);

  changes = [{ path: ".vars.total", kind: "changed", before: 0, after: 42 }];
  await edit();
  await screen.findByText("42");
});
