/** Takes the pictures of runs and the debugger anew, each in light and dark: `npm run pictures`. */

import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "vitest";
import { BIN } from "./server.ts";
import { openStage } from "./stage.ts";
import { SIZE, THEMES, takePicture } from "./take-picture.ts";

const stage = openStage();
const NOT_SHOWN = ["hanging", "login", "wrong"]; // flows of the stories that would distract

for (const theme of THEMES) {
  test(`pictures in ${theme}`, async () => {
    const { server, browser } = stage();
    for (const flow of NOT_SHOWN) rmSync(join(server.folder, `flows/${flow}.yaml`), { force: true });
    const run = await stage().openRun("shop", { breakpoints: [{ step: "checks.unit" }, { step: "checks.lint" }] });
    const { page } = run;
    await page.setViewportSize(SIZE);
    await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
    await page.reload();
    const take = (name: string, of = page) => takePicture(of, `${name}-${theme}`);
    await run.stopsAt("Paused before");
    await run.tab("Graph");
    await run.tab("Variables");
    await page.getByRole("treeitem", { name: /^region/ }).waitFor();
    await run.tab("Console");
    await page.getByRole("combobox", { name: "jq expression" }).fill(".steps.build.outputs");
    await page.keyboard.press("Enter");
    await page.getByRole("log", { name: "Console" }).getByText("1.4.2").waitFor();
    await take("graph");
    await run.tab("Source");
    await run.tab("Breakpoints");
    await page.locator(".cm-content").waitFor();
    await take("source");
    await run.press("Add");
    await page.getByRole("heading", { name: "Add breakpoint" }).waitFor();
    await take("breakpoint");
    await page.keyboard.press("Escape");
    await run.tab("List");
    await run.tab("Frames");
    await take("list");
    await page.keyboard.press("Control+k");
    await take("palette");
    await page.keyboard.press("Escape");
    await run.command("continue", { all: true });
    await run.endsAs("passed");
    await run.tab("Timeline");
    await run.tab("Context");
    await run.tab("Log");
    await take("timeline");

    const changed = await stage().openRun("shop", { breakpoints: [{ step: "package" }, { step: "release" }] });
    await changed.stopsAt("Paused before package");
    await changed.edit("region", "north");
    await changed.press("Continue");
    await changed.stopsAt("Paused before release");
    await changed.close();
    await page.goto(`${server.origin}/runs/${changed.id}`);
    await run.stopsAt("Paused before release");
    await run.tab("Graph");
    await run.tab("Step");
    await run.tab("Time travel");
    await page
      .getByRole("listbox", { name: "Points" })
      .getByRole("option")
      .filter({ hasText: "package" })
      .first()
      .click();
    await page.getByRole("heading", { name: "package" }).waitFor();
    await take("time-travel");

    rmSync(join(server.folder, "flows/ready"), { force: true }); // what the last theme repaired
    const broken = await stage().openRun("shop-broken");
    await broken.stopsAt("release failed");
    await broken.close();
    await page.goto(`${server.origin}/runs/${broken.id}`);
    await run.tab("Source");
    await run.stopsAt("release failed");
    await run.tab("Log");
    await page.getByRole("log", { name: "Lines" }).getByText("is missing").waitFor();
    await take("failed");
    await run.tab("Inject");
    await run.tab("Shell");
    await page.getByRole("tabpanel", { name: "Shell" }).getByRole("button", { name: "Open shell" }).click();
    await page.locator(".xterm-rows").getByText(/[$#]/).first().waitFor();
    await page.keyboard.type("ls -a; touch ready && echo rep''aired\n");
    await page.locator(".xterm-rows").getByText("repaired").first().waitFor();
    await take("shell");
    await page.setViewportSize({ width: 420, height: 800 });
    await run.tab("Inspect");
    await run.tab("Variables");
    await page.getByRole("treeitem", { name: /^region/ }).waitFor();
    await take("narrow");
    await page.setViewportSize(SIZE);

    await page.goto(`${server.origin}/`);
    await page.getByRole("list", { name: "Runs" }).waitFor();
    await take("runs");
    await page.goto(`${server.origin}/new?flow=shop`);
    await page.locator(".cm-content").waitFor();
    await take("start");
    for (const failing of ["rounds", "rounds taxes", "taxes", ""]) {
      const tested = await stage().openRun("tested", {}, { failing });
      await tested.endsAs("passed");
      await tested.close();
    }
    const tested = await stage().openRun(
      "tested",
      { breakpoints: [{ step: "unit", position: "after" }] },
      { failing: "taxes" },
    );
    await tested.stopsAt("Paused after unit");
    await tested.close();
    await page.goto(`${server.origin}/runs/${tested.id}`);
    await run.stopsAt("Paused after unit");
    await run.tab("Tests");
    await run.tab("Context");
    await page.getByText("Machine").waitFor();
    await run.tab("Console");
    await page.getByRole("combobox", { name: "jq expression" }).fill(".steps.unit.outputs.tests | {total, failed}");
    await page.keyboard.press("Enter");
    await page.getByText('"total": 4').waitFor();
    await take("tests");
    const stranger = await browser.newPage({ viewport: SIZE, colorScheme: theme });
    await stranger.goto(server.origin);
    await stranger.getByRole("heading", { name: "Sign in required" }).waitFor();
    await take("logged-out", stranger);
    await stranger.close();
    await run.command("abort", {});
    await run.close();
  });
}

const AGENT_FLOW = `name: shop
steps:
  - id: test
    run: echo 41 passed, 1 failed
  - id: fix
    agent: claude
    prompt: Make the failing test pass.
    command: ["${join(BIN, "python")}", "${join(import.meta.dirname, "../../tests/agents/scripted.py")}", --script, script.json]
    env: {ANTHROPIC_API_KEY: none}
  - id: verify
    run: echo 42 passed
`;
const AGENT_SCRIPT = {
  format: "claude",
  model: "claude-sonnet-4-5",
  cost: 0.18,
  turns: 6,
  tokens: { in: 48_210, out: 1_840, cached: 41_300 },
  steps: [
    { say: "I will look at the failing test first, then at the code that computes the total." },
    { tool: "read", path: "agent.yaml" },
    {
      tool: "task",
      prompt: "Find every place where the total is rounded",
      steps: [{ tool: "shell", command: "grep -n name *.yaml" }],
    },
    { say: "The total is rounded twice: per item, and again on the receipt. I will round once, at the end." },
    { tool: "edit", path: "src/till.py", content: "def total(items):\n    return round(sum(items), 2)\n" },
    { tool: "shell", command: "rm -rf build && echo rebuilt && echo 42 passed" },
    { say: "Done: the total is rounded once. All 42 tests pass." },
  ],
};

test("pictures of an agent", async () => {
  const { server } = stage();
  writeFileSync(join(server.folder, "flows/agent.yaml"), AGENT_FLOW);
  writeFileSync(join(server.folder, "flows/script.json"), JSON.stringify(AGENT_SCRIPT));
  for (const theme of THEMES) {
    const run = await stage().openRun("agent", {
      breakpoints: [{ step: "fix", tool: "shell", condition: '.tool.command | test("rm")' }],
    });
    await run.page.setViewportSize(SIZE);
    await run.page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
    await run.stopsAt("Paused before shell call 4 of fix");
    await takePicture(run.page, `agent-stop-${theme}`);
    await run.command("continue", { all: true });
    await run.endsAs("passed");
    await run.tab("Agent");
    await run.page.getByRole("button", { name: /#3 ok/ }).click();
    await takePicture(run.page, `agent-panel-${theme}`);
    await run.close();
  }
});
