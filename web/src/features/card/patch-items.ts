/** The rows of a patch with what is written below them, in the order in which they are drawn. */

import type { NoteInfo } from "@/api/types";
import type { PatchLine } from "@/core/patch-lines";
import type { Draft } from "@/features/card/note-drafts";
import { type FileNotes, keysOfRow, lineKey } from "@/features/card/note-places";

export type PatchItem =
  | { kind: "row"; key: string; at: number; row: PatchLine }
  | { kind: "thread"; key: string; notes: readonly NoteInfo[]; drafts: readonly Draft[] };

export function itemsOf(rows: readonly PatchLine[], notes: FileNotes, drafts: readonly Draft[]): PatchItem[] {
  const isOn = (key: string) => (draft: Draft) => draft.place && lineKey(draft.place.side, draft.place.line) === key;
  const items: PatchItem[] = [];
  rows.forEach((row, at) => {
    items.push({ kind: "row", key: `row ${at}`, at, row });
    const keys = keysOfRow(row);
    const found = keys.flatMap((key) => notes.lines.get(key) ?? []);
    const written = drafts.length === 0 ? [] : keys.flatMap((key) => drafts.filter(isOn(key)));
    if (found.length + written.length > 0)
      items.push({ kind: "thread", key: `thread ${at}`, notes: found, drafts: written });
  });
  return items;
}

/** The row to go to with a key, among those that a note can be on; null if the key leads nowhere. */
export function nextRow(rows: readonly PatchLine[], at: number, key: string): number | null {
  const canNote = (row: PatchLine) => row.kind !== "hunk";
  switch (key) {
    case "ArrowDown":
      return found(rows.findIndex((row, index) => index > at && canNote(row)));
    case "ArrowUp":
      return found(rows.findLastIndex((row, index) => index < at && canNote(row)));
    case "Home":
      return found(rows.findIndex(canNote));
    case "End":
      return found(rows.findLastIndex(canNote));
    default:
      return null;
  }
}

function found(index: number): number | null {
  return index === -1 ? null : index;
}
