import { execFileSync } from "node:child_process";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { CardBench } from "./card-bench.ts";
import { DARK, DARK_NARROW, looks, problemsOf } from "./looks.ts";
import { openStage, PATIENCE } from "./stage.ts";

const stage = openStage();

test("every page and panel can be used by everybody", async () => {
  const run = await stage().openRun("shop-broken");
  const { page } = run;
  await page.emulateMedia({ reducedMotion: "reduce" });
  await run.stopsAt("release failed");
  const found: Record<string, string[]> = {};
  const look = async (name: string) => Object.assign(found, await problemsOf(page, name, looks(DARK)));
  for (const tab of ["Graph", "List", "Source", "Timeline", "Tests", "Files"]) {
    await run.tab(tab);
    await look(tab);
  }
  for (const tab of ["Variables", "Watch", "Frames", "Breakpoints", "Inject", "Context"]) {
    await run.tab(tab);
    await look(tab);
  }
  for (const tab of ["Console", "Time travel", "Shell"]) {
    await run.tab(tab);
    await look(tab);
  }
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search commands" }).waitFor();
  await look("palette");
  await page.keyboard.press("Escape");
  await run.tab("Breakpoints");
  await run.press("Add");
  await page.getByRole("heading", { name: "Add breakpoint" }).waitFor();
  await look("breakpoint dialog");
  await page.goto(`${stage().server.origin}/`);
  await page.getByRole("list", { name: "Runs" }).waitFor();
  await look("runs");
  await page.goto(`${stage().server.origin}/new?flow=shop`);
  await page.getByRole("button", { name: "Start run" }).waitFor();
  await page.locator(".cm-content").waitFor();
  await look("start");
  expect(found).toEqual({});
  await run.command("abort", {});
  await run.close();
});

/** Looks at what is open now, and gives what was wrong so far. */
function lookingAround(found: Record<string, string[]>) {
  return async (page: Page, name: string) => Object.assign(found, await problemsOf(page, name, looks(DARK_NARROW)));
}

test("a failure, its dialogs and a step that runs can be used by everybody, on a telephone too", async () => {
  const flows = join(stage().server.folder, "flows");
  const git = (...words: string[]) =>
    execFileSync("git", ["-C", flows, "-c", "user.name=Shop", "-c", "user.email=shop@example.org", ...words]);
  git("init", "--quiet", "--initial-branch=main");
  git("add", "shop-broken.yaml");
  git("commit", "--quiet", "--message=Sell things");
  const found: Record<string, string[]> = {};
  const look = lookingAround(found);

  const failing = await stage().openRun("shop-broken");
  await failing.page.emulateMedia({ reducedMotion: "reduce" });
  await failing.stopsAt("release failed");
  await look(failing.page, "stop at a failure");
  await failing.press("Let it fail");
  await failing.endsAs("failed");
  await look(failing.page, "failure banner");
  await failing.press("Debug this failure…");
  await failing.page.getByRole("radio", { name: "Another branch or commit" }).check();
  await look(failing.page, "debug this failure");
  await failing.close();

  const hanging = await stage().openRun("hanging", {}, { file: "never" });
  await hanging.page.emulateMedia({ reducedMotion: "reduce" });
  await hanging.boxIs("wait", "running");
  await hanging.press("Pause all frames");
  await hanging.sees("Will pause after the current step");
  await hanging.tab("Step");
  await look(hanging.page, "running step");
  await hanging.page.getByRole("tabpanel", { name: "Step" }).getByRole("button", { name: "Open shell" }).click();
  await hanging.page.locator(".xterm-rows").getByText(/[$#]/).first().waitFor();
  await look(hanging.page, "shell");
  await hanging.command("abort", {});
  await hanging.close();
  expect(found).toEqual({});
});

test("breakpoints and the ways back can be used by everybody, on a telephone too", async () => {
  const found: Record<string, string[]> = {};
  const look = lookingAround(found);
  const note = "Look at the sizes before they are packed: the total was wrong on Monday";
  const condition = ".vars.sizes | length > 2";
  const run = await stage().openRun("shop", {
    breakpoints: [{ step: "checks", note, condition, group: "sizes" }, { step: "package" }],
  });
  await run.page.emulateMedia({ reducedMotion: "reduce" });
  await run.stopsAt("Paused before checks");
  await run.tab("Breakpoints");
  await run.press("Mute all breakpoints");
  await run.sees(", muted");
  await look(run.page, "breakpoints");
  await run.press("Unmute all breakpoints");
  await run.press("Continue");
  await run.stopsAt("Paused before package");
  await run.press("Step back");
  await run.page.getByRole("alertdialog").waitFor();
  await look(run.page, "step back");
  await run.page.getByRole("alertdialog").getByRole("button", { name: "Step back" }).click();
  await run.stopsAt("Paused before checks");
  await run.tab("Time travel");
  await look(run.page, "stepped back");
  await run.command("abort", {});
  await run.close();
  expect(found).toEqual({});
});

test("the start of a run and the way in can be used by everybody, on a telephone too", async () => {
  const { server, context, browser } = stage();
  const found: Record<string, string[]> = {};
  const look = lookingAround(found);
  const page = await context.newPage();
  await page.emulateMedia({ reducedMotion: "reduce" });
  await page.goto(`${server.origin}/new?flow=wrong`);
  await page.getByRole("region", { name: "Errors in the flow" }).waitFor();
  await page.locator(".cm-error-note").first().waitFor();
  await look(page, "start with errors");
  await page.goto(`${server.origin}/new?flow=login`);
  await page.getByRole("button", { name: "Start run" }).click();
  await page.getByText("required").waitFor();
  await look(page, "start with a secret");
  await page.close();

  const stranger = await browser.newPage({ reducedMotion: "reduce" });
  stranger.setDefaultTimeout(PATIENCE);
  await stranger.goto(server.login); // it was used before
  await stranger.getByText(/ login$/).waitFor();
  await look(stranger, "expired link");
  await stranger.close();
  expect(found).toEqual({});
});

test("boards and cards can be used by everybody, on a telephone too", async () => {
  const { server, context } = stage();
  const found: Record<string, string[]> = {};
  const look = lookingAround(found);
  const page = await context.newPage();
  await page.emulateMedia({ reducedMotion: "reduce" });
  const bench = await CardBench.of(stage(), "till", { "price.txt": "12,50\n", "hours.txt": "9-18\n" });
  await page.goto(`${server.origin}/repos/till/board`);
  await page.getByText("No cards yet").waitFor();
  await look(page, "empty board");

  const [reviewed, failing, waiting] = await Promise.all([
    bench.reviewed("Repair the price", { "price.txt": "12.50\n", "hours.txt": "9-20\n" }, { labels: ["prices"] }),
    bench.create("Print the receipt", { work: { run: "echo no printer; exit 3" }, start: true }),
    bench.create("Count the sales", { work: { run: "echo 41 > sales.txt" } }),
  ]);
  await bench.ask("POST", `/cards/${waiting.id}/start`, { debug: true });
  await bench.create("Sell hats, ".repeat(15).trim(), { labels: ["a label that is quite long for a card", "hats"] });
  const note = { text: "Is it not 12.90?", file: "price.txt", line: 1, side: "new" };
  await bench.ask("POST", `/cards/${reviewed.id}/notes`, note);
  await bench.ask("POST", `/cards/${reviewed.id}/notes`, { text: "Ask the baker." });
  await bench.change("Raise the price", { "price.txt": "12,90\n" });
  await bench.conflict(reviewed);
  await bench.waitFor(failing, "failed");
  await bench.waitForRun(waiting, "paused");
  await page.getByRole("region", { name: "Failed" }).getByRole("link").waitFor();
  await page.getByRole("region", { name: "In progress" }).getByText("paused").waitFor();
  await look(page, "board");

  await page.getByRole("button", { name: "New card" }).click();
  const form = page.getByRole("dialog", { name: "New card" });
  await form.getByRole("button", { name: "Create", exact: true }).click(); // without a title
  await form.getByText("Enter a title.").waitFor();
  await look(page, "new card without a title");
  await form.getByLabel("Title").fill("Sell hats");
  await form.getByRole("button", { name: "Preview the prompt" }).click();
  await form.getByRole("heading", { name: "Prompt" }).waitFor();
  await look(page, "new card");

  for (const [card, isThere] of [
    [reviewed, () => page.getByRole("group", { name: "Lines of price.txt" }).getByText("Is it not 12.90?")],
    [failing, () => page.getByText("no printer")],
    [waiting, () => page.getByRole("link", { name: /open the debugger$/ })],
  ] as const) {
    await page.goto(`${server.origin}/cards/${card.id}`);
    await isThere().first().waitFor();
    await look(page, `card ${card.status}`);
  }
  await page.goto(`${server.origin}/cards/${reviewed.id}`);
  await page.getByRole("button", { name: "Approve…" }).click();
  await page.getByRole("dialog", { name: "Approve and merge" }).waitFor();
  await look(page, "approve");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Add a note on line 1" }).first().focus();
  await page.keyboard.press("Enter");
  await page.getByRole("textbox", { name: "Write a note on line 1" }).waitFor();
  await look(page, "note on a line");
  await bench.ask("POST", `/cards/${waiting.id}/cancel`);
  await page.close();
  expect(found).toEqual({});
});

test("the playground can be used by everybody, on a telephone too", async () => {
  const { server, context } = stage();
  const found: Record<string, string[]> = {};
  const look = lookingAround(found);
  const page = await context.newPage();
  await page.emulateMedia({ reducedMotion: "reduce" });
  const script = "extends: aider\ncommand: [sh]\nstdin: prompt\nstream: lines\nsecrets: []\nfiles: {}\napi: null\n";
  const agents = { ".pitstop/agents/one.yaml": script, ".pitstop/agents/other.yaml": script };
  const bench = await CardBench.of(stage(), "oven", { "price.txt": "12,50\n", ...agents });
  await page.goto(`${server.origin}/playground?repo=oven`);
  await page.getByText("Try a prompt").waitFor();
  await page.getByRole("button", { name: "other", exact: true }).waitFor();
  await page.getByRole("button", { name: "Run", exact: true }).click(); // without a prompt
  await page.getByText("Enter a prompt.").waitFor();
  await look(page, "empty playground");

  const prompt = "echo 12.50 > price.txt; echo $$ > own.txt";
  const request = { repo: "oven", profiles: ["one", "other"], prompt, save: "oven" };
  const trials = await bench.ask<{ id: string }[]>("POST", "/trials", request);
  await page.goto(`${server.origin}/playground?repo=oven&trials=${trials.map(({ id }) => id).join(",")}`);
  await page.getByText("The results differ in 1 file.").waitFor();
  await page.getByText("+12.50").nth(1).waitFor();
  await page.getByRole("checkbox", { name: "Select agent-test/oven-002" }).check();
  await look(page, "two trials");
  await page.getByRole("button", { name: "Save…" }).first().click();
  await page.getByRole("dialog", { name: "Save the result" }).waitFor();
  await look(page, "save a result");
  await page.close();
  expect(found).toEqual({});
});
