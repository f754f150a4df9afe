import type { Locator } from "playwright-core";
import { expect, test } from "vitest";
import { openStage } from "./stage.ts";

const stage = openStage();

test("no button of the toolbar moves while frames stop, run and end", async () => {
  const run = await stage().openRun("shop", { breakpoints: [{ step: "checks.unit" }, { step: "checks.lint" }] });
  await run.page.getByRole("button", { name: "1 more paused" }).waitFor();
  const buttons = run.page.getByRole("toolbar", { name: "Debugger" }).locator("> button");
  const places = () => buttons.evaluateAll((all) => all.map((each) => each.getBoundingClientRect().x));
  const before = await places();

  await run.press("Step over");
  await run.boxIs("checks.unit", "passed");
  await run.page.getByRole("button", { name: "1 more paused" }).waitFor({ state: "detached" }); // its frame has ended
  expect(await places()).toEqual(before);
  await run.command("continue", { all: true });
  await run.endsAs("passed");
  await run.close();
});

test("a failure is shown with its four ways out", async () => {
  const run = await stage().openRun("shop-broken");
  const failure = run.page.getByRole("region", { name: "Failure" });
  await failure.getByText(/release failed: exit code 3/).waitFor();
  await run.tab("Inject");
  await run.page.getByRole("group", { name: "Step types" }).getByRole("button", { name: "run", exact: true }).click();
  expect(await run.page.getByRole("radio", { name: "before the paused step" }).isDisabled()).toBe(true);
  expect(await run.page.getByRole("radio", { name: "after the paused step" }).isChecked()).toBe(true);
  await failure.getByRole("button", { name: "Open shell" }).click();
  await run.page.locator(".xterm").waitFor();

  await failure.getByRole("button", { name: "Skip" }).click();
  await run.endsAs("passed");
  await run.boxIs("release", "skipped");
  await run.sees("intervened");
  await run.close();
});

test("a step lasted as long in the graph, the list, the timeline and its panel, and a run in its page and the list", async () => {
  const run = await stage().openRun("shop-broken");
  await run.stopsAt("release failed");
  await run.press("Let it fail");
  await run.endsAs("failed");
  const duration = async (place: Locator) => /[\d.]+ m?s\b/.exec((await place.textContent()) ?? "")?.[0];
  const ran = await duration(run.page.getByText("Ran for").locator("xpath=following-sibling::*"));
  const shown = [await duration(run.box("release"))];
  await run.tab("List");
  shown.push(await duration(run.page.getByRole("treeitem").filter({ hasText: "release" })));
  await run.tab("Timeline");
  const timeline = run.page.getByRole("group", { name: "Timeline of the steps" });
  shown.push(await duration(timeline.getByRole("button").filter({ hasText: "release" })));
  expect(shown).toEqual([ran, ran, ran]);

  const total = await duration(run.page.locator("main header .tabular").first());
  await run.page.goto(`${run.origin}/`);
  const listed = run.page.getByRole("list", { name: "Runs" }).getByRole("link").filter({ hasText: run.id });
  await listed.waitFor();
  expect(await duration(listed.locator(".tabular"))).toBe(total);
  await run.close();
});

test("a failed run says why, and is debugged from there", async () => {
  const run = await stage().openRun("shop-broken");
  const failure = run.page.getByRole("region", { name: "Failure" });
  await failure.getByRole("button", { name: "Let it fail" }).click();
  await run.endsAs("failed");
  await failure.getByText(/release failed: exit code 3/).waitFor();
  await failure.getByRole("button", { name: /shop-broken.yaml:\d+/ }).waitFor();

  await failure.getByRole("button", { name: "Debug this failure…" }).click();
  const dialog = run.page.getByRole("dialog", { name: "Debug this failure" });
  await expect(dialog.getByRole("checkbox", { name: "release (failed)" }).isChecked()).resolves.toBe(true);
  await dialog.getByRole("button", { name: "Start debugging" }).click();
  await run.stopsAt("Paused before release");
  expect(run.page.url()).not.toContain(run.id);
  await run.tab("Timeline");
  const build = run.page.getByRole("group", { name: "Timeline of the steps" }).getByRole("button", { name: /build/ });
  await build.getByText("in the run before").waitFor(); // and not drawn left of the time that is shown
  await run.close();
});

test("what throws work away asks first", async () => {
  const run = await stage().openRun("shop", { breakpoints: [{ step: "package" }] });
  await run.stopsAt("Paused before package");
  await run.tab("Time travel");
  await run.press("Restart frame…");
  await run.page.getByRole("alertdialog").getByRole("button", { name: "Cancel" }).click();
  await run.stopsAt("Paused before package");

  await run.page.locator("main header").getByRole("button", { name: "Cancel run…" }).click();
  const question = run.page.getByRole("alertdialog", { name: "Cancel this run?" });
  await question.getByRole("button", { name: "Keep running" }).click();
  await run.stopsAt("Paused before package");
  await run.page.locator("main header").getByRole("button", { name: "Cancel run…" }).click();
  await question.getByRole("button", { name: "Cancel run" }).click();
  await run.endsAs("cancelled");
  await run.close();
});

test("a step back says where it leads, and can be undone", async () => {
  const run = await stage().openRun("shop", { breakpoints: [{ step: "checks" }, { step: "package" }] });
  await run.stopsAt("Paused before checks");
  await run.press("Continue");
  await run.stopsAt("Paused before package");
  await run.press("Step back");
  const question = run.page.getByRole("alertdialog", { name: "Step back to checks?" });
  await question.getByText(/Files will not be restored/).waitFor(); // it works in the folder of the flow
  await question.getByRole("button", { name: "Step back" }).click();
  await run.stopsAt("Paused before checks");
  await run.boxIs("checks", "paused");

  await run.press("Undo step back");
  await run.page.getByRole("alertdialog").getByRole("button", { name: "Return" }).click();
  await run.stopsAt("Paused before package");
  await run.boxIs("checks", "passed");
  await run.press("Continue");
  await run.endsAs("passed");
  await run.close();
});
