/** The routes of `/api/v1/repos`: repositories, what is in them, their flows and what was pushed to them. */

import { ask, post } from "@/api/client";
import type {
  BranchPage,
  CommitPage,
  Delivered,
  DeliveryInfo,
  Diff,
  FileContent,
  FiringInfo,
  Folder,
  HistoryPage,
  HookInfo,
  NewHookRequest,
  NewRepoRequest,
  Patch,
  PushPage,
  RepoChangesRequest,
  RepoFlowInfo,
  RepoFlowText,
  RepoInfo,
  TestPage,
  TestTotals,
} from "@/api/types";
import { flowPath, repoPath, urlOf } from "@/api/url";

type Place = { ref?: string | null; path?: string };
type Paging = { cursor?: string | null; limit?: number };
type Range = { base: string; head: string };

/** Which tests of a branch are listed. */
export type TestState = "failing" | "flaky" | "slow" | "all";
type TestQuery = Paging & { ref: string; state: TestState };

/** One test: its name is known only within the flow and the step that report it. */
export type TestId = { flow: string; step: string; case: string };

export const repoApi = {
  list: () => ask<RepoInfo[]>(urlOf("/repos")),
  get: (repo: string) => ask<RepoInfo>(urlOf(repoPath(repo))),
  create: (request: NewRepoRequest) => post<RepoInfo>(urlOf("/repos"), request),
  update: (repo: string, changes: RepoChangesRequest) =>
    ask<RepoInfo>(urlOf(repoPath(repo)), { method: "PATCH", body: changes }),
  remove: (repo: string) => ask<void>(urlOf(repoPath(repo)), { method: "DELETE" }),

  branches: (repo: string, paging: Paging) => ask<BranchPage>(urlOf(repoPath(repo, "/branches"), paging)),
  /** Each branch with the commit that it is expected at: all are deleted, or none. */
  deleteBranches: (repo: string, branches: Record<string, string>) =>
    post<void>(urlOf(repoPath(repo, "/branches/delete")), { branches }),
  tree: (repo: string, place: Place) => ask<Folder>(urlOf(repoPath(repo, "/tree"), place)),
  file: (repo: string, place: Place) => ask<FileContent>(urlOf(repoPath(repo, "/file"), place)),
  commits: (repo: string, query: Place & Paging) => ask<CommitPage>(urlOf(repoPath(repo, "/commits"), query)),
  diff: (repo: string, range: Range) => ask<Diff>(urlOf(repoPath(repo, "/diff"), range)),
  patch: (repo: string, range: Range & { path: string }) => ask<Patch>(urlOf(repoPath(repo, "/patch"), range)),
  pushes: (repo: string, paging: Paging) => ask<PushPage>(urlOf(repoPath(repo, "/pushes"), paging)),

  flows: (repo: string, ref?: string | null) => ask<RepoFlowInfo[]>(urlOf(repoPath(repo, "/flows"), { ref })),
  flow: (repo: string, flow: string, ref?: string | null) =>
    ask<RepoFlowText>(urlOf(repoPath(repo, `/flows/${flowPath(flow)}`), { ref })),
  enableFlow: (repo: string, flow: string, enabled: boolean) =>
    ask<RepoInfo>(urlOf(repoPath(repo, `/flows/${flowPath(flow)}/enabled`)), { method: "PUT", body: { enabled } }),
  fireAgain: (repo: string, firing: number) => post<FiringInfo>(urlOf(repoPath(repo, `/firings/${firing}/again`))),

  tests: (repo: string, query: TestQuery) => ask<TestPage>(urlOf(repoPath(repo, "/tests"), query)),
  /** The results of one test, on one branch or on all. */
  testHistory: (repo: string, query: TestId & Paging & { ref?: string | null }) =>
    ask<HistoryPage>(urlOf(repoPath(repo, "/tests/history"), query)),
  testTrend: (repo: string, query: { flow: string; ref: string; limit: number }) =>
    ask<TestTotals[]>(urlOf(repoPath(repo, "/tests/trend"), query)),

  hooks: (repo: string) => ask<HookInfo[]>(urlOf(repoPath(repo, "/hooks"))),
  /** The only answer that has the secret. */
  addHook: (repo: string, request: NewHookRequest) => post<HookInfo>(urlOf(repoPath(repo, "/hooks")), request),
  enableHook: (repo: string, hook: string, enabled: boolean) =>
    ask<HookInfo>(urlOf(repoPath(repo, `/hooks/${hook}/enabled`)), { method: "PUT", body: { enabled } }),
  removeHook: (repo: string, hook: string) => ask<void>(urlOf(repoPath(repo, `/hooks/${hook}`)), { method: "DELETE" }),
  deliveries: (repo: string, hook: string) => ask<DeliveryInfo[]>(urlOf(repoPath(repo, `/hooks/${hook}/deliveries`))),
  deliverAgain: (repo: string, hook: string, delivery: number) =>
    post<Delivered>(urlOf(repoPath(repo, `/hooks/${hook}/deliveries/${delivery}/again`))),
};
