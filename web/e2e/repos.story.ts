import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { Clone } from "./clone.ts";
import { DARK_NARROW, looks, problemsOf } from "./looks.ts";
import { openStage, PATIENCE, RunDriver } from "./stage.ts";

const stage = openStage(join(import.meta.dirname, "../../examples"));

const CI = `name: Build and test
on: {push: {branches: [main]}}
inputs: {greeting: {default: hello}}
steps:
  - {id: build, run: "echo $GREETING", env: {GREETING: "\${{ .inputs.greeting }}"}}
  - {id: test, run: echo tested}
`;
const BROKEN = "on: push\nsteps:\n  - {id: one, rum: echo one}\n";

let page: Page;
let clone: Clone;
let paused: RunDriver;

beforeAll(async () => {
  page = await stage().context.newPage();
});

const open = (path: string) => page.goto(stage().server.origin + path);
const push = (name: string, at = 0): Locator => page.getByRole("article", { name: `Push to ${name}` }).nth(at);

test("an empty server leads to the first run: the example pauses where it fails", async () => {
  await open("/");
  await page.getByRole("heading", { name: "Ingest a repository" }).waitFor();
  await page.getByText("pitstop ingest", { exact: true }).waitFor();
  expect(await page.getByRole("searchbox", { name: "Search runs" }).count()).toBe(0);
  expect(await problemsOf(page, "no runs", looks(DARK_NARROW))).toEqual({});
  await page.getByRole("button", { name: "Debug broken/flow" }).click();
  const run = new RunDriver(page, await idIn(page), stage().server.origin);
  await run.stopsAt("tests failed");
  await run.command("abort", {});
});

test("a repository is created, with the rule for its name, and shows how to push to it", async () => {
  await open("/");
  await page.getByRole("link", { name: "Repositories" }).first().click();
  await page.getByRole("heading", { name: "Create an empty repository" }).waitFor();
  expect(await problemsOf(page, "no repositories", looks(DARK_NARROW))).toEqual({});
  await page.getByRole("button", { name: "Create a repository" }).click();
  await page.getByLabel("Name").fill("My Shop");
  await page.getByText("Use lowercase letters.").waitFor();
  await page.getByLabel("Name").fill("shop");
  await page.getByRole("button", { name: "Create repository" }).click();
  await page.getByRole("heading", { name: "Nothing has been pushed yet" }).waitFor();
  await page.getByText(`git clone ${stage().server.origin}/git/shop.git`).waitFor();
  expect(await problemsOf(page, "empty repository", looks(DARK_NARROW))).toEqual({});
});

test("a push and its run appear on the open page, and the run passes there", async () => {
  clone = await Clone.of(stage().server, "shop");
  await open("/repos/shop?tab=pushes");
  await page.getByRole("heading", { name: "Nothing has been pushed yet" }).waitFor();
  await page.evaluate(() => Object.assign(window, { isSamePage: true }));

  await clone.commit("Sell things", { ".pitstop/flows/ci.yaml": CI, "src/app.py": "print('hello')\n" });
  await clone.push();
  await push("main").getByText("Sell things").waitFor();
  await push("main")
    .getByRole("link", { name: /^passed/ })
    .waitFor();
  expect(await page.evaluate("window.isSamePage")).toBe(true);

  await open("/");
  await page.getByRole("link", { name: /Build and test.*shop main .* push by owner/ }).waitFor();
});

test("a push that starts nothing says why, and can be started anyway", async () => {
  await open("/repos/shop?tab=pushes");
  await clone.git("checkout", "--quiet", "-b", "topic");
  await clone.commit("Try something", { "src/new.py": "pass\n" });
  await clone.push("topic");
  const skipped = push("topic");
  await skipped.getByText(/not started: branch 'topic' does not match/).waitFor();
  await skipped.getByRole("button", { name: "Start anyway: ci" }).click();
  await page.getByRole("button", { name: "Show run" }).click();
  await new RunDriver(page, await idIn(page), stage().server.origin).endsAs("passed");
});

test("a flow that a push has broken shows its line, and leads to it", async () => {
  await open("/repos/shop");
  await page.getByRole("article", { name: "ci" }).getByText("push to main").waitFor();
  await clone.git("checkout", "--quiet", "main");
  await clone.commit("Break a flow", { ".pitstop/flows/broken.yaml": BROKEN });
  await clone.push();
  const broken = page.getByRole("article", { name: "broken" });
  await broken.getByText("unknown step type").waitFor();
  expect(await broken.getByRole("link", { name: "Start broken" }).count()).toBe(0);
  await broken.getByRole("link", { name: ".pitstop/flows/broken.yaml:3:15" }).click();
  await page.locator(".cm-content").getByText("echo one").waitFor();
});

test("a flow is debugged from its repository: the run pauses on its first step, on that branch", async () => {
  await open("/repos/shop");
  await page.getByRole("link", { name: "Debug ci" }).click();
  await page.getByLabel("greeting").fill("good morning");
  const branch = page.getByLabel("Branch, tag or commit");
  expect(await branch.inputValue()).toBe("main");
  expect(await page.getByLabel("on first step").isChecked()).toBe(true);
  await branch.fill("topic");
  await page.waitForURL(/ref=topic/);
  await page.locator(".cm-content").getByText("Build and test").waitFor();
  await page.getByRole("button", { name: "Start run" }).click();
  paused = new RunDriver(page, await idIn(page), stage().server.origin);
  await paused.stopsAt("Paused before build");
  await page.locator("main header").first().getByRole("link", { name: "topic" }).waitFor();
});

test("branches that are merged are deleted together, and a protected one stays", async () => {
  await clone.push("main:old-one", "main:old-two", "main:release");
  await open("/repos/shop?tab=branches");
  await page.getByRole("button", { name: "Protect release" }).click();
  await page.getByRole("button", { name: "Unprotect release" }).waitFor();
  await page.getByRole("button", { name: "Select merged (2)" }).click();
  await page.getByRole("button", { name: "Delete 2 branches…" }).click();
  await page.getByRole("alertdialog").getByText("old-two").waitFor();
  await page.getByRole("button", { name: "Delete branches" }).click();
  await page.getByRole("link", { name: "old-one", exact: true }).waitFor({ state: "detached" });
  const left = await clone.git("ls-remote", "--heads", "pitstop");
  expect(left.match(/refs\/heads\/\S+/g)).toEqual(["refs/heads/main", "refs/heads/release", "refs/heads/topic"]);
});

/** The names of buttons that only an operator may press. */
const CHANGING =
  /^(Create|Start|Debug|Delete|Protect|Unprotect|Save|Select|Continue|Pause|Step|Undo|Retry|Skip|Cancel|Re-run|More|Extend|Breakpoint|Edit)/;

test("a viewer sees everything, and no button that changes something", async () => {
  const { server, browser, context } = stage();
  const made = await context.request.post(`${server.origin}/api/v1/tokens`, {
    headers: { origin: server.origin },
    data: { name: "guest", role: "viewer" },
  });
  const { token } = (await made.json()) as { token: string };
  const own = await browser.newContext({ extraHTTPHeaders: { authorization: `Bearer ${token}` } });
  own.setDefaultTimeout(PATIENCE);
  const guest = await own.newPage();
  const seen: [string, () => Locator][] = [
    ["/repos", () => guest.getByRole("list", { name: "Repositories" })],
    ["/repos/shop", () => guest.getByRole("article", { name: "ci" })],
    ["/repos/shop?tab=pushes", () => guest.getByText("Try something")],
    ["/repos/shop?tab=branches", () => guest.getByText("topic", { exact: true })],
    ["/repos/shop?tab=tests", () => guest.getByText("No test reports on main yet")],
    ["/repos/shop?tab=settings", () => guest.getByLabel("Default branch")],
    ["/new?repo=shop&flow=ci", () => guest.getByText("Only operators can start runs.")],
    [`/runs/${paused.id}`, () => guest.getByRole("status").filter({ hasText: "Paused before build" })],
  ];
  await guest.goto(`${server.origin}/repos`);
  await guest.getByText("guest", { exact: true }).waitFor(); // from then on it is known who looks
  for (const [path, isThere] of seen) {
    await walk(guest, path);
    await isThere().first().waitFor();
    const changing = await guest.getByRole("button", { name: CHANGING }).allTextContents();
    const links = await guest.getByRole("link", { name: /^(Start|Debug)/ }).allTextContents();
    const tabs = await guest.getByRole("tab", { name: /^(Hooks|Inject|Console|Shell)$/ }).allTextContents();
    expect({ path, found: [...changing, ...links, ...tabs] }).toEqual({ path, found: [] });
    expect(await guest.getByRole("switch").count()).toBe(0);
  }
  await paused.command("abort", {});
  await own.close();
});

test("every tab is accessible, on a phone too", async () => {
  const parts: [string, () => Locator][] = [
    ["/repos", () => page.getByRole("list", { name: "Repositories" })],
    ["/repos/shop", () => page.getByRole("article", { name: "ci" })],
    ["/repos/shop?tab=pushes", () => push("topic")],
    ["/repos/shop?tab=branches", () => page.getByRole("list", { name: "Branches" })],
    ["/repos/shop?tab=tests", () => page.getByText("No test reports on main yet")],
    ["/repos/shop?tab=code", () => page.getByRole("list", { name: "Files" })],
    ["/repos/shop?tab=code&view=commits", () => page.getByRole("list", { name: "Commits" })],
    ["/repos/shop?tab=settings", () => page.getByRole("form", { name: "Settings" })],
    ["/new?repo=shop&flow=ci", () => page.locator(".cm-content")],
  ];
  await page.emulateMedia({ reducedMotion: "reduce" });
  const found: Record<string, string[]> = {};
  await open("/repos");
  for (const [path, isThere] of parts) {
    await walk(page, path);
    await isThere().first().waitFor();
    Object.assign(found, await problemsOf(page, path, looks(DARK_NARROW)));
  }
  expect(found).toEqual({});
});

test("a repository is deleted by its name, and its runs stay", async () => {
  await open("/repos/shop?tab=settings");
  await page.getByRole("button", { name: "Delete repository…" }).click();
  const confirm = page.getByRole("dialog").getByRole("button", { name: "Delete repository" });
  expect(await confirm.isDisabled()).toBe(true);
  await page.getByLabel("Type shop to confirm").fill("shop");
  await confirm.click();
  await page.getByRole("heading", { name: "Create an empty repository" }).waitFor();
  await open("/?repo=shop");
  await page
    .getByRole("link", { name: /Build and test/ })
    .first()
    .waitFor();
});

/** Go to another page as a link does, which takes much less time than to load it. */
function walk(page: Page, path: string): Promise<void> {
  return page.evaluate((to) => history.pushState(null, "", to), path);
}

/** The run whose page is opened now. */
async function idIn(page: Page): Promise<string> {
  await page.waitForURL(/\/runs\//);
  return decodeURIComponent(new URL(page.url()).pathname.split("/")[2] ?? "");
}
