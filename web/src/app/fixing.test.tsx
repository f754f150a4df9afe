import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { api } from "@/api/client";
import { LiveRun } from "@/api/live-run";
import { RunContext, type RunPageState } from "@/api/run-context";
import type { TestCase } from "@/api/types";
import { FixableTests, FixInRun } from "@/app/fixing";

afterEach(cleanup);

const CASE: TestCase = {
  step: "unit",
  suite: "",
  name: "test_a",
  status: "failed",
  seconds: 0,
  message: "",
  change: "",
};
const DETAIL = { id: "r1", failures: [{ step: "unit" }], flow_info: { steps: [] } };

function showTests(status: string, isViewer: boolean) {
  vi.spyOn(api, "tests").mockResolvedValue([CASE, { ...CASE, name: "test_b", status: "skipped" }]);
  vi.spyOn(api, "testHistory").mockResolvedValue([]);
  const run = new LiveRun("r1");
  const page = { ...run.snapshot(), run, select: vi.fn(), detail: { ...DETAIL, status }, isViewer };
  render(
    <QueryClientProvider client={new QueryClient()}>
      <RunContext value={{ subscribe: () => () => undefined, state: () => page as unknown as RunPageState }}>
        <FixableTests />
      </RunContext>
    </QueryClientProvider>,
  );
}

const buttons = () => screen.queryAllByRole("button", { name: /^Fix/ }).map((each) => each.getAttribute("aria-label"));

test("a test that fails can be fixed by an operator, in a run that failed", async () => {
  for (const [status, isViewer, shown] of [
    ["failed", false, ["Fix test_a…"]],
    ["passed", false, []],
    ["running", false, []],
    ["timed_out", true, []],
  ] as const) {
    showTests(status, isViewer);
    await screen.findByText("test_a");
    expect([status, buttons()]).toEqual([status, shown]);
    cleanup();
  }
});

test("on the page of a test, its last run decides", async () => {
  vi.spyOn(api, "me").mockResolvedValue({ name: "ada", role: "operator" } as Awaited<ReturnType<typeof api.me>>);
  const run = vi.spyOn(api, "run");
  for (const [status, shown] of [
    ["failed", ["Fix test_a…"]],
    ["passed", []],
  ] as const) {
    run.mockResolvedValue({ ...DETAIL, status } as unknown as Awaited<ReturnType<typeof api.run>>);
    const client = new QueryClient();
    render(
      <QueryClientProvider client={client}>
        <FixInRun run="r1" test={CASE} />
      </QueryClientProvider>,
    );
    await vi.waitFor(() => expect(client.isFetching()).toBe(0));
    await vi.waitFor(() => expect([status, buttons()]).toEqual([status, shown]));
    cleanup();
  }
});
