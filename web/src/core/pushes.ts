/** What was pushed to a repository, and what came of it, in words. */

import { refKind } from "@/core/refs";

type Push = { ref: string; old: string | null; new: string | null; is_forced: boolean };

/** What a push did to its branch or tag, where that is more than moving it ahead: "new branch", "deleted". */
export function describeMove({ ref, old, new: now, is_forced }: Push): string | null {
  if (now === null) return "deleted";
  if (old === null) return `new ${refKind(ref)}`;
  return is_forced ? "forced" : null;
}

const VIA: Record<string, string> = {
  push: "git push",
  merge: "merge",
  ingest: "ingest",
  write: "edit",
  scan: "found on disk",
};

/** How it came to the server. */
export function viaWords(via: string): string {
  return VIA[via] ?? via;
}

const OUTCOMES: Record<string, string> = {
  pending: "starting",
  started: "started",
  skipped: "not started",
  duplicate: "already started",
  refused: "cannot start",
};

export function outcomeWords(outcome: string): string {
  return OUTCOMES[outcome] ?? outcome;
}

const HAS_ERRORS = "the flow file has errors"; // as the server begins that reason

/** Whether a flow that started no run may be started all the same; not one with errors, which the commit keeps. */
export function canStartAnyway({ outcome, reason }: { outcome: string; reason: string | null }): boolean {
  return ["skipped", "duplicate", "refused"].includes(outcome) && !reason?.startsWith(HAS_ERRORS);
}
