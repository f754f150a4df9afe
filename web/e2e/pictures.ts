/** Takes the pictures of the documentation anew, each in light and dark: `npm run pictures`. */

import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { test } from "vitest";
import { CardBench, scriptedProfile } from "./card-bench.ts";
import { Clone } from "./clone.ts";
import { BIN } from "./server.ts";
import { openStage } from "./stage.ts";

const FOLDER = process.env.PICTURES ?? join(import.meta.dirname, "../../docs/pictures/web");
const SIZE = { width: 1280, height: 800 };
const stage = openStage();
const NOT_SHOWN = ["hanging", "login", "wrong"]; // flows of the stories that would distract

async function takePicture(page: Page, name: string): Promise<void> {
  await page.bringToFront(); // a page behind another draws no frames
  await page.mouse.move(0, 0);
  await page.waitForFunction(
    () => document.fonts.status === "loaded" && !document.querySelector(".late, [aria-busy=true], .animate-pulse"),
  );
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  await page.screenshot({ path: join(FOLDER, `${name}.png`) });
}

for (const theme of ["light", "dark"] as const) {
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

const FLOWS = {
  ".pitstop/flows/ci.yaml":
    "name: Build and test\non: {push: {branches: [main]}}\nsteps: [{id: test, run: echo tested}]\n",
  ".pitstop/flows/release.yaml": 'on: {push: {tags: ["v*"]}}\nsteps: [{id: publish, run: echo published}]\n',
};

test("pictures of a repository", async () => {
  const { server, context } = stage();
  const headers = { origin: server.origin };
  await context.request.post(`${server.origin}/api/v1/repos`, { headers, data: { name: "shop" } });
  const clone = await Clone.of(server, "shop");
  await clone.commit("Sell things", FLOWS);
  await clone.push();
  await clone.git("tag", "v1.0");
  await clone.push("v1.0");
  await clone.git("checkout", "--quiet", "-b", "discounts");
  await clone.commit("Offer discounts", { "discounts.py": "RATE = 0.1\n" });
  await clone.push("discounts");
  const page = await context.newPage();
  await page.setViewportSize({ width: SIZE.width, height: 560 });
  for (const theme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
    await page.goto(`${server.origin}/repos/shop?tab=pushes`);
    for (const at of [0, 1])
      await page
        .getByRole("link", { name: /^passed/ })
        .nth(at)
        .waitFor();
    await takePicture(page, `pushes-${theme}`);
  }
  await page.close();
});

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
  for (const theme of ["light", "dark"] as const) {
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

const TAX = `def total(items, tax=0):
    amount = sum(item.price for item in items)
    return round(amount, 2)
`;
const TAXED = `def total(items, tax=0):
    """The price of all items, with tax."""
    amount = sum(item.price for item in items)
    return round(amount * (1 + tax), 2)
`;
const SCRIPTS = {
  sonnet: [
    { say: "I will read the till and its test first." },
    { tool: "read", path: "till.py" },
    { say: "The total ignores its tax. I will apply it once, before the amount is rounded." },
    { tool: "edit", path: "till.py", content: TAXED },
    { tool: "shell", command: "echo 42 passed" },
    { say: "Done: the total has the tax. All 42 tests pass." },
  ],
  opus: [
    { tool: "edit", path: "hours.md", content: "Monday to Sunday, 9 to 18\n" },
    { say: "The shop is open on Sunday." },
  ],
  haiku: [
    { say: "I will look for the slow query first." },
    { tool: "read", path: "till.py" },
    { tool: "shell", command: "sh test.sh receipt" },
  ],
} as const;
const COSTS = { sonnet: 0.31, opus: 0.12, haiku: 0.04 };
const JUDGE = "on: {card_complete: {labels: [backend]}}\nsteps: [{id: lint, run: echo linted}]\n";

test("pictures of a board and its cards", async () => {
  const { server, context } = stage();
  const files: Record<string, string> = {
    "till.py": TAX,
    "test.sh": "sleep 60\n",
    "hours.md": "Monday to Saturday, 9 to 18\n",
  };
  for (const [name, steps] of Object.entries(SCRIPTS)) {
    const script = join(server.folder, `${name}.json`);
    const tokens = { in: 48_210, out: 1_840, cached: 41_300 };
    const cost = COSTS[name as keyof typeof COSTS];
    writeFileSync(script, JSON.stringify({ format: "claude", model: name, cost, turns: 6, tokens, steps }));
    files[`.pitstop/agents/${name}.yaml`] = scriptedProfile(script);
  }
  const bench = await CardBench.of(stage(), "bakery", { ...files, ".pitstop/flows/lint.yaml": JUDGE });
  const agent = (name: keyof typeof SCRIPTS) => ({ work: { agent: name } });

  const landed = await bench.reviewed("Round the total once", { "round.py": "" }, { labels: ["backend"] });
  const merged = await bench.reviewed(
    "Translate the receipt",
    { "receipt.de.txt": "Summe\n" },
    { labels: ["receipt"] },
  );
  for (const card of [landed, merged]) await bench.approve(card);
  const sunday = { description: "The bakery is open on Sunday, too.", labels: ["shop"], start: true };
  const opened = await bench.create("Open on Sunday", { ...agent("opus"), ...sunday });
  const open = await bench.waitFor(opened, "in_review");
  const earlier = { "hours.md": "Monday to Saturday, 8 to 18\n" };
  await bench.clone.git("pull", "--quiet", "--no-rebase", "pitstop", "main");
  await bench.change("Open earlier", earlier);
  await bench.conflict(open);

  const taxed = await bench.create("Charge the tax", {
    ...agent("sonnet"),
    description: "The receipt shows prices without tax.\n\nAdd the tax of each item to the total, and round only once.",
    labels: ["backend", "receipt"],
    start: true,
  });
  await bench.waitFor(taxed, "in_review");
  const note = { text: "Is the tax rounded per item anywhere else?", file: "till.py", line: 4, side: "new" };
  await bench.ask("POST", `/cards/${taxed.id}/notes`, note);
  await bench.ask("POST", `/cards/${taxed.id}/notes`, { text: "Please check this with the receipts of October." });
  const failing = { work: { run: "echo 'no printer is connected' >&2; exit 3" }, start: true };
  const printer = await bench.create("Print a test receipt", failing);
  await bench.waitFor(printer, "failed");
  await bench.create("Show the allergens of each cake", { ...agent("sonnet"), labels: ["shop"] });
  await bench.create("Print the receipt in large letters", { ...agent("haiku"), labels: ["receipt"] });
  await bench.create("Choose a name for the spring menu", { labels: ["shop"] });
  const nightly = await bench.create("Count the sales of each day", { work: { run: "echo 41 > sales.txt" } });
  await bench.ask("POST", `/cards/${nightly.id}/start`, { debug: true });
  await bench.waitForRun(nightly, "paused");
  const slow = await bench.create("Make the receipt test faster", {
    ...agent("haiku"),
    labels: ["backend"],
    start: true,
  });

  const page = await context.newPage();
  await page.setViewportSize(SIZE);
  for (const theme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
    await page.setViewportSize({ width: SIZE.width, height: 500 });
    await page.goto(`${server.origin}/repos/bakery/board`);
    const working = page.getByRole("region", { name: "In progress" });
    await working.getByText("paused").waitFor();
    await working.getByText("test.sh receipt").waitFor();
    await takePicture(page, `board-${theme}`);
    await page.setViewportSize({ width: SIZE.width, height: 1190 });
    await page.goto(`${server.origin}/cards/${taxed.id}`);
    await page.getByText("Is the tax rounded per item anywhere else?").waitFor();
    await page.getByText("All 42 tests pass.").waitFor();
    await takePicture(page, `card-${theme}`);
    await page.setViewportSize({ width: SIZE.width, height: 690 });
    await page.goto(`${server.origin}/cards/${open.id}`);
    await page.getByRole("group", { name: "Lines of hours.md" }).getByText("Monday to Sunday").waitFor();
    await takePicture(page, `card-conflict-${theme}`);
  }
  await page.close();
  for (const { id } of [slow, nightly]) await bench.ask("POST", `/cards/${id}/cancel`);
});

const TOTALS = {
  careful: `def total(items, tax=0):
    """The price of all items, with tax."""
    amount = sum(item.price for item in items)
    return round(amount * (1 + tax), 2)
`,
  quick: `def total(items, tax=0):
    return round(sum(item.price * (1 + tax) for item in items), 2)
`,
};

test("pictures of the playground", async () => {
  const { server, context } = stage();
  const files: Record<string, string> = { "till.py": TAX };
  for (const [name, content] of Object.entries(TOTALS)) {
    const isCareful = name === "careful";
    const script = join(server.folder, `${name}.json`);
    const steps = [
      { say: isCareful ? "I will read the till and its test first." : "The total ignores its tax." },
      ...(isCareful ? [{ tool: "read", path: "till.py" }] : []),
      { tool: "edit", path: "till.py", content },
      { tool: "shell", command: "echo 42 passed" },
      { say: "Done: the total has the tax. All 42 tests pass." },
    ];
    const [cost, tokens] = isCareful ? [0.31, { in: 48_210, out: 1_840 }] : [0.12, { in: 21_400, out: 610 }];
    writeFileSync(
      script,
      JSON.stringify({ format: "claude", model: "sonnet", cost, turns: steps.length, tokens, steps }),
    );
    files[`.pitstop/agents/${name}.yaml`] = scriptedProfile(script);
  }
  const bench = await CardBench.of(stage(), "kiosk", files);
  const page = await context.newPage();
  const agents = page.getByRole("group", { name: /^Agents/ });
  await page.setViewportSize({ width: SIZE.width, height: 960 });
  await page.emulateMedia({ reducedMotion: "reduce" });
  await page.goto(`${server.origin}/playground?repo=kiosk`);
  for (const name of ["claude", "careful", "quick"]) await agents.getByRole("button", { name, exact: true }).click();
  for (const prompt of ["Charge the tax", "Charge the tax of each item. The receipt shows prices without tax."]) {
    await page.getByRole("textbox", { name: "Prompt" }).fill(prompt);
    await page.getByRole("textbox", { name: "Prompt" }).press("Control+Enter");
    await page.getByRole("list", { name: "Trials" }).getByText(prompt, { exact: true }).waitFor();
    for (const name of ["careful", "quick"])
      await page
        .getByRole("article", { name: `Trial of ${name}` })
        .getByText("passed", { exact: true })
        .waitFor();
  }
  const trials = await bench.ask<{ trials: { id: string; profile: string }[] }>("GET", "/trials?repo=kiosk");
  const saved = trials.trials.find(({ profile }) => profile === "quick");
  await bench.ask("POST", `/trials/${saved?.id}/save`, { name: "quick" });
  for (const theme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
    await page.reload();
    await page.getByText("agent-test/quick-001").first().waitFor();
    await page.getByText("The results differ in 1 file.").waitFor();
    await page.getByText("All 42 tests pass.").nth(1).waitFor();
    await takePicture(page, `playground-${theme}`);
  }
  await page.close();
});
