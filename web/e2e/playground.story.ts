import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { CardBench, scriptedProfile } from "./card-bench.ts";
import { openStage, PATIENCE, RunDriver } from "./stage.ts";

const stage = openStage(join(import.meta.dirname, "../../examples/broken"));

/** An agent that executes its prompt as a script. */
const SCRIPT = "extends: aider\ncommand: [sh]\nstdin: prompt\nstream: lines\nsecrets: []\nfiles: {}\napi: null\n";
const TALKS = {
  format: "claude",
  model: "sonnet",
  cost: 0.21,
  turns: 3,
  tokens: { in: 1200, out: 80 },
  steps: [
    { say: "I will repair the price." },
    { tool: "edit", path: "price.txt", content: "12.50 EUR\n" },
    { tool: "shell", command: "cat price.txt" },
    { say: "The price has a currency." },
  ],
};
const HANGS = "echo begun > begun.txt; sleep 300 & sleep 300";

let page: Page;
let bench: CardBench;

beforeAll(async () => {
  const { server, context } = stage();
  const talks = join(server.folder, "talks.json");
  writeFileSync(talks, JSON.stringify(TALKS));
  bench = await CardBench.of(stage(), "till", {
    ".pitstop/agents/script.yaml": SCRIPT,
    ".pitstop/agents/talker.yaml": scriptedProfile(talks),
    "price.txt": "12,50\n",
  });
  page = await context.newPage();
  await page.emulateMedia({ reducedMotion: "reduce" });
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: server.origin });
});

const press = (name: string, within: Page | Locator = page) =>
  within.getByRole("button", { name, exact: true }).click();
const trial = (agent: string): Locator => page.getByRole("article", { name: `Trial of ${agent}`, exact: true });
const trialIs = (agent: string, state: string) => trial(agent).getByText(state, { exact: true }).first().waitFor();
const dialog = (name: string | RegExp): Locator => page.getByRole("dialog", { name });
const lines = (file: string): Locator => page.getByRole("region", { name: `Changes of ${file}` });
const history = (): Locator => page.getByRole("list", { name: "Trials" });
const prompt = (): Locator => page.getByRole("textbox", { name: "Prompt" });
const choose = (agent: string) =>
  page
    .getByRole("group", { name: /^Agents/ })
    .getByRole("button", { name: agent, exact: true })
    .click();

test("a prompt is tried with Ctrl+Enter, and the changes are shown without touching a branch", async () => {
  await page.goto(`${stage().server.origin}/repos/till`);
  await page.getByRole("link", { name: "Playground", exact: true }).click();
  await page.getByText("Try a prompt").waitFor();
  await press("Run");
  await page.getByText("Enter a prompt.").waitFor();
  await choose("claude"); // which is chosen at first
  await choose("talker");
  await prompt().fill("Repair the price");
  await prompt().press("Control+Enter");
  await trialIs("talker", "passed");
  await trial("talker").getByText("The price has a currency.").waitFor();
  await trial("talker").getByText("$0.21").first().waitFor();
  await lines("price.txt").getByText("+12.50 EUR").waitFor();
  const branches = await bench.ask<{ branches: { name: string }[] }>("GET", "/repos/till/branches");
  expect(branches.branches.map(({ name }) => name)).toEqual(["main"]);
});

test("two agents are compared side by side, and what differs is said", async () => {
  await choose("script");
  await prompt().fill("echo '12.50 CHF' > price.txt; echo one > more.txt");
  await press("Run 2 agents");
  await trialIs("script", "passed");
  await trialIs("talker", "passed");
  await lines("price.txt").getByText("+12.50 CHF").waitFor();
  await lines("price.txt").getByText("+12.50 EUR").waitFor();
  await page.getByText("The results differ in 2 files.").waitFor();
  await lines("more.txt").getByText("is not changed").waitFor();
});

test("a result is saved, copied, made a card, and its branch cleaned up", async () => {
  await press("Save…", trial("script"));
  await dialog("Save the result").getByLabel("Name").fill("prices");
  await press("Save", dialog("Save the result"));
  await trial("script").getByText("agent-test/prices-001").waitFor();
  await press("More actions", trial("script"));
  await page.getByRole("menuitem", { name: "Copy the diff" }).click();
  await page.getByText("Copied the diff").waitFor();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toContain("+12.50 CHF\n");

  await press("Make it a card…", trial("script"));
  await dialog("Make it a card").getByLabel("Title").fill("Name the currency");
  await press("Create card", dialog("Make it a card"));
  await press("Open card");
  await page.getByRole("heading", { name: "Name the currency", level: 1 }).waitFor();
  await page.locator("main header").first().getByText("In review", { exact: true }).waitFor();
  await page.goBack();

  await page.getByRole("checkbox", { name: "Select agent-test/prices-001" }).check();
  await press("Delete 1 branch…");
  await press("Delete", page.getByRole("alertdialog"));
  await page.getByText("Results that you save appear here.").waitFor();
});

test("Escape cancels what is running", async () => {
  await choose("talker");
  await prompt().fill(HANGS);
  await prompt().press("Control+Enter");
  await trialIs("script", "running");
  await page.keyboard.press("Escape");
  await trialIs("script", "cancelled");
});

test("a trial whose tab is closed goes on, and is in the history", async () => {
  await prompt().fill("echo 13 > price2.txt");
  await press("Run");
  await trial("script").waitFor();
  await page.close();
  page = await stage().context.newPage();
  await page.emulateMedia({ reducedMotion: "reduce" });
  await page.goto(`${stage().server.origin}/playground?repo=till`);
  await trialIs("script", "passed");
  await lines("price2.txt").getByText("+13").waitFor();
  expect(await prompt().inputValue()).toContain("price2.txt"); // what was written is still there
  await history().getByText("Repair the price").click();
  await trial("talker").waitFor();
  await expect.poll(() => page.getByRole("article").count()).toBe(1);
});

test("one file is the only one that may change, and a failed trial says why", async () => {
  await page.getByText("One file", { exact: true }).click();
  await page.getByRole("textbox", { name: "File" }).fill("price.txt");
  await prompt().fill("echo more > more.txt");
  await press("Run");
  await trialIs("script", "failed");
  await trial("script")
    .getByText(/only price.txt may change/)
    .first()
    .waitFor();
  await page.getByText("All files", { exact: true }).click();
});

test("a trial is debugged: it pauses at each tool call", async () => {
  await choose("script");
  await choose("talker");
  await page.getByRole("checkbox", { name: /^Pause at each tool call/ }).check();
  await prompt().fill("Repair the price");
  await press("Run");
  await trialIs("talker", "paused");
  await page.getByRole("link", { name: /^Paused before .*: open the debugger$/ }).click();
  await page.waitForURL(/\/runs\//);
  const id = decodeURIComponent(new URL(page.url()).pathname.split("/")[2] ?? "");
  const run = new RunDriver(page, id, stage().server.origin);
  await run.stopsAt("Paused before edit call 1");
  await page.getByRole("button", { name: /^Allow F8/ }).click();
  await run.stopsAt("Paused before shell call 2");
  await page.getByRole("button", { name: /^Allow F8/ }).click();
  await run.endsAs("passed");
  await page.getByRole("link", { name: "Playground", exact: true }).click();
  await trialIs("talker", "passed");
  await page.getByRole("checkbox", { name: /^Pause at each tool call/ }).uncheck();
  await choose("talker");
  await choose("script");
});

test("continuous mode tries each change, and cancels what is running first", async () => {
  const started = async () => await history().getByRole("listitem").count();
  const before = await started();
  await page.getByRole("switch", { name: "Continuous mode" }).click();
  await prompt().fill(HANGS);
  await trialIs("script", "running");
  await prompt().fill("echo done > done.txt");
  await lines("done.txt").getByText("+done").waitFor({ timeout: PATIENCE });
  await trialIs("script", "passed");
  const states = await bench.ask<{ trials: { state: string }[] }>("GET", "/trials?repo=till&limit=2");
  expect(states.trials.map(({ state }) => state)).toEqual(["passed", "cancelled"]);
  expect(await started()).toBe(before + 2);
  await page.evaluate(() => {
    Object.defineProperty(document, "hidden", { value: true, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  });
  await page.getByText("Continuous mode was switched off because this tab was hidden.").waitFor();
  await page.getByRole("switch", { name: "Continuous mode", checked: false }).waitFor();
});
