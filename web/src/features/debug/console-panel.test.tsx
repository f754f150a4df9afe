import { act, cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, test, vi } from "vitest";
import { LiveRun } from "@/api/live-run";
import { RunContext, type RunPageState } from "@/api/run-context";
import type { StopInfo } from "@/api/types";
import { ConsolePanel } from "@/features/debug/console-panel";

afterEach(cleanup);

test("what was offered for an expression does not come after it was asked", async () => {
  const waiting: ((response: Response) => void)[] = [];
  vi.stubGlobal("fetch", async (url: string) => {
    if (url.includes("/debug/evaluate")) return new Response(JSON.stringify({ values: ["the answer"] }));
    return new Promise<Response>((answer) => waiting.push(answer));
  });
  const run = new LiveRun("r1");
  const state = { ...run.snapshot(), run, stop: { id: 4 } as StopInfo } as unknown as RunPageState;
  render(
    <RunContext value={{ subscribe: () => () => undefined, state: () => state }}>
      <ConsolePanel isShown />
    </RunContext>,
  );
  await userEvent.type(screen.getByRole("combobox", { name: "jq expression" }), ".va{Enter}");
  await screen.findByText(/the answer/);
  const page = { variables: [{ name: "vars", path: ".vars", preview: "{}" }], next: null, total: 1 };
  await act(async () => {
    for (const answer of waiting) answer(new Response(JSON.stringify(page)));
  });

  expect(waiting.length).toBeGreaterThan(0);
  expect(screen.queryByRole("listbox", { name: "Completions" })).toBeNull();
});
