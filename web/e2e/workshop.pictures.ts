/** Takes the pictures of repositories, cards and the playground anew, each in light and dark: `npm run pictures`. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "vitest";
import { CardBench, scriptedProfile } from "./card-bench.ts";
import { Clone } from "./clone.ts";
import { openStage } from "./stage.ts";
import { SIZE, THEMES, takePicture } from "./take-picture.ts";

const stage = openStage();

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
  for (const theme of THEMES) {
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

type Play = { model: string; cost: number; tokens: { in: number; out: number }; steps: readonly object[] };

/** A profile in a repository, of an agent that plays a script. */
function playedProfile(folder: string, name: string, play: Play): Record<string, string> {
  const script = join(folder, `${name}.json`);
  writeFileSync(script, JSON.stringify({ format: "claude", turns: play.steps.length, ...play }));
  return { [`.pitstop/agents/${name}.yaml`]: scriptedProfile(script) };
}

test("pictures of a board and its cards", async () => {
  const { server, context } = stage();
  const files: Record<string, string> = {
    "till.py": TAX,
    "test.sh": "sleep 60\n",
    "hours.md": "Monday to Saturday, 9 to 18\n",
  };
  const tokens = { in: 48_210, out: 1_840, cached: 41_300 };
  for (const [name, steps] of Object.entries(SCRIPTS)) {
    const cost = COSTS[name as keyof typeof COSTS];
    Object.assign(files, playedProfile(server.folder, name, { model: name, cost, tokens, steps }));
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
  for (const theme of THEMES) {
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
  careful: TAXED,
  quick: `def total(items, tax=0):
    return round(sum(item.price * (1 + tax) for item in items), 2)
`,
};

test("pictures of the playground", async () => {
  const { server, context } = stage();
  const files: Record<string, string> = { "till.py": TAX };
  for (const [name, content] of Object.entries(TOTALS)) {
    const isCareful = name === "careful";
    const steps = [
      { say: isCareful ? "I will read the till and its test first." : "The total ignores its tax." },
      ...(isCareful ? [{ tool: "read", path: "till.py" }] : []),
      { tool: "edit", path: "till.py", content },
      { tool: "shell", command: "echo 42 passed" },
      { say: "Done: the total has the tax. All 42 tests pass." },
    ];
    const [cost, tokens] = isCareful ? [0.31, { in: 48_210, out: 1_840 }] : [0.12, { in: 21_400, out: 610 }];
    Object.assign(files, playedProfile(server.folder, name, { model: "sonnet", cost, tokens, steps }));
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
  for (const theme of THEMES) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
    await page.reload();
    await page.getByText("agent-test/quick-001").first().waitFor();
    await page.getByText("The results differ in 1 file.").waitFor();
    await page.getByText("All 42 tests pass.").nth(1).waitFor();
    await takePicture(page, `playground-${theme}`);
  }
  await page.close();
});
