import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { openStage, PATIENCE, type RunDriver, tabTo } from "./stage.ts";

const stage = openStage();

/** Walks with an arrow key until the active one is called that. */
async function walkTo(page: Page, active: Locator, name: RegExp, key = "ArrowDown"): Promise<void> {
  for (let presses = 0; presses < 40; presses++) {
    const told = (await active.getAttribute("aria-label")) ?? (await active.textContent()) ?? "";
    if (name.test(told)) return;
    await page.keyboard.press(key);
  }
  throw new Error(`${key} did not lead to ${name}`);
}

async function breakAtPackage(run: RunDriver): Promise<void> {
  await run.tabTo(run.page.getByRole("group", { name: /^Graph of the steps/ }));
  const isSelected = async () => (await run.box("package").getAttribute("class"))?.includes("ring-accent");
  for (let presses = 0; presses < 12 && !(await isSelected()); presses++) await run.page.keyboard.press("ArrowDown");
  await run.page.keyboard.press("F9");
  await run.box("package").getByRole("button", { name: "Breakpoint at package", pressed: true }).waitFor();
}

test("a run is stepped, edited, taken back and ended by keys alone", async () => {
  const run = await stage().openRun("shop", { stop_at_entry: true });
  const { page } = run;
  const { keyboard } = page;
  await run.stopsAt("Paused before Build the shop");
  await keyboard.press("F10");
  await run.stopsAt("Paused before checks");
  await keyboard.press("F11");
  await run.stopsAt(/Paused before (Unit tests|lint)/); // both branches come to their first step, in either order
  await page.getByRole("button", { name: "1 more paused" }).waitFor();
  await breakAtPackage(run);
  await keyboard.press("F8");
  await page.getByRole("button", { name: "1 more paused" }).waitFor({ state: "detached" });
  await run.stopsAt(/Paused before (Unit tests|lint)/);
  await keyboard.press("F8");
  await run.stopsAt("Paused before package");

  await run.palette("inspect the variables");
  await page.getByRole("treeitem", { name: /^region/ }).waitFor();
  await run.tabTo(page.getByRole("tree", { name: "Variables" }));
  await walkTo(page, page.locator("[role=treeitem][aria-selected=true]"), /^region/);
  await keyboard.press("Enter");
  await keyboard.type('"south"');
  await keyboard.press("Enter");
  await page.getByRole("treeitem", { name: /^region: "south"/ }).waitFor();

  await keyboard.press("F10");
  await run.stopsAt("Paused before release");
  await run.boxIs("package", "passed");
  await page.getByRole("button", { name: "Step back", exact: true, disabled: false }).waitFor(); // where it leads is known
  await keyboard.press("Shift+F10");
  await run.tabTo(page.getByRole("alertdialog").getByRole("button", { name: "Step back" }));
  await keyboard.press("Enter");
  await run.stopsAt("Paused before package");
  await run.boxIs("package", "paused");

  await keyboard.press("?");
  await page.getByRole("heading", { name: "Keyboard shortcuts" }).waitFor();
  await keyboard.press("Escape");
  await keyboard.press("3");
  await page.getByRole("textbox", { name: /^Source of/ }).waitFor();
  await keyboard.press("F8");
  await run.endsAs("passed");
  await run.close();
});

test("frames are changed, a step is injected and another is skipped by keys alone", async () => {
  const run = await stage().openRun("shop", { breakpoints: [{ step: "checks.unit" }, { step: "checks.lint" }] });
  const { page } = run;
  const { keyboard } = page;
  await page.getByRole("button", { name: "1 more paused" }).waitFor();
  await keyboard.press("1");
  const where = page.getByRole("toolbar", { name: "Debugger" }).getByRole("status");
  if (!(await where.textContent())?.includes("lint")) await keyboard.press("Alt+ArrowRight"); // whichever stopped first
  await run.stopsAt("Paused before lint");
  await run.palette("skip step");
  await run.stopsAt("Paused before Unit tests");

  await run.palette("inject");
  await run.tabTo(page.getByRole("group", { name: "Step types" }).getByRole("button", { name: "run", exact: true }));
  await keyboard.press("Enter");
  await run.tabTo(page.getByRole("textbox", { name: "script" }));
  await keyboard.type("echo injected by keys");
  await run.tabTo(page.getByRole("button", { name: "Inject", exact: true }));
  await keyboard.press("Enter");
  await run.isTold(/Will run before Unit tests/);
  await keyboard.press("F8");
  await run.endsAs("passed");
  await run.boxIs("checks.lint", "skipped");
  await run.boxIs("checks.unit+1", "passed");
  await run.close();
});

test("a failed step is repaired in the shell, run again and gone back to by keys alone", async () => {
  const run = await stage().openRun("shop-broken", { breakpoints: [{ step: "announce" }] });
  const { page } = run;
  const { keyboard } = page;
  await run.stopsAt("release failed");
  await run.palette("new shell");
  const screen = page.locator(".xterm-rows");
  await screen.getByText(/[$#]/).first().waitFor();
  await keyboard.type("touch ready && echo rep''aired\n");
  await screen.getByText("repaired").first().waitFor();
  await run.palette("retry step");
  await run.stopsAt("Paused before announce");

  await run.palette("time travel");
  const points = page.getByRole("listbox", { name: "Points" });
  await run.tabTo(points);
  await walkTo(page, points.locator("[aria-selected=true]"), /before\s*release/, "ArrowUp");
  await run.tabTo(page.getByRole("button", { name: "Rewind to here" }), "Shift+Tab");
  await keyboard.press("Enter");
  await run.stopsAt("Paused before release");
  await run.tabTo(page.getByRole("button", { name: "Cancel run…" }));
  await keyboard.press("Enter");
  await run.tabTo(page.getByRole("alertdialog").getByRole("button", { name: "Cancel run" }));
  await keyboard.press("Enter");
  await run.endsAs("cancelled");
  await run.close();
});

test("a run is started with a breakpoint by keys alone", async () => {
  const page = await stage().context.newPage();
  await page.goto(`${stage().server.origin}/`);
  await page.getByRole("heading", { name: "Runs" }).waitFor();
  const goesThere = async () => {
    await page.keyboard.press("g");
    await page.keyboard.press("n"); // too late for a pair, if the machine stood still meanwhile
    const heading = page.getByRole("heading", { name: "Start a run" });
    return heading.waitFor({ timeout: 5000 }).then(
      () => true,
      () => false,
    );
  };
  await expect.poll(goesThere, { timeout: PATIENCE }).toBe(true);
  await tabTo(page, page.getByRole("button", { name: /^combinations/ }));
  await page.keyboard.press("Enter");
  const source = page.getByRole("textbox", { name: "Source of combinations" });
  await tabTo(page, source);
  await page.keyboard.press("Control+End");
  await page.keyboard.press("ArrowUp"); // from the empty line at the end
  await page.keyboard.press("F9");
  await page.getByText("Breakpoints: poll.ask").waitFor();
  await page.keyboard.press("F9");
  await page.getByText("Breakpoints: poll.ask").waitFor({ state: "detached" });
  await tabTo(page, page.getByRole("checkbox", { name: "on first step" }));
  await page.keyboard.press("Space");
  await tabTo(page, page.getByRole("button", { name: "Start run" }));
  await page.keyboard.press("Enter");
  const toolbar = page.getByRole("toolbar", { name: "Debugger" });
  await toolbar.getByRole("status").filter({ hasText: "Paused before tests" }).waitFor();
  await page.keyboard.press("F8");
  await page.locator("main header").first().getByText("passed", { exact: true }).waitFor();
  await page.close();
});
