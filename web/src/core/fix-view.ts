/** A fix loop, as the notes of its step and the decisions of its users tell it. */

import type { StepDecided, StepNoted } from "@/core/events";

export type FixEvent = StepNoted | StepDecided;

export type FixState =
  | ("testing" | "passed" | "triaging" | "diagnosing" | "fixing" | "judging" | "resuming") // at work
  | ("fixed" | "flaky" | "infrastructure" | "pre_existing" | "escalated" | "skipped" | "taken_over" | "aborted");

// What a note says, with what stands for a part that it does not have.
const TEST = { fingerprint: "", test: "", error: "", message: "" };
const TESTED = { n: 0, after: "", passed: false, failures: [] as string[], details: [] as FailingTest[], total: 0 };
const TRIAGE = { verdict: "", evidence: [] as string[], flaky: [] as string[], pre_existing: [] as string[] };
const REPORT = { path: "", status: "", root_cause: "", options: 0, recommended: "" };
const CHANGE = {
  commit: null as string | null,
  files: [] as string[],
  lines: 0,
  touches_tests: [] as string[],
  refused: false,
  summary: "",
};
const VERDICT = { verdict: "", gone: [] as string[], new: [] as string[], best: 0, why: "" };
const RETRY = { role: "", why: "" };
const LIMITS = { iterations: 0, rounds: 0, cost: null as number | null };
const STARTED = { topic: "", command: "", branch: null as string | null, in_place: false };
const ENDED = { outcome: "aborted" as FixState, cost: null as number | null, why: "" };

export type FailingTest = typeof TEST;
/** The tests after iteration `n`; 0 is before any. `after` is `user` for what a user did after that iteration. */
export type FixTested = typeof TESTED;
export type FixChange = typeof CHANGE;

export type FixIteration = {
  n: number;
  round: number;
  started_at: number;
  ended_at: number | null;
  retries: (typeof RETRY)[];
  report: typeof REPORT | null;
  change: FixChange | null;
  judged: typeof VERDICT | null;
};

/** What happened after iteration `n`, and is none. */
export type FixTurn = { n: number; number: number } & (
  | { kind: "escalated"; reason: string; why: string; message: string }
  | { kind: "decided"; choice: string; text: string; by: string }
  | { kind: "rolled_back"; to: number }
);

export type FixView = typeof STARTED & {
  state: FixState;
  limits: typeof LIMITS;
  reader: string;
  triage: typeof TRIAGE | null;
  round: number;
  tested: FixTested[];
  iterations: FixIteration[];
  turns: FixTurn[];
  ended: typeof ENDED | null;
};

/** The state of a fix loop: a fold of its events. Unknown notes change nothing. */
export function foldFix(events: Iterable<FixEvent>): FixView {
  const view: FixView = {
    ...STARTED,
    state: "testing",
    limits: LIMITS,
    reader: "",
    triage: null,
    round: 1,
    tested: [],
    iterations: [],
    turns: [],
    ended: null,
  };
  for (const event of events) {
    if (event.kind === "step.noted") applyNote(view, event);
    else applyDecision(view, event);
  }
  return view;
}

const AFTER_CHOICE: Record<string, FixState> = { take_over: "taken_over", guide: "diagnosing" };

function applyDecision(view: FixView, { number, choice, text, by = "" }: StepDecided): void {
  view.turns.push({ kind: "decided", n: lastOf(view), number, choice, text, by });
  view.state = AFTER_CHOICE[choice] ?? "resuming";
}

function applyNote(view: FixView, { note, data, at, number }: StepNoted): void {
  const { n, round } = read({ n: 0, round: view.round }, data);
  const change = (changed: Partial<FixIteration>) => changeIteration(view, n, at, changed);
  switch (note) {
    case "fix.started":
      Object.assign(view, read(STARTED, data), { limits: read(LIMITS, data.limits) });
      break;
    case "fix.tested": {
      const tested = read(TESTED, data);
      const details = tested.details.map((each) => read(TEST, each));
      const isAgain = (each: FixTested) => each.n === n && tested.after !== "user"; // a fix is confirmed
      view.reader = read({ reader: "" }, data).reader || view.reader;
      view.tested = [...view.tested.filter((each) => !isAgain(each)), { ...tested, details }];
      view.state = n > 0 ? "judging" : tested.passed ? "passed" : "triaging";
      break;
    }
    case "fix.triaged":
      view.triage = read(TRIAGE, data);
      if (view.triage.verdict === "failing") view.state = "diagnosing";
      break;
    case "fix.iteration_started":
      view.round = round;
      change({ started_at: at, round });
      view.state = "diagnosing";
      break;
    case "fix.round_opened":
      view.round = round;
      view.state = "diagnosing";
      break;
    case "fix.agent_retried":
      change({ retries: [...(view.iterations.find((each) => each.n === n)?.retries ?? []), read(RETRY, data)] });
      break;
    case "fix.reported":
      change({ report: read(REPORT, data) });
      view.state = data.status === "failed" ? "judging" : "fixing";
      break;
    case "fix.applied":
      change({ change: read(CHANGE, data) });
      view.state = data.refused === true ? "judging" : "testing";
      break;
    case "fix.judged":
      change({ ended_at: at, judged: read(VERDICT, data) });
      view.state = "judging";
      break;
    case "fix.escalated":
      view.turns.push({
        kind: "escalated",
        n: lastOf(view),
        number,
        ...read({ reason: "", why: "", message: "" }, data),
      });
      view.state = "escalated";
      break;
    case "fix.rolled_back":
      view.turns.push({ kind: "rolled_back", n: lastOf(view), number, ...read({ to: 0 }, data) });
      view.state = "resuming";
      break;
    case "fix.ended":
      view.ended = read(ENDED, data);
      view.state = view.ended.outcome;
      break;
  }
}

/** The number of the last iteration; 0 before any. */
export function lastOf({ iterations }: FixView): number {
  return iterations.at(-1)?.n ?? 0;
}

/** One that is begun again, after its process ended, is the same one. */
function changeIteration(view: FixView, n: number, at: number, changed: Partial<FixIteration>): void {
  const known = view.iterations.find((each) => each.n === n);
  if (known) Object.assign(known, changed);
  else {
    const empty = { ended_at: null, retries: [], report: null, change: null, judged: null };
    view.iterations.push({ n, round: view.round, started_at: at, ...empty, ...changed });
  }
}

/** The parts of the data that `empty` has; one that is missing, or of another type, is as it is there. */
function read<T extends object>(empty: T, data: unknown): T {
  const told = (data ?? {}) as Record<string, unknown>;
  const parts = Object.entries(empty).map(([name, none]) => {
    const value = told[name] ?? none;
    return [
      name,
      none === null || (typeof value === typeof none && Array.isArray(value) === Array.isArray(none)) ? value : none,
    ];
  });
  return Object.fromEntries(parts) as T;
}
