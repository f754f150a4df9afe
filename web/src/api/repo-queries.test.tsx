import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, renderHook, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, expect, test, vi } from "vitest";
import type { News } from "@/api/feed";
import { pollMilliseconds } from "@/api/queries";
import { keysToRefresh, useRepoFlow } from "@/api/repo-queries";

afterEach(cleanup);

const news = (kind: string): News => ({ id: 1, at: 0, topic: "repo:shop", kind, body: {} });

test("a run that moves does not make the page ask for the repository again, and a push not for the runs", () => {
  expect(keysToRefresh("shop", [news("run.created"), news("run.started")])).toEqual([["runs"]]);
  expect(keysToRefresh("shop", [news("push.received")])).toEqual([["repo", "shop"], ["repos"]]);
  expect(keysToRefresh("shop", [news("run.created"), news("firing.decided")])).toHaveLength(3);
});

test("test reports that were stored make the page ask for the tests again, and for nothing else", () => {
  expect(keysToRefresh("shop", [news("run.ended")])).toEqual([["runs"]]);
  expect(keysToRefresh("shop", [news("tests.reported")])).toEqual([["repo", "shop", "tests"]]);
});

test("after a new connection everything is asked for again", () => {
  expect(keysToRefresh("shop", [])).toEqual([["runs"], ["repo", "shop"], ["repos"]]);
});

test("nothing is polled while the feed is followed", () => {
  expect(pollMilliseconds("live", true)).toBe(false);
  expect(pollMilliseconds("connecting", true)).toBe(false);
});

test("without a feed runs are polled, and faster while one of them is running", () => {
  expect([pollMilliseconds("ended", true), pollMilliseconds("ended", false)]).toEqual([2000, 10_000]);
  expect(pollMilliseconds("retrying", true)).toBe(10_000);
});

const INFO = { name: "ci", file: ".pitstop/flows/ci.yaml", inputs: [], secrets: [], steps: [], warnings: [] };

/** A server that has one flow; answers by the end of the address. */
function serveFlow(answers: Record<string, unknown>) {
  vi.stubGlobal("fetch", async (url: string) => {
    const found = Object.entries(answers).find(([end]) => url.endsWith(end));
    return new Response(JSON.stringify(found?.[1] ?? { status: 404, code: "unknown", detail: url }), {
      status: found ? 200 : 404,
    });
  });
}

function readFlow() {
  const client = new QueryClient();
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={client}>{children}</QueryClientProvider>
  );
  return renderHook(() => useRepoFlow("shop", "ci", "topic"), { wrapper }).result;
}

const TEXT = { name: "ci", path: ".pitstop/flows/ci.yaml", text: "steps: []", sha: "abc", problems: [] };

test("a flow of a repository is read as any other, by the text that its branch has", async () => {
  serveFlow({ "/repos/shop/flows/ci?ref=topic": TEXT, "/flows/check": { flow: INFO, mistakes: [] } });
  const flow = readFlow();
  await waitFor(() => expect(flow.current.data).toMatchObject({ name: "shop:ci", file: TEXT.path, info: INFO }));
});

test("a flow that calls others is read with the files of its commit", async () => {
  const mistake = { file: "other.yaml", line: 1, column: 1, message: "cannot read the file", text: "", hint: null };
  serveFlow({
    "/repos/shop/flows/ci?ref=topic": TEXT,
    "/flows/check": { flow: null, mistakes: [mistake] },
    "/flows/resolve": INFO,
  });
  const flow = readFlow();
  await waitFor(() => expect(flow.current.data).toMatchObject({ info: INFO, mistakes: [] }));
});

test("a flow with errors is shown with them, and is not asked for twice", async () => {
  const problem = { file: TEXT.path, line: 3, column: 5, message: "unknown step type `rum`", text: "", hint: null };
  serveFlow({ "/repos/shop/flows/ci?ref=topic": { ...TEXT, problems: [problem] } });
  const flow = readFlow();
  await waitFor(() => expect(flow.current.data).toMatchObject({ info: null, mistakes: [problem] }));
});
