/** What Lighthouse would look at: each page by its own, on a wide screen and on a telephone. */

import type { Page, Response } from "playwright-core";
import { expect, test } from "vitest";
import { measure } from "./looks.ts";
import { openStage, PATIENCE, type Stage } from "./stage.ts";

const stage = openStage();
const MOST_SCRIPT = 200_000; // bytes of JavaScript that the first page needs, as they are sent
const MOST_SHIFT = 0.05; // half of what Lighthouse calls good

type Told = { errors: string[]; responses: Response[] };

async function open(
  { server, browser, context }: Stage,
  path: string,
  width: number,
): Promise<{ page: Page; told: Told }> {
  const own = await browser.newContext({
    viewport: { width, height: 800 },
    storageState: await context.storageState(),
  });
  own.setDefaultTimeout(PATIENCE);
  const page = await own.newPage();
  const told: Told = { errors: [], responses: [] };
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) told.errors.push(message.text());
  });
  page.on("pageerror", (error) => told.errors.push(String(error)));
  page.on("response", (response) => told.responses.push(response));
  await page.addInitScript(() => {
    const shifts: number[] = [];
    Object.assign(window, { shifts });
    new PerformanceObserver((list) => {
      for (const each of list.getEntries() as (PerformanceEntry & { value: number; hadRecentInput: boolean })[]) {
        if (!each.hadRecentInput) shifts.push(each.value);
      }
    }).observe({ type: "layout-shift", buffered: true });
  });
  await page.goto(server.origin + path);
  return { page, told };
}

for (const width of [1440, 390]) {
  test(`no page has errors, jumps, is too wide or has anything too small, at ${width} px`, async () => {
    const run = await stage().openRun("shop", { breakpoints: [{ step: "package" }] });
    await run.stopsAt("Paused before package");
    const ended = await stage().openRun("shop-broken", { stop_on_error: false });
    await ended.endsAs("failed");
    const pages: [string, (page: Page) => Promise<void>][] = [
      ["/", (page) => page.getByRole("list", { name: "Runs" }).waitFor()],
      ["/new?flow=shop", (page) => page.locator(".cm-content").waitFor()],
      ["/repos", (page) => page.getByRole("heading", { name: "Ingest a repository" }).waitFor()],
      ["/playground", (page) => page.getByText("No repositories yet").waitFor()],
      [
        `/runs/${run.id}`,
        async (page) => {
          await page.getByRole("toolbar").getByRole("status").waitFor();
          await page.locator(".react-flow [data-box=package][data-status=paused]").waitFor();
        },
      ],
      [`/runs/${ended.id}`, (page) => page.locator(".react-flow [data-box=release]").waitFor()],
      ["/nowhere", (page) => page.getByText("Page not found").waitFor()],
      ["/runs/nobody", (page) => page.getByText("Something went wrong").waitFor()],
    ];
    const found: Record<string, unknown> = {};
    for (const [path, isThere] of pages) {
      const { page, told } = await open(stage(), path, width);
      await isThere(page);
      const shift = await page.evaluate("window.shifts.reduce((sum, each) => sum + each, 0)");
      const problems = await measure(page);
      const isMissing = path === "/runs/nobody" || path === "/nowhere";
      if (!isMissing) problems.push(...told.errors);
      const wrong = isMissing ? problems.filter((each) => !each.includes("headings")) : problems;
      if (wrong.length > 0) found[path] = wrong;
      if ((shift as number) > MOST_SHIFT) found[`${path} jumps`] = shift;
      await page.context().close();
    }
    expect(found).toEqual({});
    await run.command("abort", {});
    await run.close();
    await ended.close();
  });
}

test("the first page is small, compressed and kept by the browser", async () => {
  const { page, told } = await open(stage(), "/", 1440);
  await page.getByRole("list", { name: "Runs" }).waitFor();
  await page.waitForLoadState("load"); // the network is never idle: the page follows the runs
  const files = told.responses.filter((each) => /\/assets\//.test(each.url()));
  const sizes = await Promise.all(
    files.map(async (each) => (/\.js$/.test(each.url()) ? (await each.request().sizes()).responseBodySize : 0)),
  );
  expect(sizes.reduce((sum, each) => sum + each, 0)).toBeLessThan(MOST_SCRIPT);
  for (const file of files) {
    const headers = await file.allHeaders();
    expect(headers["cache-control"], file.url()).toContain("immutable");
    if (Number(headers["content-length"]) > 1500) expect(headers["content-encoding"], file.url()).toBe("br");
  }
  const document = await page.request.get(`${stage().server.origin}/`);
  expect(document.headers()).toMatchObject({ "cache-control": "no-cache", "x-content-type-options": "nosniff" });
  expect(document.headers()["content-security-policy"]).toContain("default-src");
  expect(
    (
      await page.request.get(`${stage().server.origin}/`, {
        headers: { "if-none-match": document.headers().etag ?? "" },
      })
    ).status(),
  ).toBe(304);
  await page.context().close();
});
