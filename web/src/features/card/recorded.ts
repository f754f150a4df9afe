/** A card as a server answers it, for tests. */

import type { AttemptInfo, CardInfo, ChangedFile, Diff, Live, NoteInfo, Work } from "@/api/types";

export const BASE = "1111111111111111111111111111111111111111";
export const FIRST = "2222222222222222222222222222222222222222";
export const HEAD = "3333333333333333333333333333333333333333";

export function aCard(more: Partial<CardInfo> = {}): CardInfo {
  return {
    id: "shop-3",
    repo: "shop",
    number: 3,
    title: "Charge taxes",
    status: "in_review",
    position: 1,
    work: "agent",
    work_details: { agent: "claude", budget: { cost: 2 } } as Partial<Work> as Work, // without what is not set
    profile: "claude",
    base: "main",
    base_sha: BASE,
    branch: "card/3-charge-taxes",
    head_sha: HEAD,
    merged_sha: null,
    landed_at: null,
    by: "ada",
    created_at: 1_700_000_000,
    updated_at: 1_700_000_600,
    version: 7,
    labels: ["backend"],
    attempt: 2,
    run: "run-2",
    run_status: null,
    live: null,
    reason: null,
    has_conflict: false,
    conflict: null,
    is_branch_gone: false,
    unresolved_notes: 1,
    judges: [],
    moves: ["todo", "done"],
    test: "pytest",
    description: "Taxes are missing.\n\n<img src=x onerror=alert(1)> [link](https://example.com)",
    ...more,
  };
}

export function anAttempt(more: Partial<AttemptInfo> = {}): AttemptInfo {
  return {
    card: "shop-3",
    number: 1,
    kind: "work",
    run: "run-1",
    from_sha: BASE,
    to_sha: FIRST,
    by: "ada",
    started_at: 1_700_000_000,
    ended_at: 1_700_000_090,
    profile: "claude",
    outcome: "passed",
    reason: null,
    live: { about: "pytest", calls: 12, cost: 0.42, tokens: 18_000, tool: "shell" },
    ...more,
  };
}

export const ATTEMPTS: readonly AttemptInfo[] = [
  anAttempt({ number: 2, run: "run-2", from_sha: FIRST, to_sha: HEAD }),
  anAttempt({ outcome: "failed", reason: "2 tests failed", live: {} as Live }),
];

export function aNote(more: Partial<NoteInfo> = {}): NoteInfo {
  return {
    id: 1,
    card: "shop-3",
    kind: "review",
    text: "Why 20 percent?",
    who: "ben",
    at: 1_700_000_300,
    file: "cart.py",
    line: 3,
    side: "new",
    sha: HEAD,
    resolved: false,
    file_now: "cart.py",
    line_now: 3,
    is_outdated: false,
    ...more,
  };
}

export function aFile(more: Partial<ChangedFile> = {}): ChangedFile {
  return { path: "cart.py", old_path: null, status: "modified", added: 2, removed: 1, ...more };
}

export function aDiff(...files: ChangedFile[]): Diff {
  return { base: BASE, head: HEAD, files: files.length > 0 ? files : [aFile()], is_cut: false };
}

export const PATCH = `diff --git a/cart.py b/cart.py
index 1f2e3d4..5a6b7c8 100644
--- a/cart.py
+++ b/cart.py
@@ -1,4 +1,5 @@ class Cart:
 import sys
-total = 0
+total = 1
+taxes = 0.2
 done = False
 print(total)
`;
