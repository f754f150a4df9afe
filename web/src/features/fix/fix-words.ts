/** A fix loop in words: its states, verdicts and choices, each with what it means. */

import type { TestCell } from "@/core/fix-matrix";
import type { FixState } from "@/core/fix-view";
import type { Tone } from "@/core/status";

export const STATES: Record<FixState, readonly [word: string, tone: Tone]> = {
  testing: ["testing", "running"],
  passed: ["passed", "passed"],
  triaging: ["triaging", "running"],
  diagnosing: ["diagnosing", "running"],
  fixing: ["fixing", "running"],
  judging: ["judging", "running"],
  resuming: ["resuming", "running"],
  fixed: ["fixed", "passed"],
  flaky: ["flaky", "warning"],
  infrastructure: ["infrastructure", "warning"],
  pre_existing: ["pre-existing", "muted"],
  escalated: ["escalated", "paused"],
  skipped: ["skipped as a known issue", "muted"],
  taken_over: ["taken over", "paused"],
  aborted: ["aborted", "muted"],
};

const TRIAGE: Record<string, string> = {
  infrastructure: "Infrastructure: no code was tested, so there is nothing to fix",
  flaky: "Flaky: passed when run again",
  pre_existing: "Pre-existing: failed before this change too",
  failing: "Failing: the same when run again",
};

export function triageWords(verdict: string): string {
  return TRIAGE[verdict] ?? verdict;
}

const VERDICTS: Record<string, readonly [word: string, tone: Tone, meaning: string]> = {
  fixed: ["fixed", "passed", "All tests pass"],
  progress: ["progress", "running", "Some failures are gone, and none are new"],
  moved: ["moved", "warning", "The earlier failures are gone, and others appeared"],
  mixed: ["mixed", "warning", "Some failures are gone, and some are new"],
  same: ["same", "warning", "The failures are the same as before"],
  worse: ["worse", "failed", "All earlier failures are still there, and some are new"],
  oscillating: ["oscillating", "warning", "These failures were there before"],
  flaky: ["flaky", "warning", "The tests passed, and failed when run again"],
  no_diagnosis: ["no diagnosis", "warning", "The agent wrote no usable report"],
  no_fix: ["no fix", "warning", "The agent did not complete the fix"],
  no_change: ["no change", "warning", "The agent changed no files"],
  refused: ["refused", "warning", "The change was refused and not applied"],
};

export function verdictWords(verdict: string): readonly [word: string, tone: Tone, meaning: string] {
  return VERDICTS[verdict] ?? [verdict, "neutral", ""];
}

const REASONS: Record<string, string> = {
  limit: "Maximum iterations reached",
  stalled: "No progress",
  oscillating: "The same failures came back",
  budget: "A budget is used up",
  infrastructure: "The tests cannot run here",
  state: "The state of the loop cannot be trusted",
  agent: "An agent cannot be started",
};

export function reasonWords(reason: string): string {
  return REASONS[reason] ?? reason;
}

const CHOICES: Record<string, string> = {
  take_over: "took over",
  guide: "gave guidance",
  roll_back: "rolled back",
  skip: "skipped the step",
  stop: "stopped the loop",
};

export function choiceWords(choice: string): string {
  return CHOICES[choice] ?? choice;
}

export const CELLS: Record<TestCell, readonly [word: string, tone: Tone]> = {
  failing: ["failing", "failed"],
  other: ["other error", "failed"],
  new: ["new", "failed"],
  passing: ["passing", "passed"],
};

/** A tree by its number: 0 is the one before any fix. */
export function treeWords(n: number): string {
  return n === 0 ? "the start" : `iteration ${n}`;
}
