import { expect, test } from "vitest";
import { openStage, PATIENCE } from "./stage.ts";

const stage = openStage();

test("a browser that nobody logged in is told how to get in, and comes in by the link", async () => {
  const { browser, server } = stage();
  const context = await browser.newContext();
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  await page.goto(`${server.origin}/runs/any`);
  await page.getByRole("heading", { name: "Sign in required" }).waitFor();
  await page
    .getByText(/ login$/)
    .first()
    .waitFor(); // the program as it was started
  await page.getByRole("button", { name: "Check again" }).click();
  await page.getByRole("heading", { name: "Sign in required" }).waitFor();

  await server.kill();
  await server.open();
  const other = await context.newPage();
  await other.goto(server.login);
  await other.getByRole("heading", { name: "Runs" }).waitFor();
  await page.getByRole("button", { name: "Check again" }).click();
  await page.getByText("Something went wrong").waitFor(); // there is no such run, but we are in
  expect(await page.getByRole("heading", { name: "Sign in required" }).count()).toBe(0);
  await context.close();
});

test("a link that was used before leads to a page that says so, and how to get another", async () => {
  const { browser, server } = stage();
  const page = await (await browser.newContext()).newPage();
  await page.goto(server.login);
  await page.getByRole("heading", { name: "This login link has expired" }).waitFor();
  await page
    .getByText(/ login$/)
    .first()
    .waitFor();
  await page.context().close();
});

test("a session that is over leads to the same page, whatever was open", async () => {
  const run = await stage().openRun("shop", { stop_at_entry: true });
  await run.stopsAt("Paused before Build the shop");
  const cookies = await run.page.context().cookies();
  await run.page.context().clearCookies();
  const going = run.page.getByRole("button", { name: "Continue", exact: true });
  await going.or(run.page.getByText("Sign in required")).click(); // what the page asks by itself may be refused first
  await run.sees("Sign in required");
  await run.page.context().addCookies(cookies);
  await run.press("Check again");
  await run.stopsAt("Paused before Build the shop");
  await run.press("Continue");
  await run.endsAs("passed");
  await run.close();
});
