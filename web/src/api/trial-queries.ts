/** Hooks over the routes of the playground. A trial is stored below `["trial", id]`. */

import { type QueryClient, useInfiniteQuery, useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import { type News, useFeed } from "@/api/feed";
import { pollMilliseconds, retryUnlessRefused } from "@/api/queries";
import type { Connection } from "@/api/sse";
import { trialApi } from "@/api/trial-client";
import type { TrialInfo } from "@/api/types";
import { isTrialOver } from "@/core/trials";

const PAGE = 50;

export const trialKey = (trial: string) => ["trial", trial] as const;
export const trialsKey = (repo: string) => ["trials", repo] as const;
const branchesKey = (repo: string) => ["trial-branches", repo] as const;

/** Follow the trials of a repository, and what they do. */
export function useTrialFeed(repo: string): Connection {
  const client = useQueryClient();
  return useFeed(TRIALS, (news) => refreshTrials(client, repo, news));
}

const TRIALS = ["trials"];

/** Ask again for what some news are about; after none, for all trials that are shown. */
export async function refreshTrials(client: QueryClient, repo: string, news: readonly News[]): Promise<void> {
  const ids = new Set(news.map(({ body }) => body.trial));
  const isAbout = (id: unknown) => ids.size === 0 || ids.has(id);
  const isInList = news.length === 0 || news.some(({ kind, topic }) => kind !== PROGRESS && topic === `repo:${repo}`);
  const hasBranches = news.length === 0 || news.some(({ kind }) => kind === "trial.saved");
  await Promise.all([
    client.invalidateQueries({ predicate: ({ queryKey: [name, id] }) => name === "trial" && isAbout(id) }),
    isInList && client.invalidateQueries({ queryKey: trialsKey(repo) }),
    hasBranches && client.invalidateQueries({ queryKey: branchesKey(repo) }),
  ]);
}

const PROGRESS = "trial.progress";

/** Ask again for all that is shown of the trials of a repository. */
export function useRefreshTrials(repo: string): () => Promise<void> {
  const client = useQueryClient();
  return useCallback(() => refreshTrials(client, repo, []), [client, repo]);
}

/** The trials of a repository, newest first. */
export function useTrials(repo: string) {
  return useInfiniteQuery({
    queryKey: trialsKey(repo),
    queryFn: ({ pageParam }) => trialApi.list({ repo, cursor: pageParam, limit: PAGE }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });
}

/** Some trials with their whole prompts, in the given order. */
export function useTrialsById(ids: readonly string[], connection: Connection) {
  return useQueries({
    queries: ids.map((id) => ({
      queryKey: [...trialKey(id), "detail"],
      queryFn: () => trialApi.get(id),
      retry: retryUnlessRefused,
      refetchInterval: ({ state }: { state: { data?: TrialInfo | undefined } }) =>
        pollMilliseconds(connection, state.data !== undefined && !isTrialOver(state.data.state)),
    })),
  });
}

/** What trials changed; of one that is at work, what it has stored so far. */
export function useTrialDiffs(trials: readonly TrialInfo[]) {
  return useQueries({
    queries: trials.map(({ id, to_sha }) => ({
      queryKey: ["trial-diff", id, to_sha],
      queryFn: () => trialApi.diff(id),
      staleTime: Number.POSITIVE_INFINITY,
      retry: retryUnlessRefused,
    })),
  });
}

export function useTrialPatch({ id, to_sha }: TrialInfo, path: string, isWanted: boolean) {
  return useQuery({
    queryKey: ["trial-patch", id, to_sha, path],
    queryFn: () => trialApi.patch(id, path),
    enabled: isWanted,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** What differs between the results of two trials; null asks for nothing. */
export function useComparison(pair: readonly [TrialInfo, TrialInfo] | null) {
  const [a, b] = pair ?? [];
  return useQuery({
    queryKey: ["trial-comparison", a?.id, a?.to_sha, b?.id, b?.to_sha],
    queryFn: () => trialApi.compare(a?.id ?? "", b?.id ?? ""),
    enabled: pair !== null,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** The branches that results were saved to, newest first. */
export function useTrialBranches(repo: string) {
  return useQuery({
    queryKey: branchesKey(repo),
    queryFn: () => trialApi.branches(repo),
    retry: retryUnlessRefused,
  });
}
