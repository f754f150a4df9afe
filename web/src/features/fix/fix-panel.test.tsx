import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, test, vi } from "vitest";
import { api } from "@/api/client";
import { LiveRun } from "@/api/live-run";
import { RunContext, type RunPageState } from "@/api/run-context";
import type { StopInfo } from "@/api/types";
import { decided, iteration, note, numbered, started, tested, triaged } from "@/core/recorded-fix";
import { fold } from "@/core/run-view";
import { FixPanel } from "@/features/fix/fix-panel";

afterEach(cleanup);

const stop = {
  id: 7,
  occurrence: "tests",
  frame: "main",
  reasons: ["escalated"],
  allowed: ["decide"],
} as unknown as StopInfo;
const GAVE_UP = [
  started(),
  tested(0, ["rounds"]),
  triaged("failing", []),
  ...iteration(1, "same", ["rounds"]),
  note("escalated", { reason: "limit", why: "3 of 3 iterations are used", message: "All that was tried" }),
];

function stage(events: Record<string, unknown>[], more: Partial<RunPageState> = {}) {
  vi.spyOn(api, "artifacts").mockResolvedValue([]);
  const run = new LiveRun("r1");
  const act = vi.fn(async () => true);
  const spies = { act, select: vi.fn(), show: vi.fn(), openShell: vi.fn(), selectFrame: vi.fn(), confirm: vi.fn() };
  const detail = { flow_info: { steps: [{ path: "tests", title: "tests", kind: "fix" }] } };
  const made = {
    ...run.snapshot(),
    ...spies,
    run,
    view: fold(numbered(events)),
    detail,
    selected: null,
    stops: [stop],
  };
  const state = { ...made, isLive: true, isViewer: false, ...more } as unknown as RunPageState;
  render(
    <QueryClientProvider client={new QueryClient()}>
      <RunContext value={{ subscribe: () => () => undefined, state: () => state }}>
        <FixPanel />
      </RunContext>
    </QueryClientProvider>,
  );
  return spies;
}

const press = (name: string) => userEvent.click(screen.getByRole("button", { name }));

test("guidance and a reason are needed, and each way is sent as a decision", async () => {
  const { act, confirm } = stage(GAVE_UP);
  await press("Skip…");
  const dialog = await screen.findByRole("dialog", { name: "Skip the step" });
  expect(within(dialog).getByRole("button", { name: "Skip" }).hasAttribute("disabled")).toBe(true);
  await userEvent.type(within(dialog).getByRole("textbox"), " known since May ");
  await userEvent.click(within(dialog).getByRole("button", { name: "Skip" }));
  expect(act).toHaveBeenLastCalledWith("decide", { stop: 7, choice: "skip", text: "known since May" });

  await press("Roll back…");
  await userEvent.selectOptions(await screen.findByRole("combobox", { name: "To" }), "iteration 1: same");
  await press("Roll back");
  expect(act).toHaveBeenLastCalledWith("decide", { stop: 7, choice: "roll_back", text: "1" });
  await press("Stop…");
  confirm.mock.calls[0]?.[0].onConfirm();
  expect(act).toHaveBeenLastCalledWith("decide", { stop: 7, choice: "stop", text: "" });
});

test("a choice that was refused keeps what was written", async () => {
  const { act } = stage(GAVE_UP);
  act.mockResolvedValue(false);
  await press("Guide…");
  await userEvent.type(await screen.findByRole("textbox"), "Round once.");
  await press("Start another round");
  expect(act).toHaveBeenCalledWith("decide", { stop: 7, choice: "guide", text: "Round once." });
  expect(screen.getByRole<HTMLTextAreaElement>("textbox").value).toBe("Round once.");
});

test("after taking over, the tests run again by Continue", async () => {
  const { act, openShell } = stage([...GAVE_UP, decided("take_over")]);
  screen.getByText("Repair it in a shell, then continue: the tests run again.");
  expect(screen.queryByRole("button", { name: "Take over" })).toBeNull();
  await press("Open shell");
  expect(openShell).toHaveBeenCalledWith("shell");
  await press("Continue");
  expect(act).toHaveBeenCalledWith("continue", { stop: 7 });
});

test("a viewer sees the loop and cannot decide; while a command is on its way nobody can", () => {
  stage(GAVE_UP, { isViewer: true });
  screen.getByRole("heading", { name: "Maximum iterations reached" });
  expect(screen.queryByRole("group", { name: "Ways to continue" })).toBeNull();
  cleanup();
  stage(GAVE_UP, { pending: "decide" });
  expect(screen.getByRole("button", { name: "Take over" }).hasAttribute("disabled")).toBe(true);
});

test("the table has a header for each test and each iteration", () => {
  stage(GAVE_UP, { stops: [] });
  screen.getByRole("columnheader", { name: /Iteration 1/ });
  const row = screen.getByRole("row", { name: /test_rounds/ });
  expect(
    within(row)
      .getAllByRole("cell")
      .map((each) => each.textContent),
  ).toEqual(["failing", "failing"]);
  screen.getByRole("rowheader", { name: /test_rounds/ });
});

test("before any test has failed it says what it is for", () => {
  stage([]);
  screen.getByText("Nothing to fix yet");
});
