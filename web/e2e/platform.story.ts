import { createHmac } from "node:crypto";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { Clone } from "./clone.ts";
import { DARK_NARROW, looks, problemsOf } from "./looks.ts";
import { openStage, RunDriver } from "./stage.ts";

const stage = openStage(join(import.meta.dirname, "../../examples/broken"));

const CHECK = `name: Check the till
on: {push: {branches: ["topic/**"]}}
vars: {expected: "12"}
steps:
  - id: test
    run: sh check.sh "$EXPECTED"
    env: {EXPECTED: "\${{ .vars.expected }}"}
    tests: report.xml
    on_success: "merge:main"
`;
const DEPLOY = `on: {webhook: {events: [release]}}
steps:
  - {id: deploy, run: echo deployed}
`;
const SCRIPT = `total=$(cat total.txt)
if [ "$total" = "$1" ]; then failure=""; else failure="<failure message='the total is $total, not $1'/>"; fi
cat > report.xml <<END
<testsuite name="till" tests="2">
  <testcase name="adds" time="0.01"/>
  <testcase name="totals" time="0.2">$failure</testcase>
</testsuite>
END
[ -z "$failure" ]
`;

let page: Page;
let clone: Clone;

beforeAll(async () => {
  page = await stage().context.newPage();
  await page.emulateMedia({ reducedMotion: "reduce" });
});

const open = (path: string) => page.goto(stage().server.origin + path);
const push = (name: string): Locator => page.getByRole("article", { name: `Push to ${name}` }).first();
const failed = () => push("topic/tax").getByRole("link", { name: /^failed/ });

test("a folder is ingested by its command, and a branch that is pushed starts a flow, which fails", async () => {
  clone = await Clone.elsewhere(stage().server, "till");
  const files = { ".pitstop/flows/check.yaml": CHECK, ".pitstop/flows/deploy.yaml": DEPLOY, "check.sh": SCRIPT };
  await clone.commit("Add a till", { ...files, "total.txt": "12\n" });
  await clone.git("push", "--quiet", "origin", "main");
  await open("/repos");
  await clone.pitstop("ingest");
  await page.getByRole("link", { name: /till/ }).click();
  await page.getByRole("article", { name: "check" }).getByText("push to topic/**").waitFor();

  await page.getByRole("tab", { name: "Tests" }).click();
  await page.getByText("No test reports on main yet").waitFor();
  await page.getByRole("tab", { name: "Pushes" }).click();
  await clone.git("checkout", "--quiet", "-b", "topic/tax");
  await clone.commit("Add a tax", { "total.txt": "13\n" });
  await clone.push("topic/tax");
  await failed().waitFor();
});

test("the tests of the branch show what fails, in which run and why", async () => {
  await page.getByRole("tab", { name: "Tests" }).click();
  await page.getByLabel("Branch").selectOption("topic/tax");
  const failing = page.getByRole("list", { name: "Failing tests" });
  await failing.getByRole("button", { name: /totals/ }).click();
  await failing.getByText("the total is 13, not 12").waitFor();
  await page.getByRole("link", { name: /^2 tests: 1 failed, 1 passed/ }).waitFor();
  expect(await problemsOf(page, "tests", looks(DARK_NARROW))).toEqual({});
});

test("the failure is debugged from its page: an edit makes the step pass, and the merge behind it is skipped", async () => {
  await page.getByRole("tab", { name: "Pushes" }).click();
  await failed().click();
  await page.getByRole("button", { name: "Debug this failure…" }).click();
  const dialog = page.getByRole("dialog", { name: "Debug this failure" });
  await dialog.getByRole("checkbox", { name: /merge/ }).check();
  const before = page.url();
  await dialog.getByRole("button", { name: "Start debugging" }).click();
  const run = await driver(before);
  await run.stopsAt("Paused before test");
  await run.edit("expected", "13");
  await run.press("Continue");
  await run.stopsAt(/Paused before .*merge/i);
  await run.press("Skip step");
  await run.endsAs("passed");
  expect(await clone.git("ls-remote", "pitstop", "main")).toContain(await clone.git("rev-parse", "main"));
});

test("a push that corrects it passes, as the open page of the tests shows", async () => {
  await open("/repos/till?tab=tests&ref=topic%2Ftax");
  await page.getByRole("list", { name: "Tests in the last runs of check" }).waitFor();
  await clone.commit("Correct the total", { "total.txt": "12\n" });
  await clone.push("topic/tax");
  const sha = await clone.git("rev-parse", "--short=7", "HEAD");
  await page.getByRole("link", { name: new RegExp(`^2 tests: 2 passed, .*${sha}`) }).waitFor();
});

test("what has passed is merged into main, and landed in another repository with the user's own git", async () => {
  await page.getByRole("tab", { name: "Pushes" }).click();
  await push("main")
    .getByText(/merge$/)
    .waitFor();
  await push("topic/tax")
    .getByRole("link", { name: /^passed/ })
    .click();
  const run = await driver();
  await run.endsAs("passed");
  await run.boxIs("test!merge", "passed");

  await clone.pitstop("land");
  await clone.git("fetch", "--quiet", "pitstop");
  const landed = await clone.git("ls-remote", clone.origin, "main");
  expect(landed).toContain(await clone.git("rev-parse", "pitstop/main"));
  expect(await clone.git("log", "--format=%s", "pitstop/main")).toContain("Correct the total");
});

test("a webhook is created with a secret that is shown once, and its deliveries are seen and delivered again", async () => {
  await open("/repos/till?tab=hooks");
  await page.getByRole("button", { name: "Create a webhook" }).click();
  await page.getByLabel("Sent by").selectOption("plain");
  await page.getByRole("button", { name: "Create webhook" }).click();
  const made = page.getByRole("dialog", { name: "Webhook created" });
  await made.getByText("The secret is shown only now.").waitFor();
  const [url, secret] = await made.locator("code").allInnerTexts();
  expect(await problemsOf(page, "webhook created", looks(DARK_NARROW))).toEqual({});
  await made.getByRole("button", { name: /^Done/ }).click();
  expect(await page.getByText(secret ?? "").count()).toBe(0);

  const hook = page.getByRole("article", { name: "Webhook of Other sender for all flows" });
  await hook.getByText("starts deploy (release)").waitFor();
  await hook.getByRole("button", { name: "Show deliveries" }).click();
  await hook.getByText("Nothing has been delivered yet.").waitFor();
  expect(await deliver(url ?? "", "not the secret")).toBe(401);
  expect(await deliver(url ?? "", secret ?? "")).toBe(202);
  await hook.getByRole("button", { name: /refused: X-Pitstop-Signature-256 does not match/ }).waitFor();
  await hook.getByRole("button", { name: /^release accepted, signature verified, started deploy/ }).click();
  await hook.getByRole("link", { name: /^passed/ }).waitFor();
  expect(await problemsOf(page, "deliveries", looks(DARK_NARROW))).toEqual({});
  await hook.getByRole("button", { name: "Deliver again" }).click();
  await page.getByText("Delivered, started deploy").waitFor();
  await expect.poll(() => hook.getByRole("button", { name: /^release accepted/ }).count()).toBe(2);

  await hook.getByRole("switch", { name: "Disable webhook" }).click();
  await hook.getByText("disabled", { exact: true }).waitFor();
  expect(await deliver(url ?? "", secret ?? "")).toBe(404);
  await hook.getByRole("button", { name: "Delete webhook…" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Delete webhook" }).click();
  await page.getByText("No webhooks yet").waitFor();
});

/** The run whose page is opened now, which is not the one that was open before. */
async function driver(before = ""): Promise<RunDriver> {
  await page.waitForURL((url) => url.pathname.startsWith("/runs/") && url.href !== before);
  const id = decodeURIComponent(new URL(page.url()).pathname.split("/")[2] ?? "");
  return new RunDriver(page, id, stage().server.origin);
}

/** Send a release as another server does, and give the status of the answer. */
async function deliver(url: string, secret: string): Promise<number> {
  const body = JSON.stringify({ version: "1.2" });
  const timestamp = `${Math.floor(Date.now() / 1000)}`;
  const signature = createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex");
  const answer = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-pitstop-event": "release",
      "x-pitstop-timestamp": timestamp,
      "x-pitstop-signature-256": `sha256=${signature}`,
    },
    body,
  });
  return answer.status;
}
