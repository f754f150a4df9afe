/** Hooks over the routes of repositories. All that a push can change is stored below `["repo", name]`. */

import { type QueryKey, useInfiniteQuery, useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import { ApiError, api } from "@/api/client";
import { type News, useFeed } from "@/api/feed";
import { retryUnlessRefused } from "@/api/queries";
import { repoApi, type TestId, type TestState } from "@/api/repo-client";
import type { Connection } from "@/api/sse";
import type { FlowText, RepoFlowText } from "@/api/types";

/** The lists to ask for again after some news; after none, all of them. */
export function keysToRefresh(repo: string, news: readonly News[]): QueryKey[] {
  const isAbout = (is: (kind: string) => boolean) => news.length === 0 || news.some(({ kind }) => is(kind));
  const keys: QueryKey[] = isAbout((kind) => kind.startsWith("run.")) ? [["runs"]] : [];
  if (isAbout((kind) => !OF_OTHERS.test(kind) && kind !== TESTS_REPORTED)) return [...keys, ["repo", repo], ["repos"]];
  return isAbout((kind) => kind === TESTS_REPORTED) ? [...keys, testsKey(repo)] : keys;
}

const testsKey = (repo: string) => ["repo", repo, "tests"];

const OF_OTHERS = /^(run|card|attempt|trial)\./; // what the board, the playground and lists of runs show

const TESTS_REPORTED = "tests.reported"; // the reports of a run are stored, soon after its end

/** Follow a repository and its runs. */
export function useRepoFeed(repo: string): Connection {
  const client = useQueryClient();
  return useFeed([`repo:${repo}`], (news) =>
    Promise.all(keysToRefresh(repo, news).map((queryKey) => client.invalidateQueries({ queryKey }))),
  );
}

/** Every repository, as it changes. */
export function useRepos() {
  const client = useQueryClient();
  useFeed(["repos"], (news) => {
    if (news.length > 0 && news.every(({ kind }) => kind.startsWith("run."))) return undefined;
    return client.invalidateQueries({ queryKey: ["repos"] });
  });
  return useQuery({ queryKey: ["repos"], queryFn: repoApi.list, refetchOnWindowFocus: true });
}

/** The repositories as they were not long ago, for a list to choose from. */
export function useRepoChoices(isWanted = true) {
  return useQuery({
    queryKey: ["repos"],
    queryFn: repoApi.list,
    staleTime: 10_000,
    retry: false,
    enabled: isWanted,
  });
}

export function useRepo(repo: string) {
  return useQuery({ queryKey: ["repo", repo, "summary"], queryFn: () => repoApi.get(repo) });
}

export function useRepoFlows(repo: string, isWanted = true) {
  return useQuery({ queryKey: ["repo", repo, "flows"], queryFn: () => repoApi.flows(repo), enabled: isWanted });
}

export function usePushes(repo: string) {
  return useInfiniteQuery({
    queryKey: ["repo", repo, "pushes"],
    queryFn: ({ pageParam }) => repoApi.pushes(repo, { cursor: pageParam, limit: 20 }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });
}

export function useBranches(repo: string, isWanted = true) {
  return useInfiniteQuery({
    queryKey: ["repo", repo, "branches"],
    queryFn: ({ pageParam }) => repoApi.branches(repo, { cursor: pageParam, limit: 100 }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    enabled: isWanted,
  });
}

/** The names of the branches that are loaded. */
export function useBranchNames(repo: string, isWanted = true): string[] {
  return useBranches(repo, isWanted).data?.pages.flatMap((page) => page.branches.map(({ name }) => name)) ?? [];
}

export function useFolder(repo: string, ref: string, path: string, isAsked = true) {
  return useQuery({
    queryKey: ["repo", repo, "tree", ref, path],
    queryFn: () => repoApi.tree(repo, { ref, path }),
    enabled: isAsked,
  });
}

export function useFile(repo: string, ref: string, path: string) {
  return useQuery({ queryKey: ["repo", repo, "file", ref, path], queryFn: () => repoApi.file(repo, { ref, path }) });
}

export function useCommits(repo: string, ref: string) {
  return useInfiniteQuery({
    queryKey: ["repo", repo, "commits", ref],
    queryFn: ({ pageParam }) => repoApi.commits(repo, { ref, cursor: pageParam, limit: 30 }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });
}

type Range = { base: string; head: string };

/** The files that differ between two commits, which stay as they are. */
export function useCommitDiff(repo: string, range: Range) {
  return useQuery({
    queryKey: ["commit-diff", repo, range],
    queryFn: () => repoApi.diff(repo, range),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export function usePatch(repo: string, range: Range & { path: string }, isWanted: boolean) {
  return useQuery({
    queryKey: ["patch", repo, range],
    queryFn: () => repoApi.patch(repo, range),
    enabled: isWanted,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

const TESTS_IN_PAGE: Record<TestState, number> = { failing: 100, flaky: 100, slow: 20, all: 200 };

/** The tests of a branch that have a state. */
export function useRepoTests(repo: string, ref: string, state: TestState, isWanted = true) {
  return useInfiniteQuery({
    queryKey: [...testsKey(repo), "list", ref, state],
    queryFn: ({ pageParam }) => repoApi.tests(repo, { ref, state, cursor: pageParam, limit: TESTS_IN_PAGE[state] }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    enabled: isWanted,
  });
}

/** The last runs with test reports of some flows on a branch, by the flow; only those flows that have any. */
export function useTestTrends(repo: string, ref: string, flows: readonly string[], limit: number) {
  return useQueries({
    queries: flows.map((flow) => ({
      queryKey: [...testsKey(repo), "trend", ref, flow, limit],
      queryFn: () => repoApi.testTrend(repo, { ref, flow, limit }),
    })),
    combine: (asked) =>
      asked.flatMap(({ data }, at) => (data && data.length > 0 ? [{ flow: flows[at] ?? "", runs: data }] : [])),
  });
}

/** The results of one test, the newest first; without a branch, on all of them. */
export function useTestResults(repo: string, test: TestId, ref: string | null) {
  return useInfiniteQuery({
    queryKey: [...testsKey(repo), "history", test, ref],
    queryFn: ({ pageParam }) => repoApi.testHistory(repo, { ...test, ref, cursor: pageParam, limit: 50 }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    placeholderData: (previous) => previous,
  });
}

export function useHooks(repo: string) {
  return useQuery({
    queryKey: ["repo", repo, "hooks"],
    queryFn: () => repoApi.hooks(repo),
    retry: retryUnlessRefused,
  });
}

export function useDeliveries(repo: string, hook: string) {
  return useQuery({
    queryKey: ["repo", repo, "deliveries", hook],
    queryFn: () => repoApi.deliveries(repo, hook),
    retry: retryUnlessRefused,
  });
}

/** A flow of a repository, as the start page shows any flow. */
export function useRepoFlow(repo: string | null, flow: string | null, ref: string | null) {
  return useQuery({
    queryKey: ["repo", repo, "flow", flow, ref],
    queryFn: async () => asFlowText(repo ?? "", await repoApi.flow(repo ?? "", flow ?? "", ref)),
    enabled: repo !== null && flow !== null,
    retry: retryUnlessRefused,
  });
}

async function asFlowText(repo: string, { name, path, text, problems, sha }: RepoFlowText): Promise<FlowText> {
  const flow = { name: `${repo}:${name}`, file: path, text, mistakes: problems };
  if (problems.length > 0) return { ...flow, info: null };
  const checked = await api.check({ text, name: path }).catch(nothingIfForbidden);
  if (checked === null) return { ...flow, info: null };
  // A flow that calls others needs the files of its commit, which are read only when a run is prepared.
  const info = checked.flow ?? (await api.resolve({ flow: { repo, name, ref: sha } }).catch(() => null));
  return { ...flow, info };
}

/** A viewer may read a flow, and not have it checked. */
function nothingIfForbidden(error: Error): null {
  if (error instanceof ApiError && error.problem.status === 403) return null;
  throw error;
}
