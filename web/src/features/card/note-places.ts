/** Where the notes of a card belong in the changes that are shown. */

import type { ChangedFile, NoteInfo } from "@/api/types";
import type { PatchLine, Side } from "@/core/patch-lines";

/** The changes that are shown. The present places of notes are at the `start` of the branch, or at its `tip`. */
export type ShownChanges = {
  base: string;
  head: string;
  start: string | null;
  tip: string | null;
  files: readonly Pick<ChangedFile, "path" | "old_path">[];
};

export type FileNotes = {
  /** By `lineKey`. */
  lines: ReadonlyMap<string, readonly NoteInfo[]>;
  /** Notes whose line is gone, or that are on a commit which is not shown. */
  unplaced: readonly NoteInfo[];
};

export type PlacedNotes = {
  /** Notes on the card as a whole. */
  general: readonly NoteInfo[];
  files: ReadonlyMap<string, FileNotes>;
  /** Notes on files that are not among those shown. */
  elsewhere: readonly NoteInfo[];
};

export const NO_NOTES: FileNotes = { lines: new Map(), unplaced: [] };

export function lineKey(side: Side, line: number): string {
  return `${side}:${line}`;
}

/** The keys of the notes below a row. */
export function keysOfRow(row: PatchLine): string[] {
  if (row.kind === "hunk") return [];
  const keys = row.newLine === null ? [] : [lineKey("new", row.newLine)];
  return row.oldLine === null ? keys : [...keys, lineKey("old", row.oldLine)];
}

export function placeNotes(notes: readonly NoteInfo[], shown: ShownChanges): PlacedNotes {
  const general: NoteInfo[] = [];
  const elsewhere: NoteInfo[] = [];
  const files = new Map<string, { lines: Map<string, NoteInfo[]>; unplaced: NoteInfo[] }>();
  const paths = pathsOf(shown.files);
  for (const note of notes) {
    if (note.file === null) {
      general.push(note);
      continue;
    }
    const line = lineOf(note, shown);
    const wanted = line === null ? [note.file_now, note.file] : [line.file];
    const path = wanted.map((each) => each !== null && paths.get(`${note.side}:${each}`)).find(Boolean);
    if (!path) {
      elsewhere.push(note);
      continue;
    }
    const found = files.get(path) ?? { lines: new Map<string, NoteInfo[]>(), unplaced: [] };
    files.set(path, found);
    if (line === null) found.unplaced.push(note);
    else {
      const key = lineKey(note.side, line.line);
      found.lines.set(key, [...(found.lines.get(key) ?? []), note]);
    }
  }
  return { general, files, elsewhere };
}

/** A line of what is shown, or null where it is not known which one the note is about. */
function lineOf(note: NoteInfo, { base, head, start, tip }: ShownChanges): { file: string; line: number } | null {
  const { file, line, file_now, line_now, side, sha } = note;
  if (file === null || line === null) return null;
  const isOld = side === "old";
  if (sha === (isOld ? base : head)) return { file, line };
  const isKnown = !note.is_outdated && line_now !== null && (isOld ? base === start : head === tip);
  return isKnown ? { file: file_now ?? file, line: line_now } : null;
}

/** The path that a file is shown under, by each name that a note may have for it. */
function pathsOf(files: ShownChanges["files"]): Map<string, string> {
  const paths = new Map<string, string>();
  for (const { path, old_path } of files) {
    paths.set(`new:${path}`, path);
    paths.set(`old:${old_path ?? path}`, path);
  }
  return paths;
}

/** Notes that no row of a file has room for: they are shown above its rows. */
export function notesOutside(notes: FileNotes, rows: readonly PatchLine[]): NoteInfo[] {
  const shown = new Set(rows.flatMap(keysOfRow));
  return [...notes.lines].flatMap(([key, each]) => (shown.has(key) ? [] : each));
}

export function countOpen(notes: FileNotes): number {
  return [...[...notes.lines.values()].flat(), ...notes.unplaced].filter((note) => !note.resolved).length;
}
