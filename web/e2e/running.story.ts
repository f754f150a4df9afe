import { expect, test } from "vitest";
import { openStage } from "./stage.ts";

const stage = openStage();

test("a step that hangs is entered by a shell, and freed", async () => {
  const run = await stage().openRun("hanging");
  await run.boxIs("wait", "running");
  await run.box("wait").click();
  const step = run.page.getByRole("tabpanel", { name: "Step" });
  await step.getByRole("button", { name: "Open shell" }).click();
  const screen = run.page.locator(".xterm-rows");
  await screen.getByText(/[$#]/).first().waitFor();
  await run.page.keyboard.type("touch there && echo free''d\n");
  await screen.getByText("freed").first().waitFor();
  await run.endsAs("passed");
  await run.sees("intervened");
  await run.close();
});

test("a step that hangs is stopped where it is, and pauses as a failure does", async () => {
  const run = await stage().openRun("hanging", {}, { file: "never" });
  await run.boxIs("wait", "running");
  await run.press("Pause all frames");
  await run.sees("Will pause after the current step");
  await run.press("Cancel the pending pause");
  await run.page.getByText("Will pause after the current step").waitFor({ state: "detached" });

  await run.box("wait").click();
  await run.press("Stop this step here");
  const failure = run.page.getByRole("region", { name: "Failure" });
  await failure.getByText(/wait failed: .*stopped by the user/).waitFor();
  await failure.getByRole("button", { name: "Skip" }).click();
  await run.endsAs("passed");
  expect(await run.page.getByRole("region", { name: "Failure" }).count()).toBe(0);
  await run.close();
});
