import { cleanup, renderHook } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { type Command, useCommands, useShortcuts } from "@/app/commands";

afterEach(cleanup);

function press(key: string, at: number): void {
  const event = new KeyboardEvent("keydown", { key, bubbles: true });
  Object.defineProperty(event, "timeStamp", { value: at });
  document.body.dispatchEvent(event);
}

test("two keys are a pair by when they were pressed, however late the page hears of them", () => {
  const go = vi.fn();
  const commands: Command[] = [{ id: "new", title: "Start a run", shortcut: "new", run: go }];
  renderHook(() => {
    useShortcuts();
    useCommands(commands);
  });
  const now = vi.spyOn(performance, "now").mockReturnValue(1000);
  press("g", 100);
  now.mockReturnValue(9000);
  press("n", 400);
  expect(go).toHaveBeenCalledTimes(1);
  press("g", 9500);
  press("n", 11_000);
  expect(go).toHaveBeenCalledTimes(1);
});
