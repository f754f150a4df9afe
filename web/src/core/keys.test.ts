import { expect, test } from "vitest";
import { SHORTCUTS, shortcutFor } from "@/core/keys";

const press = (key: string, more: Partial<Record<"ctrlKey" | "metaKey" | "altKey" | "shiftKey", boolean>> = {}) => ({
  key,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  shiftKey: false,
  ...more,
});

test("the debugger's keys", () => {
  expect(shortcutFor(press("F8"), null, false)).toBe("continue");
  expect(shortcutFor(press("F10"), null, false)).toBe("over");
  expect(shortcutFor(press("F11"), null, false)).toBe("into");
  expect(shortcutFor(press("F11", { shiftKey: true }), null, false)).toBe("out");
  expect(shortcutFor(press("F10", { shiftKey: true }), null, false)).toBe("back");
});

test("function keys work while the user types, plain keys do not", () => {
  expect(shortcutFor(press("F8"), null, true)).toBe("continue");
  expect(shortcutFor(press("k", { metaKey: true }), null, true)).toBe("palette");
  expect(shortcutFor(press("?", { shiftKey: true }), null, true)).toBeNull();
  expect(shortcutFor(press("?", { shiftKey: true }), null, false)).toBe("help");
});

test("two presses in a row", () => {
  expect(shortcutFor(press("r"), "G", false)).toBe("runs");
  expect(shortcutFor(press("n"), "G", false)).toBe("new");
  expect(shortcutFor(press("n"), null, false)).toBe("new-card");
  expect(shortcutFor(press("p"), null, false)).toBeNull();
});

test("no two shortcuts have the same keys", () => {
  expect(new Set(SHORTCUTS.map(({ keys }) => keys)).size).toBe(SHORTCUTS.length);
});
