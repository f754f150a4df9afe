import type { Locator } from "playwright-core";
import { expect, test } from "vitest";
import { decided, ended, iteration, note, started, stepEvent, tested, triaged } from "../src/core/recorded-fix.ts";
import { openFix, said } from "./fix-bench.ts";
import { DARK_NARROW, looks, problemsOf } from "./looks.ts";
import { openStage, type RunDriver } from "./stage.ts";

const stage = openStage();

const REPORT = `---
topic: unit_failures
number: 1
---
# Rounding

## Failure
Two tests fail: \`test_rounds\` and \`test_taxes\`.

## Root cause
\`total\` rounds each item.
`;
const MESSAGE = "Maximum iterations reached: 3 of 3 iterations are used\n\nOriginal problem: `pytest -q`";
const PATCH =
  "diff --git a/src/till.py b/src/till.py\n--- a/src/till.py\n+++ b/src/till.py\n@@ -1 +1 @@\n-round(a)\n+a\n";

const BEGUN = [
  { kind: "run.started", plan: "shop", inputs: {} },
  { kind: "frame.opened", frame: "main", name: "shop", parent: null, step: "" },
  stepEvent("started", "tests"),
  started({ cost: 5 }),
  stepEvent("started", "tests[0].test"),
  stepEvent("finished", "tests[0].test", "failed"),
  tested(0, ["rounds", "taxes", "ships"]),
  stepEvent("started", "tests[0].test#2"),
  stepEvent("finished", "tests[0].test#2", "failed"),
  triaged("failing", ["failed again on the same tree"], { pre_existing: ["ships"] }),
];
const agent = (occurrence: string, cost: number) => [
  stepEvent("started", occurrence),
  stepEvent("finished", occurrence, "passed", { cost }),
];
const turn = (n: number, verdict: string, failing: string[], round = 1) => [
  ...agent(`tests[${n}].diagnose`, 0.12),
  ...agent(`tests[${n}].fix`, 0.3),
  stepEvent("started", `tests[${n}].test`),
  stepEvent("finished", `tests[${n}].test`, failing.length > 0 ? "failed" : "passed"),
  ...iteration(n, verdict, failing, { round }),
];
const stopped = {
  ...stepEvent("started", "tests"),
  kind: "debug.stopped",
  ...{ stop: 1, position: "error", reasons: ["failure", "escalated"], breakpoints: [], problems: [] },
};
const GAVE_UP = [
  ...BEGUN,
  ...turn(1, "progress", ["taxes", "ships"]),
  note("agent_retried", { n: 1, role: "diagnose", why: "the report has no section `Evidence`" }),
  ...turn(2, "mixed", ["ships", "rounds"]),
  note("applied", {
    ...{ n: 3, commit: null, files: ["tests/test_till.py"], lines: 3, summary: "" },
    ...{ touches_tests: ["tests/test_till.py: one assertion fewer"], refused: true },
  }),
  note("judged", { n: 3, verdict: "refused", gone: [], new: [], best: 2, why: "It removes an assertion." }),
  note("escalated", { reason: "limit", why: "3 of 3 iterations are used", message: MESSAGE }),
  stopped,
];

const panel = ({ page }: RunDriver): Locator => page.getByRole("group", { name: "Fix loop of tests" });
const ways = (run: RunDriver): Locator => panel(run).getByRole("group", { name: "Ways to continue" });

test("a loop that gave up is shown whole, and asks how to continue", async () => {
  const run = await openFix(stage(), GAVE_UP, { "debug/unit_failures/001_rounding.md": REPORT, "fix.patch": PATCH });
  const { page } = run;
  await page.emulateMedia({ reducedMotion: "reduce" });
  await run.stopsAt("Paused at tests");
  await panel(run).getByRole("heading", { name: "Maximum iterations reached" }).waitFor();
  await panel(run)
    .getByText(/^iteration 3 of 3 · round 1 of 3 · 3 failures at first · 2 now · \$0.84 of \$5.00/)
    .waitFor();
  expect(await panel(run).getByRole("region", { name: "Escalation" }).innerText()).not.toMatch(/failed/i);
  const row = panel(run).getByRole("row", { name: /test_rounds/ });
  expect(await row.getByRole("cell").allInnerTexts()).toEqual(["failing", "passing", "new"]);
  await panel(run).getByText("tests/test_till.py: one assertion fewer").waitFor();
  expect(await problemsOf(page, "fix loop that gave up", looks(DARK_NARROW))).toEqual({});

  await panel(run)
    .getByRole("button", { name: /^Report .*001_rounding/ })
    .click();
  await panel(run).getByText("Two tests fail:").waitFor();
  await panel(run)
    .getByRole("button", { name: /fix.patch/ })
    .click();
  await panel(run).getByText("+a", { exact: true }).waitFor();
  expect(await problemsOf(page, "report and patch", looks(DARK_NARROW))).toEqual({});

  await panel(run).getByRole("group", { name: "Logs of iteration 2" }).getByRole("button", { name: "fix" }).click();
  await page.getByRole("tab", { name: "Log", selected: true }).waitFor();
  await run.tab("Graph");
  await page.getByRole("button", { name: "Show the fix loop" }).click();
  expect(await problemsOf(page, "graph of a fix loop", [])).toEqual({});

  await ways(run).getByRole("button", { name: "Skip…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Skip", disabled: true }).waitFor();
  await page.keyboard.press("Escape");
  await ways(run).getByRole("button", { name: "Roll back…" }).click();
  await page.getByRole("combobox", { name: "To" }).selectOption("iteration 2: mixed");
  expect(await problemsOf(page, "roll back", looks(DARK_NARROW))).toEqual({});
  await page.keyboard.press("Escape");
  await ways(run).getByRole("button", { name: "Take over" }).click();
  await panel(run).getByText("Repair it in a shell, then continue: the tests run again.").waitFor();
  await ways(run).getByRole("button", { name: "Guide…" }).click();
  await page.getByRole("textbox", { name: "Guidance" }).fill("Round on the receipt.");
  await page.getByRole("button", { name: "Start another round" }).click();
  await ways(run).waitFor({ state: "detached" });
  await panel(run).getByText("Round on the receipt.").waitFor();
  expect(await said(page)).toEqual([
    ["decide", { stop: 1, choice: "take_over", text: "" }],
    ["decide", { stop: 1, choice: "guide", text: "Round on the receipt." }],
  ]);
  await run.close();
});

test("a loop that fixed the tests, and one that found no code to fix", async () => {
  const fixed = await openFix(stage(), [...BEGUN, ...turn(1, "fixed", []), ended("fixed", { cost: 0.42 })]);
  await fixed.tab("Fix");
  await panel(fixed).getByText("All tests pass.").waitFor();
  await panel(fixed)
    .getByText(/\$0.42 of/)
    .waitFor();
  await fixed.close();

  const infrastructure = await openFix(stage(), [
    ...BEGUN.slice(0, 4),
    tested(0, []),
    triaged("infrastructure", ["exit code 127"]),
    note("escalated", { reason: "infrastructure", message: "" }),
    stopped,
  ]);
  await panel(infrastructure).getByText("exit code 127").waitFor();
  await panel(infrastructure).getByRole("heading", { name: "The tests cannot run here" }).waitFor();
  await infrastructure.close();
});

test("a long loop fits on a telephone", async () => {
  const names = Array.from({ length: 64 }, (_, at) => `rounds_the_total_of_a_receipt[EUR-${at}]`);
  const round = (n: number) => [
    ...[1, 2, 3].flatMap((at) =>
      turn(3 * n + at, at === 1 ? "mixed" : "progress", names.slice(6 * (3 * n + at)), n + 1),
    ),
    note("escalated", { reason: "limit", why: "3 of 3 iterations are used", message: MESSAGE }),
    ...(n < 2 ? [decided("guide", "Look at `till.py`."), note("round_opened", { round: n + 2 })] : [stopped]),
  ];
  const run = await openFix(stage(), [
    ...BEGUN.slice(0, 4),
    tested(0, names),
    triaged("failing", []),
    ...[0, 1, 2].flatMap(round),
  ]);
  await panel(run)
    .getByText(/^iteration 9 of 9 · round 3 of 3 · 64 failures at first · 10 now/)
    .waitFor();
  expect(await panel(run).getByRole("row").count()).toBe(11);
  await panel(run).getByRole("button", { name: "Show all 50 tests" }).click();
  await panel(run).getByText("and 14 more").waitFor();
  expect(await problemsOf(run.page, "long fix loop", looks(DARK_NARROW))).toEqual({});
  await run.close();
});
