import { expect, test } from "vitest";
import { openStage, PATIENCE, twoFrames } from "./stage.ts";
import { Wire } from "./wire.ts";

const stage = openStage();

test("a run is started with a breakpoint that was clicked into the source", async () => {
  const { context, server } = stage();
  const page = await context.newPage();
  await page.goto(`${server.origin}/new?flow=shop`);
  const line = page.locator(".cm-line", { hasText: "- id: package" });
  await line.hover(); // once it stands still
  const box = await line.boundingBox();
  const gutter = await page.locator(".cm-breakpoints").boundingBox();
  await page.mouse.click((gutter?.x ?? 0) + 8, (box?.y ?? 0) + 8);
  await page.getByText("Breakpoints: package").waitFor();
  await page.getByRole("button", { name: "Start run" }).click();

  await page
    .getByRole("toolbar", { name: "Debugger" })
    .getByRole("status")
    .filter({ hasText: "Paused before package" })
    .waitFor();
  await page.getByRole("button", { name: "Continue", exact: true }).click();
  await page.locator("main header").first().getByText("passed", { exact: true }).waitFor();
  await page.close();
});

test("two parallel frames stop and are stepped separately; the selected frame is never taken away", async () => {
  const run = await stage().openRun("shop", { breakpoints: [{ step: "checks.unit" }, { step: "checks.lint" }] });
  await run.page.getByRole("button", { name: "1 more paused" }).waitFor();
  const frames = run.page.getByRole("group", { name: "Frames" });
  await frames.getByRole("button", { name: "lint" }).click();
  await run.stopsAt("Paused before lint");

  await run.press("Step into");
  await run.stopsAt("Paused before format");
  await run.boxIs("checks.unit", "paused");

  await frames.getByRole("button", { name: "Unit tests" }).click();
  await run.stopsAt("Paused before Unit tests");
  await run.press("Continue");
  await run.boxIs("checks.unit", "passed");
  await run.boxIs("checks.lint.format", "paused");

  await frames.getByRole("button", { name: "lint" }).click();
  await run.press("Continue");
  await run.endsAs("passed");
  await run.close();
});

test("a variable is edited at a stop, and the step uses it", async () => {
  const run = await stage().openRun("shop", { breakpoints: [{ step: "package" }] });
  await run.stopsAt("Paused before package");
  await run.edit("region", "north");

  await run.press("Step over");
  await run.stopsAt("Paused before release");
  await run.box("package").click();
  await run.logHas("shop-1.4.2.zip for north");
  await run.sees("intervened");
  await run.press("Continue");
  await run.endsAs("passed");
  await run.close();
});

test("a condition with a typo is refused where it is written, and one that fails pauses and says why", async () => {
  const run = await stage().openRun("shop", {
    stop_at_entry: true,
    breakpoints: [{ step: "package", condition: ".vars.region | tonumber" }],
  });
  await run.stopsAt("Paused before Build the shop");
  await run.tab("Breakpoints");
  await run.press("Add");
  const dialog = run.page.getByRole("dialog", { name: "Add breakpoint" });
  await dialog.getByRole("textbox", { name: "Condition" }).fill(".vars.region >");
  await dialog.getByRole("button", { name: "Add" }).click();
  await dialog.getByText(/syntax error/).waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();

  await run.press("Continue");
  await run.stopsAt("Paused before package");
  await run.sees(/cannot be parsed as a number/);
  await run.press("Continue");
  await run.close();
});

test("a step is injected by its form and runs before the one that is stopped; the graph stays where it is", async () => {
  const run = await stage().openRun("shop", { breakpoints: [{ step: "package" }] });
  await run.page.setViewportSize({ width: 1440, height: 560 }); // so that the graph is moved to the stop
  await run.page.reload();
  await run.stopsAt("Paused before package");
  const graph = run.page.locator(".react-flow__viewport");
  const place = () => graph.evaluate((element) => new DOMMatrix(getComputedStyle(element).transform).f);
  const isMovedThere = async () => {
    const at = await place();
    await run.page.evaluate(twoFrames);
    return at < 0 && at === (await place());
  };
  await expect.poll(isMovedThere, { timeout: PATIENCE }).toBe(true);
  const before = await place();
  await run.tab("Inject");
  await run.page.getByRole("group", { name: "Step types" }).getByRole("button", { name: "run", exact: true }).click();
  await run.page.getByRole("textbox", { name: "script" }).fill("echo injected by hand");
  await run.page.getByRole("textbox", { name: "ID of the new step" }).fill("look");
  await run.press("Inject");
  await run.isTold(/Will run before package/);
  await run.page.getByRole("list", { name: "Waiting to run" }).getByText("look will run before package").waitFor();
  await run.box("package+1").waitFor({ state: "attached" });
  expect(await place()).toBe(before);
  await run.tab("List");
  await run.page.getByRole("treeitem").filter({ hasText: "look" }).getByText("echo injected by hand").waitFor();
  await run.tab("Graph");
  await run.press("Continue");

  await run.endsAs("passed");
  await run.box("package+1").click();
  await run.logHas("injected by hand");
  await run.close();
});

test("a step is skipped", async () => {
  const run = await stage().openRun("shop", { breakpoints: [{ step: "release" }] });
  await run.stopsAt("Paused before release");
  await run.press("Skip step");
  await run.endsAs("passed");
  await run.boxIs("release", "skipped");
  await run.close();
});

test("a failed step is repaired in the shell and runs again", async () => {
  const run = await stage().openRun("shop-broken");
  await run.stopsAt("release failed");
  await run.logHas("the file ready is missing");
  await run.tab("Shell");
  await run.page.route("**/shell-tokens", async (route) => {
    await run.page.locator(".xterm-helper-textarea").focus();
    await run.page.keyboard.type("touch ready && echo rep''aired\n"); // before there is a shell to read it
    await route.continue();
  });
  await run.page.getByRole("tabpanel", { name: "Shell" }).getByRole("button", { name: "Open shell" }).click();
  await run.page.locator(".xterm-rows").getByText("repaired").first().waitFor();
  await run.press("Retry step");

  await run.endsAs("passed");
  await run.tab("Step");
  await run.page.getByRole("button", { name: "2", exact: true, pressed: true }).waitFor(); // the try that passed
  await run.close();
});

test("a run goes back to an earlier point; external effects ask first", async () => {
  const run = await stage().openRun("shop", {
    breakpoints: [{ step: "package" }, { step: "release", position: "after" }],
  });
  await run.stopsAt("Paused before package");
  await run.press("Continue");
  await run.stopsAt("Paused after release");
  await run.tab("Time travel");
  await run.page
    .getByRole("listbox", { name: "Points" })
    .getByRole("option")
    .filter({ hasText: "package" })
    .first()
    .click();
  await run.press("Rewind to here");
  await run.sees("This cannot be undone");
  await run.press("Continue anyway");
  await run.stopsAt("Paused before package");
  await run.boxIs("release", "waiting");
  await run.press("Continue");
  await run.stopsAt("Paused after release");
  await run.press("Continue");
  await run.endsAs("passed");
  await run.close();
});

test("two tabs race on one stop, and the late one is told", async () => {
  const late = await stage().openRun("shop", { breakpoints: [{ step: "package" }, { step: "release" }] });
  await late.stopsAt("Paused before package");
  const quick = await stage().openPage(late.id);
  await quick.stopsAt("Paused before package");
  await late.page.route("**/debug/step", async (route) => {
    await quick.press("Step over");
    await quick.stopsAt("Paused before release");
    await route.continue();
  });

  await late.press("Step over");
  await late.isTold(/Someone else already resumed this frame/);
  await late.stopsAt("Paused before release"); // where the other tab went, and not one step further
  await quick.press("Continue");
  await late.endsAs("passed");
  await quick.endsAs("passed");
  await quick.close();
  await late.close();
});

test("abort asks first", async () => {
  const run = await stage().openRun("shop", { stop_at_entry: true });
  await run.stopsAt("Paused before Build the shop");
  await run.page.getByRole("button", { name: "Cancel run…" }).click();
  await run.page.getByRole("alertdialog").getByRole("button", { name: "Keep running" }).click();
  await run.stopsAt("Paused before Build the shop");
  await run.page.getByRole("button", { name: "Cancel run…" }).click();
  await run.page.getByRole("alertdialog").getByRole("button", { name: "Cancel run" }).click();
  await run.endsAs("cancelled");
  await run.close();
});

test("a page that lost its connection says so, comes back by itself, and has missed nothing", async () => {
  const { server } = stage();
  const wire = await Wire.to(Number(new URL(server.origin).port));
  const started = await stage().openRun("shop", { breakpoints: [{ step: "package" }] });
  const run = await stage().openPage(started.id, wire.origin);
  await run.stopsAt("Paused before package");

  await wire.cut();
  await run.sees(/offline, reconnecting/);
  expect(await run.command("continue", { all: true })).toBe(200);
  await started.endsAs("passed");
  await wire.mend();

  await run.endsAs("passed");
  await run.boxIs("release", "passed");
  await run.close();
  await started.close();
  await wire.cut();
});

test("a server that was killed and started again goes on at the same stop, and so does the page", async () => {
  const { server } = stage();
  const run = await stage().openRun("shop", { breakpoints: [{ step: "package" }, { step: "release" }] });
  await run.stopsAt("Paused before package");
  await run.edit("region", "north");
  const stops = (await run.state()).stops.map(({ id }) => id);

  await server.kill();
  await run.sees(/offline, reconnecting/);
  await server.open();
  await run.sees(/^live$/);
  await run.stopsAt("Paused before package");
  const stopsNow = async () => (await run.state()).stops.map(({ id }) => id);
  await expect.poll(stopsNow, { timeout: PATIENCE }).toEqual(stops); // once the run was taken up again
  await run.page.reload();
  await run.page.getByRole("treeitem", { name: /^region: "north"/ }).waitFor();

  await run.press("Continue");
  await run.stopsAt("Paused before release");
  await run.box("package").click();
  await run.logHas("shop-1.4.2.zip for north");
  await run.press("Continue");
  await run.endsAs("passed");
  await run.close();
});
