import { expect, test } from "vitest";
import { testMatrix } from "@/core/fix-matrix";
import { type FixEvent, foldFix, lastOf } from "@/core/fix-view";
import { decided, ended, iteration, note, numbered, started, tested, triaged } from "@/core/recorded-fix";
import { fold } from "@/core/run-view";

const view = (...events: object[]) => foldFix(numbered(events.flat() as Record<string, unknown>[]) as FixEvent[]);
const FAILING = [started(), tested(0, ["rounds", "taxes"]), triaged("failing", ["2 tests fail again"])];

test("a loop that fixed the tests in two iterations", () => {
  const events = [
    ...FAILING,
    ...iteration(1, "progress", ["taxes"]),
    ...iteration(2, "fixed", []),
    ended("fixed", { cost: 0.42 }),
  ];
  const fix = view(...events);
  expect(fix).toMatchObject({
    topic: "unit_failures",
    state: "fixed",
    round: 1,
    reader: "pytest",
    ended: { cost: 0.42 },
  });
  expect(fix.iterations.map(({ n, judged }) => [n, judged?.verdict])).toEqual([
    [1, "progress"],
    [2, "fixed"],
  ]);
  expect(fix.iterations[1]?.change?.files).toEqual(["src/till.py", "src/receipt.py"]);
  expect(testMatrix(fix)).toMatchObject({
    columns: [{ n: 0 }, { n: 1 }, { n: 2 }],
    rows: [
      { test: "tests/test_till.py::test_taxes", cells: ["failing", "failing", "passing"] },
      { test: "tests/test_till.py::test_rounds", cells: ["failing", "passing", "passing"] },
    ],
    more: 0,
  });
});

test("each note says what the loop does now", () => {
  const events = [...FAILING, ...iteration(1, "fixed", []), ended("fixed")];
  const states = events.map((_, at) => view(...events.slice(0, at + 1)).state);
  expect(states).toEqual([
    ...["testing", "triaging", "diagnosing"],
    ...["diagnosing", "fixing", "testing", "judging", "judging"],
    "fixed",
  ]);
  expect(view(started(), tested(0, [])).state).toBe("passed");
});

test("a loop that gave up goes on with guidance, in another round", () => {
  const gaveUp = [
    ...FAILING,
    ...iteration(1, "same", ["rounds", "taxes"]),
    note("escalated", { reason: "limit", message: "" }),
  ];
  expect(view(...gaveUp).state).toBe("escalated");
  expect(view(...gaveUp, decided("take_over")).state).toBe("taken_over");
  const guided = [...gaveUp, decided("guide", "Look at the receipt."), note("round_opened", { round: 2 })];
  const fix = view(...guided, note("agent_retried", { n: 2, role: "diagnose", why: "no root cause" }));
  expect(fix).toMatchObject({ state: "diagnosing", round: 2 });
  expect(fix.turns).toMatchObject([
    { kind: "escalated", n: 1, reason: "limit" },
    { kind: "decided", n: 1, choice: "guide", text: "Look at the receipt.", by: "ada" },
  ]);
  expect(fix.iterations[1]?.retries).toEqual([{ role: "diagnose", why: "no root cause" }]);
});

test("an infrastructure problem has no iteration", () => {
  const fix = view(
    started(),
    tested(0, ["output"]),
    triaged("infrastructure", ["exit code 127"]),
    note("escalated", { reason: "infrastructure", message: "pytest: command not found" }),
    ended("infrastructure"),
  );
  expect(fix).toMatchObject({ state: "infrastructure", triage: { evidence: ["exit code 127"] } });
  expect(lastOf(fix)).toBe(0);
});

test("an iteration that is begun again is the same one; what a user did has a column of its own", () => {
  const fix = view(
    ...FAILING,
    note("iteration_started", { n: 1, round: 1 }),
    ...iteration(1, "moved", ["ships"]),
    tested(1, ["ships", "rounds"], "confirm"),
    tested(1, ["ships"], "user"),
  );
  expect(fix.tested.map(({ n, after, total }) => [n, after, total])).toEqual([
    [0, "fix", 2],
    [1, "confirm", 2],
    [1, "user", 1],
  ]);
  expect(fix.iterations).toHaveLength(1);
});

test("notes without their data change nothing else", () => {
  const names = [
    "started",
    "tested",
    "triaged",
    "iteration_started",
    "reported",
    "applied",
    "judged",
    "escalated",
    "unknown",
  ];
  const fix = view(...names.map((name) => note(name, { root_cause: null, files: null, details: "?" })));
  expect(fix.iterations).toMatchObject([{ report: { root_cause: "" }, change: { files: [] } }]);
});

test("a test that fails with another error is told from one that newly fails", () => {
  const detail = (fingerprint: string, name: string) => ({ fingerprint, test: name, error: fingerprint, message: "" });
  const after = (n: number, details: object[], total = details.length) =>
    note("tested", {
      n,
      failures: details.map((each) => (each as { fingerprint: string }).fingerprint),
      details,
      total,
    });
  const fix = view(
    after(0, [detail("a1", "a"), detail("b1", "b")]),
    after(1, [detail("a2", "a"), detail("b1", "b"), detail("c1", "c")]),
    after(2, [detail("a2", "a"), detail("c1", "c")]),
  );
  expect(testMatrix(fix).rows.map(({ test, cells }) => [test, cells])).toEqual([
    ["a", ["failing", "other", "failing"]],
    ["c", ["passing", "new", "failing"]],
    ["b", ["failing", "failing", "passing"]], // it passes now
  ]);
});

test("the table has at most 50 rows, and counts the rest", () => {
  const names = Array.from({ length: 80 }, (_, at) => `t${at}`);
  const details = names.slice(0, 50).map((name) => ({ fingerprint: name, test: name, error: "", message: "" }));
  const matrix = testMatrix(view(note("tested", { n: 0, failures: names, details, total: 3000 })));
  expect([matrix.rows.length, matrix.more]).toEqual([50, 2950]);
});

test("what a rewind has undone counts no longer, until that is undone", () => {
  const back = { frame: "main", point_frame: "main", occurrence: "tests[2].diagnose", position: "before" };
  const step = { frame: "main", step: "tests", occurrence: "tests" };
  const before = [
    { kind: "run.started", plan: "flow", values: {} },
    { kind: "frame.opened", frame: "main", name: "flow", parent: null, step: "" },
    { kind: "step.started", ...step },
    ...FAILING,
    ...iteration(1, "progress", ["taxes"]),
  ];
  const second = [...iteration(2, "worse", ["taxes", "ships"]), decided("guide", "No.")];
  const rewound = before.length + second.length + 1;
  const events = [
    ...before,
    ...second,
    { kind: "debug.rewound", ...back, after: before.length },
    note("iteration_started", { n: 2, round: 1 }),
    { kind: "debug.rewind_undone", ...back, after: rewound - 1, undoes: rewound },
  ];
  const at = (count: number) => {
    const run = fold(numbered(events.slice(0, count)));
    const fix = foldFix(run.fixes.get("tests") ?? []);
    return [fix.iterations.map(({ judged }) => judged?.verdict), fix.turns.length, fix.state];
  };
  expect(at(rewound - 1)).toEqual([["progress", "worse"], 1, "diagnosing"]);
  expect(at(rewound)).toEqual([["progress"], 0, "judging"]);
  expect(at(rewound + 1)).toEqual([["progress", undefined], 0, "diagnosing"]);
  expect(at(rewound + 2)).toEqual([["progress", "worse"], 1, "diagnosing"]);
  expect(fold(numbered(events)).interventions.map(({ kind }) => kind)).toContain("debug.step_decided");
});
