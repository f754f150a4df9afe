import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { openStage } from "./stage.ts";

const stage = openStage();
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

type Violation = { id: string; nodes: { html: string; failureSummary: string }[] };

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const found = (await page.evaluate(
    "axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'] }).then((told) => told.violations)",
  )) as Violation[];
  return found.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.html.slice(0, 160)} ${node.failureSummary.slice(0, 200)}`),
  );
}

for (const theme of ["light", "dark"] as const) {
  test(`every page and panel can be used by everybody, ${theme}`, async () => {
    const run = await stage().openRun("shop-broken");
    const { page } = run;
    await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
    await page.reload();
    await run.stopsAt("release failed");
    const found: Record<string, string[]> = {};
    const look = async (name: string) => {
      await page.waitForFunction(() => document.getAnimations().every((each) => each.playState !== "running"));
      const told = await violations(page);
      if (told.length > 0) found[name] = told;
    };
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
    await run.close();
  });
}
