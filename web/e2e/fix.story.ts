import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator } from "playwright-core";
import { afterAll, expect, test } from "vitest";
import { codeOf, fixProject } from "./fix-project.ts";
import { DARK, DARK_NARROW, looks, problemsOf } from "./looks.ts";
import { openStage, type RunDriver } from "./stage.ts";

const MANY = Array.from({ length: 60 }, (_, at) => `rounds_the_total_of_a_receipt_in_a_currency_${at}`);
const MISTAKES = ["a", "b", ...MANY];
const flows = fixProject(MISTAKES, {
  "fix-1": 'for each in a $(grep ^rounds code.txt); do repair "$each"; done; echo "Changes made: repaired most"',
  "fix-2": 'sed -i "s/    assert True//" tests/test_code.py; repair b',
  "diagnose-3-1": "echo 'I do not know.'",
  "fix-3": "repair b c",
  "fix-4": "repair c",
  fix: "echo guess >> notes.txt",
});
afterAll(() => rmSync(flows, { recursive: true, force: true }));

const stage = openStage(flows);

const panel = ({ page }: RunDriver): Locator => page.getByRole("group", { name: "Fix loop of tests" });
const ways = (run: RunDriver): Locator => panel(run).getByRole("group", { name: "Ways to continue" });
const choose = (run: RunDriver, way: string) => ways(run).getByRole("button", { name: way }).click();
const cellsOf = (run: RunDriver, name: RegExp) =>
  panel(run).getByRole("row", { name }).getByRole("cell").allInnerTexts();

/** Runs work in the folder of the flows: what another one has repaired is broken again. */
async function openGivenUp(): Promise<RunDriver> {
  writeFileSync(join(stage().server.folder, "flows/code.txt"), codeOf(MISTAKES));
  const run = await stage().openRun("shop", { stop_on_error: false });
  await run.page.emulateMedia({ reducedMotion: "reduce" });
  await run.stopsAt("Paused at tests");
  await panel(run).getByRole("heading", { name: "Maximum iterations reached" }).waitFor();
  return run;
}

test("a loop that gave up is shown whole, and fixes the tests with guidance", async () => {
  const run = await openGivenUp();
  const { page } = run;
  await panel(run)
    .getByText(/^iteration 3 of 3 · round 1 of 3 · 62 failures at first · 1 now/)
    .waitFor();
  expect(await panel(run).getByRole("region", { name: "Escalation" }).innerText()).not.toMatch(/failed/i);
  expect(await cellsOf(run, /test_c\b/)).toEqual(["passing", "passing", "new"]);
  expect(await cellsOf(run, /test_b\b/)).toEqual(["failing", "failing", "passing"]);
  await panel(run)
    .getByRole("definition")
    .filter({ hasText: /^'tests\/test_code.py'/ })
    .waitFor();
  await panel(run).getByText("diagnose: no report was written to").waitFor();
  expect(await problemsOf(page, "fix loop that gave up", looks(DARK_NARROW))).toEqual({});

  await panel(run).getByRole("button", { name: "Show all 50 tests" }).click();
  await panel(run).getByText("and 13 more").waitFor();
  await panel(run)
    .getByRole("button", { name: /^Report .*001_cause/ })
    .click();
  await panel(run).getByText("The line does not begin with").waitFor();
  await panel(run)
    .getByRole("button", { name: /tests.patch/ })
    .click();
  await panel(run).getByText("+ok_a", { exact: true }).waitFor();
  expect(await problemsOf(page, "tests, report and patch", looks(DARK_NARROW))).toEqual({});

  await panel(run)
    .getByRole("group", { name: "Logs of iteration 3" })
    .getByRole("button", { name: "diagnose", exact: true })
    .click();
  await run.logHas("I do not know.");
  await run.tab("Graph");
  await run.boxIs("tests[3].test", "failed");
  expect(await problemsOf(page, "graph of a fix loop", [DARK])).toEqual({});
  await page.getByRole("button", { name: "Show the fix loop" }).click();

  await choose(run, "Guide…");
  await page.getByRole("textbox", { name: "Guidance" }).fill("Repair the line `c`.");
  expect(await problemsOf(page, "guidance", [DARK])).toEqual({});
  await page.getByRole("button", { name: "Start another round" }).click();
  await run.endsAs("passed");
  await run.sees("intervened");
  await panel(run).getByText("All tests pass.").waitFor();
  await panel(run).getByText("Repair the line `c`.").waitFor();
  expect(await cellsOf(run, /test_c\b/)).toEqual(["passing", "passing", "new", "passing"]);
  expect(await problemsOf(page, "fix loop that fixed the tests", looks(DARK_NARROW))).toEqual({});
  await run.close();
});

test("a user takes over, rolls back and skips the step", async () => {
  const run = await openGivenUp();
  const { page } = run;
  await choose(run, "Take over");
  await panel(run).getByText("Repair it in a shell, then continue: the tests run again.").waitFor();
  expect(await problemsOf(page, "taken over", [DARK])).toEqual({});
  await choose(run, "Continue");
  await panel(run).getByText("the tests still fail after the repair (tests[3].test#2)").first().waitFor();
  await panel(run).getByRole("columnheader", { name: "User" }).waitFor();

  await choose(run, "Roll back…");
  expect(await problemsOf(page, "roll back", [DARK])).toEqual({});
  await page.getByRole("combobox", { name: "To" }).selectOption("iteration 1: progress");
  await page.getByRole("button", { name: "Roll back", exact: true }).click();
  await panel(run).getByText("Rolled back to iteration 1").waitFor();
  expect(await panel(run).getByText("rolled back", { exact: true }).count()).toBe(2);

  await choose(run, "Skip…");
  await page.getByRole("textbox", { name: "Reason" }).fill("known since May");
  await page.getByRole("dialog").getByRole("button", { name: "Skip" }).click();
  await run.endsAs("passed");
  await panel(run).getByText("skipped as a known issue").waitFor();
  await run.close();
});

test("tests that cannot run start no agent, and the loop is stopped", async () => {
  const run = await stage().openRun("missing", { stop_on_error: false });
  await panel(run).getByRole("heading", { name: "The tests cannot run here" }).waitFor();
  await panel(run).getByText("Infrastructure: no code was tested").waitFor();
  await choose(run, "Stop…");
  await run.page.getByRole("button", { name: "Stop", exact: true }).click();
  await run.endsAs("failed");
  await panel(run).getByText("infrastructure", { exact: true }).waitFor();
  await run.close();
});

test("a failed run is fixed by its button", async () => {
  writeFileSync(join(stage().server.folder, "flows/code.txt"), codeOf(["a"]));
  const failed = await stage().openRun("plain", { stop_on_error: false });
  const { page } = failed;
  await failed.endsAs("failed");
  await page.getByRole("region", { name: "Failure" }).getByRole("button", { name: "Fix…" }).click();
  const dialog = page.getByRole("dialog", { name: "Fix this failure" });
  await dialog.getByRole("combobox", { name: /^Agent \*/ }).fill("no such");
  expect(await problemsOf(page, "fix dialog", looks(DARK_NARROW))).toEqual({});
  await dialog.getByRole("button", { name: "Start fix loop" }).click();
  await dialog.getByRole("alert").getByText("fix.agent").waitFor();

  await dialog.getByRole("combobox", { name: /^Agent \*/ }).fill("scripted");
  await dialog.getByRole("textbox", { name: "Goal" }).fill("Sell a.");
  await dialog.getByRole("button", { name: "Start fix loop" }).click();
  await failed.endsAs("passed");
  expect(page.url()).not.toContain(failed.id);
  await failed.tab("Fix");
  await panel(failed).getByText("All tests pass.").waitFor();
  await failed.close();
});
