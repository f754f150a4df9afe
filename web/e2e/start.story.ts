import { expect, test } from "vitest";
import { openStage } from "./stage.ts";

const stage = openStage();

test("a flow with a very long line is started without scrolling, with the secret that it needs", async () => {
  const { context, server } = stage();
  const page = await context.newPage();
  await page.goto(`${server.origin}/new?flow=login`);
  const start = page.getByRole("button", { name: "Start run" });
  await start.waitFor();
  const box = await start.boundingBox();
  expect((box?.x ?? Number.POSITIVE_INFINITY) + (box?.width ?? 0)).toBeLessThan(1440);

  await start.click();
  await page.getByText("required").waitFor();
  const secret = page.getByLabel(/SHOP_TOKEN/);
  expect(await secret.getAttribute("type")).toBe("password");
  await secret.fill("tr0ub4dor");
  await start.click();
  await page.locator("main header").first().getByText("passed", { exact: true }).waitFor();
  await page.getByText("logging in with ***, which is 9 letters long").first().waitFor();
  await page.close();
});

test("a flow with errors cannot be started, and shows as many of them as `pitstop check`", async () => {
  const { context, server } = stage();
  const page = await context.newPage();
  await page.goto(`${server.origin}/new?flow=wrong`);
  const errors = page.getByRole("region", { name: "Errors in the flow" });
  await errors.getByText("4 errors").waitFor();
  await page.getByRole("button", { name: "flows/wrong.yaml · errors" }).waitFor();
  expect(await errors.getByRole("listitem").allTextContents()).toContainEqual(expect.stringContaining("jq"));
  await page.locator(".cm-error-note").first().waitFor();
  expect(await page.getByRole("button", { name: "Start run" }).isDisabled()).toBe(true);
  await page.close();
});
