import { useEffect, useLayoutEffect, useSyncExternalStore } from "react";
import { type ShortcutId, shortcutFor } from "@/core/keys";

/** Something that can be done now, by its name or its key. */
export type Command = { id: string; title: string; shortcut?: ShortcutId; isPossible?: boolean; run: () => void };

let sets: readonly (readonly Command[])[] = [];
let all: readonly Command[] = [];
const listeners = new Set<() => void>();

function change(next: readonly (readonly Command[])[]): void {
  sets = next;
  all = next.flat();
  for (const listener of listeners) listener();
}

/** Offer commands while the component is there; those of the innermost page come first for a key. */
export function useCommands(commands: readonly Command[]): void {
  // Before it is drawn: a key that is pressed as soon as a stop is seen has to mean that stop.
  useLayoutEffect(() => {
    change([commands, ...sets]);
    return () => change(sets.filter((each) => each !== commands));
  }, [commands]);
}

export function useAllCommands(): readonly Command[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => all,
  );
}

const SEQUENCE_SECONDS = 1;
const POPUPS = "[role=dialog], [role=alertdialog], [role=menu]";

/** Listen to the keys of all commands that are offered. */
export function useShortcuts(): void {
  useEffect(() => {
    let before: { key: string; at: number } | null = null;
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented) return;
      const target = event.target as HTMLElement;
      if (event.key === "Escape" && target.closest(POPUPS)) return; // it closes that
      const isTyping =
        target.isContentEditable ||
        ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName) ||
        target.closest(".xterm") !== null;
      // By when they were pressed: a page that is busy may hear of both much later.
      const isInSequence = before && event.timeStamp - before.at < SEQUENCE_SECONDS * 1000;
      const id = shortcutFor(event, isInSequence ? (before?.key ?? null) : null, isTyping);
      before = isTyping ? null : { key: event.key.toUpperCase(), at: event.timeStamp };
      const command = id && all.find((each) => each.shortcut === id);
      if (!command) return;
      event.preventDefault();
      if (command.isPossible !== false) command.run();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
}
