/** Keys and what they do: one table for the listener, the help and the tooltips. */

export type Shortcut = {
  id: string;
  keys: string;
  does: string;
  group: "Debugger" | "Page" | "Board" | "Playground" | "Anywhere";
};

export const SHORTCUTS = [
  { id: "continue", keys: "F8", does: "Continue", group: "Debugger" },
  { id: "over", keys: "F10", does: "Step over", group: "Debugger" },
  { id: "into", keys: "F11", does: "Step into", group: "Debugger" },
  { id: "out", keys: "Shift+F11", does: "Step out", group: "Debugger" },
  { id: "back", keys: "Shift+F10", does: "Step back", group: "Debugger" },
  { id: "pause", keys: "F6", does: "Pause all frames", group: "Debugger" },
  { id: "breakpoint", keys: "F9", does: "Toggle breakpoint at the selected step", group: "Debugger" },
  { id: "retry", keys: "R", does: "Retry step", group: "Debugger" },
  { id: "cancel", keys: "Shift+F8", does: "Cancel run (asks first)", group: "Debugger" },
  { id: "next-frame", keys: "Alt+ArrowRight", does: "Next paused frame", group: "Debugger" },
  { id: "previous-frame", keys: "Alt+ArrowLeft", does: "Previous paused frame", group: "Debugger" },
  { id: "graph", keys: "1", does: "Show the graph", group: "Page" },
  { id: "list", keys: "2", does: "Show the list of steps", group: "Page" },
  { id: "source", keys: "3", does: "Show the source", group: "Page" },
  { id: "timing", keys: "4", does: "Show the timeline", group: "Page" },
  { id: "tests", keys: "5", does: "Show the tests", group: "Page" },
  { id: "artifacts", keys: "6", does: "Show the files", group: "Page" },
  { id: "fix", keys: "7", does: "Show the fix loop", group: "Page" },
  { id: "menu", keys: "M", does: "Open the menu of the selected step or value", group: "Page" },
  { id: "new-card", keys: "N", does: "New card", group: "Board" },
  { id: "start-card", keys: "S", does: "Start the focused card", group: "Board" },
  { id: "try", keys: "Ctrl+Enter", does: "Run the trial", group: "Playground" },
  { id: "cancel-trial", keys: "Escape", does: "Cancel the running trials", group: "Playground" },
  { id: "search", keys: "/", does: "Search", group: "Page" },
  { id: "palette", keys: "Ctrl+K", does: "Search or run a command", group: "Anywhere" },
  { id: "help", keys: "?", does: "Show keyboard shortcuts", group: "Anywhere" },
  { id: "runs", keys: "G R", does: "Go to runs", group: "Anywhere" },
  { id: "repos", keys: "G P", does: "Go to repositories", group: "Anywhere" },
  { id: "playground", keys: "G T", does: "Go to the playground", group: "Anywhere" },
  { id: "new", keys: "G N", does: "Start a run", group: "Anywhere" },
] as const satisfies readonly Shortcut[];

export type ShortcutId = (typeof SHORTCUTS)[number]["id"];

export function keysOf(id: ShortcutId): string {
  return SHORTCUTS.find((shortcut) => shortcut.id === id)?.keys ?? "";
}

type KeyPress = { key: string; ctrlKey: boolean; metaKey: boolean; altKey: boolean; shiftKey: boolean };

/** The press as it is written in the table. Shift is told only where the key does not tell it itself, as in `?`. */
export function nameOfPress(press: KeyPress): string {
  const key = press.key.length === 1 ? press.key.toUpperCase() : press.key;
  const isPlainText = press.key.length === 1 && !press.ctrlKey && !press.metaKey && !press.altKey;
  const modifiers = [
    press.ctrlKey || press.metaKey ? "Ctrl" : "",
    press.altKey ? "Alt" : "",
    press.shiftKey && !isPlainText ? "Shift" : "",
  ].filter(Boolean);
  return [...modifiers, key].join("+");
}

/** The shortcut that a press completes; `before` is the press just before it, for two in a row. Plain keys only while the user is not typing. */
export function shortcutFor(press: KeyPress, before: string | null, isTyping: boolean): ShortcutId | null {
  const name = nameOfPress(press);
  const works = (keys: string) => !isTyping || /^(F\d|Ctrl\+|Alt\+|Shift\+F|Escape$)/.test(keys);
  const sequence = before === null ? null : `${before} ${name}`;
  const found =
    SHORTCUTS.find(({ keys }) => keys === sequence && works(keys)) ??
    SHORTCUTS.find(({ keys }) => keys === name && works(keys));
  return found?.id ?? null;
}
