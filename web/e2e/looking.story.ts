import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openStage, PATIENCE } from "./stage.ts";

const stage = openStage();

test("the tests of a flow are seen over its last runs, also those that pass again", async () => {
  for (const failing of ["rounds", "rounds taxes"]) {
    const before = await stage().openRun("tested", {}, { failing });
    await before.endsAs("passed");
    await before.close();
  }
  const run = await stage().openRun("tested", {}, { failing: "taxes" });
  await run.endsAs("passed");
  await run.tab("Tests");

  await run.sees("4 tests: 1 failed, 3 passed");
  const history = run.page.getByRole("list", { name: "Tests of recent runs" }).getByRole("link");
  await expect.poll(() => history.count(), { timeout: PATIENCE }).toBe(3);
  const test = (name: string) => run.page.getByRole("listitem").filter({ hasText: name });
  await test("taxes").getByText("failed in 2 of the last 3 runs").waitFor({ state: "attached" });
  await test("taxes").getByText("still failing").waitFor();
  await test("rounds").getByText("fixed").waitFor();
  await history.first().click();
  await run.sees("4 tests: 1 failed, 3 passed");
  await test("rounds").getByText("failed in 1 of the last 1 runs").waitFor({ state: "detached" });
  await run.close();
});

test("a value that was found by the filter is edited where it stands; a list is edited as JSON", async () => {
  const run = await stage().openRun("shop", { breakpoints: [{ step: "package" }] });
  await run.stopsAt("Paused before package");
  await run.tab("Variables");
  const filter = run.page.getByRole("searchbox", { name: "Filter variables" });
  await filter.fill("wes");
  await run.page.getByRole("treeitem", { name: /^\.vars\.region/ }).dblclick();
  await run.page.getByRole("textbox", { name: "New value of .vars.region" }).fill("east");
  await run.page.keyboard.press("Enter");
  await run.isTold("Set .vars.region");

  await filter.fill("");
  await run.page.getByRole("treeitem", { name: /^sizes/ }).dblclick();
  const value = run.page.getByRole("textbox", { name: "New value of .vars.sizes" });
  await expect.poll(async () => JSON.parse(await value.inputValue()), { timeout: PATIENCE }).toEqual([12, 28, 7]);
  await value.fill('["small"]');
  await run.press("Set");
  await run.page.getByRole("treeitem", { name: /^sizes: \["small"\]/ }).waitFor();

  await run.press("Step over");
  await run.stopsAt("Paused before release");
  await run.tab("Graph");
  await run.box("package").click();
  await run.logHas("for east");
  await run.command("abort", {});
  await run.close();
});

test("a stop tells its commit and its machine, and which files have changed since a point", async () => {
  const flows = join(stage().server.folder, "flows");
  const git = (...words: string[]) =>
    execFileSync("git", ["-C", flows, "-c", "user.name=Shop", "-c", "user.email=shop@example.org", ...words]);
  git("init", "--quiet", "--initial-branch=main");
  git("add", "shop.yaml", "tested.yaml");
  git("commit", "--quiet", "--message=Sell things");

  const first = await stage().openRun("tested");
  await first.endsAs("passed");
  await first.palette("re-run on another commit");
  await first.page.getByRole("textbox", { name: "Commit, branch or tag" }).fill("main");
  await first.page.getByRole("checkbox", { name: "Pause on first step" }).check();
  await first.page.getByRole("button", { name: "Run", exact: true }).click();
  await first.page.waitForURL((url) => !url.pathname.endsWith(first.id));
  const run = await stage().openPage(new URL(first.page.url()).pathname.split("/").at(-1) ?? "");
  await first.close();
  await run.stopsAt("Paused before build");
  await run.tab("Context");
  await run.sees("Sell things");
  await run.page.getByRole("tabpanel", { name: "Context" }).getByText("main", { exact: true }).waitFor();
  await run.sees(/pitstop debug \S+ --server \S+ --shell/);

  await run.press("Step over");
  await run.stopsAt("Paused before unit");
  await run.tab("Time travel");
  const points = run.page.getByRole("listbox", { name: "Points" }).getByRole("option");
  await points.first().click();
  await run.page.getByRole("button", { name: /built\.txt/ }).click();
  await run.sees("+built");
  await run.palette("cancel run");
  await run.page.getByRole("alertdialog").getByRole("button", { name: "Cancel run" }).click();
  await run.endsAs("cancelled");
  await points.first().click(); // what was different is known after the end, too
  const changes = run.page.getByRole("region", { name: "Changes" });
  await changes.getByText(".steps.build", { exact: true }).waitFor();
  await changes.getByRole("button", { name: /built\.txt/ }).waitFor();
  await run.close();
});
