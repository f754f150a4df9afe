/** Takes the pictures of fix loops anew, each in light and dark: `npm run pictures`. */

import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, test } from "vitest";
import { openStage, type RunDriver } from "./stage.ts";
import { SIZE, THEMES, takePicture } from "./take-picture.ts";

const EXAMPLE = join(import.meta.dirname, "../../examples/fix");

const flow = (agent: string) => `name: shop
steps:
  - id: build
    run: python3 -m compileall -q shop
  - id: tests
    run: pytest -q
    tests: pytest
    fix: {agent: ${agent}, early_stop: false}
  - id: package
    run: echo packed
`;

/** An agent that repairs one of the two mistakes, and then guesses. */
const BLIND = `import os
import sys

import repairer

mistakes = (
    repairer.MISTAKES[0],
    repairer.Mistake(
        "format", "shown() composes what Python can format", "{amount // 100},{amount % 100}", "{amount / 100:.2f}"
    ),
    repairer.Mistake("rounding", "cents() cuts off what it has to round", "int(float(", "round(float("),
)
sys.stdin.read()
mistake = mistakes[int(os.environ["PITSTOP_FIX_ITERATION"]) - 1]
if os.environ["PITSTOP_FIX_ROLE"] == "diagnose":
    repairer.diagnose(mistake)
else:
    repairer.repair(mistake)
`;

const project = mkdtempSync(join(tmpdir(), "pitstop-pictures-"));
cpSync(EXAMPLE, project, { recursive: true });
writeFileSync(join(project, "shop.yaml"), flow("scripted"));
writeFileSync(join(project, "stuck.yaml"), flow("blind"));
writeFileSync(join(project, "pytest.ini"), "[pytest]\nasyncio_default_fixture_loop_scope = function\n"); // or it warns
writeFileSync(join(project, "blind.py"), BLIND);
writeFileSync(join(project, ".pitstop/agents/blind.yaml"), "extends: command\ncommand: [python3, blind.py]\n");
afterAll(() => rmSync(project, { recursive: true, force: true }));

const stage = openStage(project);

/** A run of the flow, in the project as it was at first. */
async function open(flow: string, height: number): Promise<RunDriver> {
  const folder = join(stage().server.folder, "flows");
  rmSync(join(folder, "debug"), { recursive: true, force: true });
  cpSync(EXAMPLE, folder, { recursive: true });
  const run = await stage().openRun(flow, { stop_on_error: false });
  await run.page.emulateMedia({ reducedMotion: "reduce" });
  await run.page.setViewportSize({ width: SIZE.width, height });
  const bar = run.page.getByRole("separator", { name: "Resize output" });
  for (let presses = 0; presses < 7; presses++) await bar.press("ArrowDown");
  return run;
}

/** Shows the log of the tests after an iteration, and the loop from its beginning. */
async function take({ page }: RunDriver, name: string, iteration: number): Promise<void> {
  const logs = page.getByRole("group", { name: `Logs of iteration ${iteration}` });
  await logs.getByRole("button", { name: "test", exact: true }).click();
  await page
    .getByRole("log", { name: "Lines" })
    .getByText(/\d (passed|failed)/)
    .first()
    .waitFor();
  await page.getByRole("group", { name: "Fix loop of tests" }).evaluate((loop) => loop.scrollTo(0, 0));
  for (const theme of THEMES) {
    await page.evaluate((theme) => {
      document.documentElement.dataset.theme = theme;
    }, theme);
    await takePicture(page, `${name}-${theme}`);
  }
}

test("pictures of a loop that gave up", async () => {
  const run = await open("stuck", 1190);
  await run.stopsAt("Paused at tests");
  await run.page.getByRole("heading", { name: "Maximum iterations reached" }).waitFor();
  await take(run, "fix-escalated", 3);
  await run.command("abort", {});
  await run.close();
});

test("pictures of a loop that fixed the tests", async () => {
  const run = await open("shop", 1000);
  await run.endsAs("passed");
  await run.tab("Fix");
  await run.page.getByText("All tests pass.").waitFor();
  await take(run, "fix", 2);
  await run.close();
});
