/** The routes of the playground: trials of agents, and the branches that their results were saved to. */

import { ask, post } from "@/api/client";
import type { CardInfo, Comparison, Diff, NewTrialForm, Patch, TrialBranch, TrialInfo, TrialPage } from "@/api/types";
import { repoPath, urlOf } from "@/api/url";

const trialPath = (trial: string, rest = "") => `/trials/${encodeURIComponent(trial)}${rest}`;

/** The same request again with the same key changes nothing more. */
const idempotency = (key: string) => ({ "idempotency-key": key });

export const trialApi = {
  list: (query: { repo: string; cursor?: string | null; limit?: number }) => ask<TrialPage>(urlOf("/trials", query)),
  create: (request: NewTrialForm, key: string) => post<TrialInfo[]>(urlOf("/trials"), request, idempotency(key)),
  get: (trial: string) => ask<TrialInfo>(urlOf(trialPath(trial))),
  diff: (trial: string) => ask<Diff>(urlOf(trialPath(trial, "/diff"))),
  patch: (trial: string, path: string) => ask<Patch>(urlOf(trialPath(trial, "/patch"), { path })),
  compare: (a: string, b: string) => ask<Comparison>(urlOf("/trials/compare", { a, b })),

  cancel: (trial: string) => post<TrialInfo>(urlOf(trialPath(trial, "/cancel"))),
  save: (trial: string, name: string, key: string) =>
    post<TrialInfo>(urlOf(trialPath(trial, "/save")), { name }, idempotency(key)),
  again: (trial: string, key: string) => post<TrialInfo>(urlOf(trialPath(trial, "/again")), {}, idempotency(key)),
  makeCard: (trial: string, title: string, key: string) =>
    post<CardInfo>(urlOf(trialPath(trial, "/card")), { title }, idempotency(key)),
  remove: (trial: string) => ask<void>(urlOf(trialPath(trial)), { method: "DELETE" }),

  branches: (repo: string) => ask<TrialBranch[]>(urlOf(repoPath(repo, "/trial-branches"))),
};
