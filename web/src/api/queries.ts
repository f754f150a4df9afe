/** Hooks over the client: what is asked for once and kept, and what is followed. */

import { queryOptions, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { ApiError, api } from "@/api/client";
import { useFeed } from "@/api/feed";
import type { Connection } from "@/api/sse";
import type { BreakpointRequest } from "@/api/types";
import { isEnded } from "@/core/status";

export function retryUnlessRefused(failures: number, error: Error): boolean {
  const isFinal = error instanceof ApiError && !error.isOffline && error.problem.status < 500;
  return !isFinal && failures < 3;
}

export function useMe() {
  return useQuery({ queryKey: ["me"], queryFn: api.me, staleTime: Number.POSITIVE_INFINITY });
}

/** Whether the user may change anything; not before it is known. */
export function useCanChange(): boolean {
  return useMe().data?.role === "operator";
}

/** Whether the user may only look; controls that change something are not drawn then. */
export function useIsViewer(): boolean {
  return useMe().data?.role === "viewer";
}

export type RunFilter = {
  status?: readonly string[];
  flow?: string;
  repo?: string;
  ref?: string;
  search?: string;
};

const PAGE_OF_RUNS = 50;

/** The runs, newest first, as they change: by the feed, and now and then where there is none. */
export function useRuns(filter: RunFilter, connection: Connection) {
  return useInfiniteQuery({
    queryKey: ["runs", filter],
    queryFn: ({ pageParam }) => api.runs({ ...filter, cursor: pageParam, limit: PAGE_OF_RUNS }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    placeholderData: (previous) => previous,
    refetchInterval: (query) =>
      pollMilliseconds(
        connection,
        query.state.data?.pages.some((page) => page.runs.some((run) => !isEnded(run.status))) ?? false,
      ),
  });
}

/** How often to ask: never while the feed tells, and more often where no server will ever tell. */
export function pollMilliseconds(connection: Connection, isAnyRunning: boolean): number | false {
  switch (connection) {
    case "connecting":
    case "live":
      return false;
    case "retrying":
      return 10_000;
    case "ended":
      return isAnyRunning ? 2000 : 10_000;
  }
}

/** The connection to the news of all runs; lists of runs are asked for again when there are some. */
export function useRunsFeed(): Connection {
  const client = useQueryClient();
  return useFeed(RUNS, () => client.invalidateQueries({ queryKey: ["runs"] }));
}

const RUNS = ["runs"];

export function runQuery(run: string) {
  return queryOptions({ queryKey: ["run", run], queryFn: () => api.run(run), staleTime: 5000 });
}

export function useRunDetail(run: string) {
  return useQuery(runQuery(run));
}

export function useFlows() {
  return useQuery({ queryKey: ["flows"], queryFn: api.flows, staleTime: 10_000 });
}

export function useFlow(name: string | null) {
  return useQuery({ queryKey: ["flow", name], queryFn: () => api.flow(name ?? ""), enabled: name !== null });
}

const keeping = new Map<string, Promise<void>>(); // by the flow: what is on its way to be kept with it

/** Keep breakpoints with a flow: one list after the other, so that the last one stays. */
export function keepFlowBreakpoints(name: string, breakpoints: readonly BreakpointRequest[]): Promise<void> {
  const before = keeping.get(name) ?? Promise.resolve();
  const kept = before.then(() => api.keepFlowBreakpoints(name, [...breakpoints])).catch(() => undefined);
  keeping.set(name, kept);
  return kept;
}

/** Those that are kept with a flow, asked for anew by everybody who comes, and after what is on its way. */
export function useFlowBreakpoints(name: string | null) {
  return useQuery({
    queryKey: ["flow-breakpoints", name],
    queryFn: async () => {
      await keeping.get(name ?? "");
      return api.flowBreakpoints(name ?? "");
    },
    enabled: name !== null,
    gcTime: 0,
  });
}

export function useStepTypes() {
  return useQuery({ queryKey: ["step-types"], queryFn: api.stepTypes, staleTime: Number.POSITIVE_INFINITY });
}

export function useTests(run: string, version: number) {
  return useQuery({
    queryKey: ["tests", run, version],
    queryFn: () => api.tests(run),
    placeholderData: (kept) => kept,
  });
}

export function useTestHistory(run: string, version: number) {
  return useQuery({
    queryKey: ["test-history", run, version],
    queryFn: () => api.testHistory(run),
    placeholderData: (kept) => kept,
  });
}

export function useArtifacts(run: string, version: number) {
  return useQuery({
    queryKey: ["artifacts", run, version],
    queryFn: () => api.artifacts(run),
    placeholderData: (kept) => kept,
  });
}

export function useArtifactText(run: string, path: string, version: number) {
  return useQuery({
    queryKey: ["artifact-text", run, path, version],
    queryFn: () => api.artifactText(run, path),
    placeholderData: (kept) => kept,
  });
}

/** What is known at a stop; `edited` makes it asked for again after each change. */
export function useStopConfig(run: string, stop: number | null, edited: number) {
  return useQuery({
    queryKey: ["config", run, stop, edited],
    queryFn: () => api.config(run, stop ?? 0),
    enabled: stop !== null,
    placeholderData: (kept) => kept,
  });
}
