import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Locator } from "playwright-core";
import { afterAll, expect, test } from "vitest";
import { DARK, DARK_NARROW, looks, problemsOf } from "./looks.ts";
import { BIN } from "./server.ts";
import { openStage, type RunDriver } from "./stage.ts";

const AGENT = join(import.meta.dirname, "../../tests/agents/scripted.py");
const FLOW = `name: repair
steps:
  - id: fix
    agent: claude
    command: ["${join(BIN, "python")}", "${AGENT}", --script, script.json]
    env: {ANTHROPIC_API_KEY: dummy}
    prompt: Make the failing tests pass.
  - id: show
    run: cat made.txt
`;
const SCRIPT = {
  format: "claude",
  model: "claude-sonnet-4-5",
  cost: 0.42,
  turns: 4,
  record_calls: "calls.jsonl",
  steps: [
    { say: "I will look at the tests first." },
    { tool: "task", prompt: "Find the tests.", steps: [{ tool: "shell", command: "ls" }] },
    { tool: "shell", command: "echo original > made.txt" },
    { tool: "read", path: "repair.yaml" },
    { tool: "shell", command: "rm -rf build" },
    { say: "Done." },
  ],
};

const flows = mkdtempSync(join(tmpdir(), "pitstop-agents-"));
writeFileSync(join(flows, "repair.yaml"), FLOW);
writeFileSync(join(flows, "script.json"), JSON.stringify(SCRIPT));
afterAll(() => rmSync(flows, { recursive: true, force: true }));

const stage = openStage(flows);

const band = ({ page }: RunDriver): Locator => page.getByRole("region", { name: "Tool call" });
const dialog = ({ page }: RunDriver): Locator => page.getByRole("dialog");

/** What the agent was told of its calls, by what it asked for. */
function told(): Record<string, string> {
  const lines = readFileSync(join(stage().server.folder, "flows/calls.jsonl"), "utf8").trim().split("\n");
  const calls = lines.map((line) => JSON.parse(line) as { how: string; name: string; told: string });
  return Object.fromEntries(calls.map(({ how, name, told }) => [`${name} ${how}`, told]));
}

test("an agent is stopped at its tool calls, which are edited, answered and refused", async () => {
  const run = await stage().openRun("repair", { breakpoints: [{ step: "fix", tool: "shell", hits: ">= 2" }] });
  await run.page.emulateMedia({ reducedMotion: "reduce" });
  await run.stopsAt("Paused before shell call 2 of fix");
  await run.boxIs("fix", "paused");
  await band(run).getByText("echo original > made.txt").waitFor();
  await band(run)
    .getByText(/^A guarantee: /)
    .waitFor();
  const panel = run.page.getByRole("group", { name: "Agent in fix" });
  await panel.getByText("I will look at the tests first.").waitFor();
  await panel.getByRole("button", { name: /ls #1\/1 ok/ }).waitFor(); // of the subagent
  expect(await problemsOf(run.page, "stop at a call", looks(DARK_NARROW))).toEqual({});
  await panel.getByRole("button", { name: /#2 held/ }).click();
  expect(await problemsOf(run.page, "held call", looks(DARK))).toEqual({});

  await band(run).getByRole("button", { name: "Edit input…" }).click();
  await dialog(run).getByRole("textbox", { name: "command" }).fill("echo edited > made.txt");
  expect(await problemsOf(run.page, "editing a call", looks(DARK))).toEqual({});
  await dialog(run).getByRole("button", { name: "Allow with changes" }).click();

  await run.stopsAt("Paused before shell call 4 of fix");
  await panel.getByText("As changed in the debugger").waitFor();
  await band(run).getByRole("button", { name: "Refuse…" }).click();
  await dialog(run).getByRole("textbox", { name: "Reason" }).fill("Use make clean.");
  await dialog(run).getByRole("button", { name: "Refuse" }).click();

  await run.endsAs("passed");
  await run.sees("intervened");
  await panel.getByRole("button", { name: /#4 refused/ }).click();
  await panel.getByText("Use make clean.").waitFor();
  await panel.getByText(/4 turns · \$0.42/).waitFor();
  expect(told()).toMatchObject({ "Bash changed": "", "Bash refused": "Use make clean." });
  await run.box("show").click();
  await run.logHas("edited");
  await run.box("fix").click();
  expect(await problemsOf(run.page, "agent of an ended run", [DARK])).toEqual({});
  await run.close();
});

test("a breakpoint for tool calls is added in its dialog, and the result of a call is replaced", async () => {
  const run = await stage().openRun("repair", { stop_at_entry: true });
  await run.stopsAt("Paused before fix");
  await run.tab("Breakpoints");
  await run.press("Add");
  await dialog(run).getByRole("combobox", { name: "Pause at" }).selectOption("a tool call");
  await dialog(run).getByRole("combobox", { name: "Tool" }).selectOption("read");
  await dialog(run).getByRole("textbox", { name: "Files" }).fill("*.yaml");
  await dialog(run).getByRole("combobox", { name: "When" }).selectOption("after it runs");
  expect(await problemsOf(run.page, "breakpoint for calls", looks(DARK_NARROW))).toEqual({});
  await dialog(run).getByRole("button", { name: "Add" }).click();
  await run.sees("after read calls on *.yaml of fix");
  await run.page.keyboard.press("F8");

  await run.stopsAt("Paused after read call 3 of fix");
  await band(run).getByRole("button", { name: "Replace the result…" }).click();
  await dialog(run).getByRole("textbox", { name: "Result" }).fill("the file is empty");
  await dialog(run).getByRole("button", { name: "Replace" }).click();
  await run.endsAs("passed");
  expect(told()).toMatchObject({ "Read ran": "the file is empty" });
  await run.close();
});
