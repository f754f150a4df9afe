/** Hand-written notes of fix loops, as the server sends them: for the tests, and for looking at the page. */

import type { RunEvent } from "@/core/events";

type Told = Record<string, unknown>;

const STEP = { frame: "main", step: "tests", occurrence: "tests" };

export const note = (name: string, data: Told = {}): Told => ({
  kind: "step.noted",
  ...STEP,
  note: `fix.${name}`,
  data,
});
export const decided = (choice: string, text = ""): Told => ({
  kind: "debug.step_decided",
  ...STEP,
  stop: 1,
  choice,
  text,
  by: "ada",
});
export const stepEvent = (
  kind: "started" | "finished",
  occurrence: string,
  status = "passed",
  outputs: unknown = null,
): Told => ({
  kind: `step.${kind}`,
  frame: "main",
  step: occurrence.replace(/\[\d+\]|#\d+/g, ""),
  occurrence,
  ...(kind === "finished" && { outcome: { status, outputs, error: null, paused_seconds: 0 } }),
});

export const numbered = (events: readonly Told[]): RunEvent[] =>
  events.map((event, at) => ({ ...event, number: at + 1, at: 1_795_000_000 + 7 * at }) as unknown as RunEvent);

const ERRORS: Record<string, string> = {
  rounds: "AssertionError: 10.01 != 10.0",
  taxes: "KeyError: 'vat'",
  ships: "TypeError: None",
};

/** The tests after iteration `n`; a name stands for the fingerprint too. */
export const tested = (n: number, names: readonly string[], after = "fix"): Told =>
  note("tested", {
    n,
    passed: names.length === 0,
    failures: names,
    details: names.map((name) => {
      const [error = "", message = ""] = (ERRORS[name] ?? "AssertionError: no").split(": ");
      return { fingerprint: name, test: `tests/test_till.py::test_${name}`, error, message };
    }),
    total: names.length,
    reader: "pytest",
    after,
    occurrence: `tests[${n}].test`,
  });

export const started = (limits: Told = {}): Told =>
  note("started", {
    topic: "unit_failures",
    command: "pytest -q",
    base: "4f1c2d9",
    branch: "fix/r1",
    in_place: false,
    limits: { iterations: 3, rounds: 3, retries: 2, seconds: 1800, cost: null, lines: 400, ...limits },
  });

export const triaged = (verdict: string, evidence: readonly string[], more: Told = {}): Told =>
  note("triaged", { verdict, evidence, flaky: [], pre_existing: [], ...more });

/** All notes of an iteration, up to its verdict. */
export const iteration = (n: number, verdict: string, failing: readonly string[], more: Told = {}): Told[] => [
  note("iteration_started", { n, round: 1, ...more }),
  note("reported", {
    n,
    path: `debug/unit_failures/00${n}_rounding.md`,
    status: "open",
    root_cause: "`total` rounds each item, and the receipt rounds the sum again.",
    options: 3,
    recommended: "Option 2 - round once, on the receipt",
    commit: `a1b2c3d4e5f6${n}`,
  }),
  note("applied", {
    n,
    commit: `0f9e8d7c6b5a${n}`,
    files: ["src/till.py", "src/receipt.py"],
    lines: 14,
    touches_tests: [],
    refused: false,
    summary: "Removed the rounding from `total`.",
  }),
  tested(n, failing),
  note("judged", { n, verdict, gone: [], new: [], best: n, why: "" }),
];

export const ended = (outcome: string, more: Told = {}): Told =>
  note("ended", { outcome, iterations: 0, rounds: 1, reports: [], commit: null, cost: null, why: "", ...more });
