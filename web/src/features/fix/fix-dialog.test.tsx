import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, test, vi } from "vitest";
import { ApiError, api } from "@/api/client";
import type { RunDetail, RunInfo } from "@/api/types";
import { FixButton } from "@/features/fix/fix-button";
import { FixDialog } from "@/features/fix/fix-dialog";

afterEach(cleanup);

const RUN = {
  id: "r1",
  status: "failed",
  repo: null,
  card: null,
  failures: [{ step: "unit" }, { step: "lint" }],
  flow_info: { steps: ["lint", "unit", "docs"].map((path) => ({ path, kind: "run" })) },
} as unknown as RunDetail;

const show = (shown: React.ReactNode) =>
  render(<QueryClientProvider client={new QueryClient()}>{shown}</QueryClientProvider>);
const startsAs = (id: string) => vi.spyOn(api, "rerun").mockResolvedValue({ id } as RunInfo);
const field = (name: string) => screen.getByRole<HTMLInputElement>("textbox", { name });
const agent = (name: RegExp) => screen.getByRole<HTMLInputElement>("combobox", { name });
const press = (name: string) => userEvent.click(screen.getByRole("button", { name }));

test("a loop starts on the step that failed, with what was entered, and its run is opened", async () => {
  const rerun = startsAs("r2");
  const [onOpenRun, onClose] = [vi.fn(), vi.fn()];
  show(<FixDialog run={RUN} onOpenRun={onOpenRun} onClose={onClose} />);
  expect([...agent(/^Step/).children].map(({ textContent }) => textContent)).toEqual(["unit", "lint"]);
  await userEvent.selectOptions(agent(/^Step/), "lint");
  expect(field("Secrets").value).toBe("ANTHROPIC_API_KEY");
  await userEvent.clear(agent(/^Agent \*/));
  await press("Start fix loop");
  screen.getByText("Enter the profile of an agent.");
  expect(rerun).not.toHaveBeenCalled();

  await userEvent.type(agent(/^Agent \*/), "codex");
  await userEvent.type(field("Goal"), "Round once.");
  await userEvent.type(field("Budget (USD)"), "2");
  await press("Start fix loop");
  const options = { agent: "codex", goal: "Round once.", iterations: 3, cost: 2, secrets: ["OPENAI_API_KEY"] };
  expect(rerun).toHaveBeenCalledExactlyOnceWith("r1", { fix: { step: "lint", options } });
  expect(onOpenRun).toHaveBeenCalledExactlyOnceWith("r2");
  expect(onClose).toHaveBeenCalled();
});

test("what the server refuses is said in the dialog, which keeps what was entered", async () => {
  const detail = "agent: there is no profile 'mine'";
  vi.spyOn(api, "rerun").mockRejectedValue(new ApiError({ status: 422, code: "bad", detail }));
  const onClose = vi.fn();
  show(<FixDialog run={RUN} onOpenRun={vi.fn()} onClose={onClose} />);
  await userEvent.type(agent(/that repairs$/), "mine");
  await press("Start fix loop");
  expect((await screen.findByRole("alert")).textContent).toBe(detail);
  expect(agent(/that repairs$/).value).toBe("mine");
  expect(onClose).not.toHaveBeenCalled();
});

test("a test is fixed in the step that ran it, with a goal that names it", async () => {
  const rerun = startsAs("r2");
  show(<FixButton run={RUN} test={{ step: "docs", suite: "tests.links", name: "test_dead" }} />);
  await press("Fix test_dead…");
  expect((await screen.findByRole<HTMLTextAreaElement>("textbox", { name: "Goal" })).value).toBe(
    "Make tests.links::test_dead pass",
  );
  await press("Start fix loop");
  expect(rerun.mock.lastCall?.[1].fix).toMatchObject({
    step: "docs",
    options: { goal: "Make tests.links::test_dead pass" },
  });
  expect(location.pathname).toBe("/runs/r2");
});
