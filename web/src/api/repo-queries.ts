/** Hooks over the routes of repositories. All that a push can change is stored below `["repo", name]`. */

import { type QueryKey, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { api } from "@/api/client";
import { type News, useFeed } from "@/api/feed";
import { retryUnlessRefused } from "@/api/queries";
import { repoApi } from "@/api/repo-client";
import type { Connection } from "@/api/sse";
import type { FlowText, RepoFlowText } from "@/api/types";

/** The lists to ask for again after some news; after none, all of them. */
export function keysToRefresh(repo: string, news: readonly News[]): QueryKey[] {
  const isOfRun = ({ kind }: News) => kind.startsWith("run.");
  const hasRuns = news.length === 0 || news.some(isOfRun);
  const hasOthers = news.length === 0 || !news.every(isOfRun);
  return [...(hasRuns ? [["runs"]] : []), ...(hasOthers ? [["repo", repo], ["repos"]] : [])];
}

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

export function useFolder(repo: string, ref: string, path: string) {
  return useQuery({
    queryKey: ["repo", repo, "tree", ref, path],
    queryFn: () => repoApi.tree(repo, { ref, path }),
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
  const checked = await api.check({ text, name: path });
  // A flow that calls others needs the files of its commit, which are read only when a run is prepared.
  const info = checked.flow ?? (await api.resolve({ flow: { repo, name, ref: sha } }).catch(() => null));
  return { ...flow, info };
}
