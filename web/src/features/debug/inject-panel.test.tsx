import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, test, vi } from "vitest";
import { LiveRun } from "@/api/live-run";
import { RunContext, type RunPageState } from "@/api/run-context";
import { InjectPanel } from "@/features/debug/inject-panel";

afterEach(cleanup);

test("an injected step is listed until it has run, and can be removed", async () => {
  vi.stubGlobal("fetch", async () => new Response("[]"));
  const run = new LiveRun("r1");
  const injected = [
    {
      step: { path: "package+1", title: "linker" },
      stop: 5,
      position: "after",
      occurrence: "package",
      is_waiting: true,
    },
    { step: { path: "build+1", title: "look" }, stop: 4, position: "before", occurrence: "build", is_waiting: false },
  ];
  const act = vi.fn(async () => true);
  const detail = { flow_info: { steps: [] } };
  const state = { ...run.snapshot(), run, stop: { id: 5, step: "package" }, debug: { injected }, detail, act };
  render(
    <QueryClientProvider client={new QueryClient()}>
      <RunContext value={{ subscribe: () => () => undefined, state: () => state as unknown as RunPageState }}>
        <InjectPanel />
      </RunContext>
    </QueryClientProvider>,
  );
  const waiting = await screen.findByRole("list", { name: "Waiting to run" });
  expect(waiting.textContent).toBe("linker will run after package");
  await userEvent.click(screen.getByRole("button", { name: "Remove linker" }));

  expect(act).toHaveBeenCalledWith("uninject", { stop: 5, step: "package+1" });
});
