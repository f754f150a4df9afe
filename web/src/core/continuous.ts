/** Continuous mode of the playground: the prompt is tried again soon after the last key, within limits. */

import { isTrialOver, type TrialState } from "@/core/trials";

export const QUIET_MILLISECONDS = 2500; // after the last key
export const MOST_A_MINUTE = 10; // trials that are started
const HOUR_SECONDS = 3600;

/** A trial that continuous mode has started. */
export type StartedTrial = { id: string; state: TrialState; created_at: number; live: { cost?: number | null } };

type Situation = {
  /** How many trials a start begins: one for each agent. */
  count: number;
  started: readonly StartedTrial[];
  /** Trials that this mode has asked to cancel. */
  cancelled: ReadonlySet<string>;
  /** US dollars that may be spent in an hour. */
  limit: number;
  /** Seconds since the epoch. */
  now: number;
};

export type NextMove =
  | { kind: "start" }
  | { kind: "cancel"; trials: readonly string[] }
  /** For the trials to end, or until the number of seconds is over. */
  | { kind: "wait"; seconds: number | null }
  | { kind: "stop"; reason: string };

/** What continuous mode does when a new prompt is to be tried: one set of trials runs at a time. */
export function nextMove({ count, started, cancelled, limit, now }: Situation): NextMove {
  const running = started.filter(({ state }) => !isTrialOver(state));
  const toCancel = running.filter(({ id, state }) => state !== "cancelling" && !cancelled.has(id));
  if (toCancel.length > 0) return { kind: "cancel", trials: toCancel.map(({ id }) => id) };
  if (running.length > 0) return { kind: "wait", seconds: null };
  if (spentInHour(started, now) >= limit)
    return { kind: "stop", reason: `Continuous mode has spent its $${limit.toFixed(2)} for this hour.` };
  const recent = started
    .map(({ created_at }) => created_at)
    .filter((at) => now - at < 60)
    .sort((one, other) => one - other);
  const tooMany = recent.length + count - MOST_A_MINUTE;
  if (tooMany > 0) return { kind: "wait", seconds: Math.max(0, (recent[tooMany - 1] ?? now) + 60 - now) };
  return { kind: "start" };
}

/** US dollars of the last hour. An agent that does not report its cost is not counted. */
export function spentInHour(started: readonly StartedTrial[], now: number): number {
  const recent = started.filter(({ created_at }) => now - created_at < HOUR_SECONDS);
  return recent.reduce((sum, { live }) => sum + (live.cost ?? 0), 0);
}
