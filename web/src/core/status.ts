/** What a status means to the eye: its word, and the tone that every part of the page shows it in. */

export type Tone = "neutral" | "waiting" | "running" | "paused" | "passed" | "failed" | "warning" | "muted";

const TONES: Record<string, Tone> = {
  pending: "waiting",
  waiting: "waiting",
  running: "running",
  pausing: "running",
  paused: "paused",
  passed: "passed",
  done: "passed",
  failed: "failed",
  error: "failed",
  timed_out: "failed",
  interrupted: "warning",
  skipped: "muted",
  cancelled: "muted",
};

const WORDS: Record<string, string> = { timed_out: "timed out", pausing: "pausing", waiting: "not started" };

export function toneOf(status: string): Tone {
  return TONES[status] ?? "neutral";
}

export function wordOf(status: string): string {
  return WORDS[status] ?? status;
}

export function isEnded(status: string): boolean {
  return ["passed", "failed", "cancelled", "timed_out"].includes(status);
}

const REASONS: Record<string, string> = {
  entry: "first step",
  failure: "step failed",
  pause: "pause requested",
  completed: "end of the run",
  escalated: "gave up, needs you",
};

/** Why a frame paused, in words: "first step, breakpoint". */
export function tellReasons(reasons: readonly string[]): string {
  const told = hasGivenUp(reasons) ? reasons.filter((each) => each !== "failure") : reasons;
  return told.map((each) => REASONS[each] ?? each).join(", ");
}

const POSITIONS: Record<string, string> = { before: "before", after: "after", error: "at the failure of" };

/** Whether a step paused because it gave up and asks for a decision. */
export function hasGivenUp(reasons: readonly string[]): boolean {
  return reasons.includes("escalated");
}

/** Where a frame stands, in words: "before build", "at the failure of build". */
export function tellPlace(position: string, title: string, reasons: readonly string[] = []): string {
  if (hasGivenUp(reasons)) return `at ${title}`;
  return `${POSITIONS[position] ?? position} ${title}`;
}
