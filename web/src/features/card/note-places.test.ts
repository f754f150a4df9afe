import { expect, test } from "vitest";
import type { NoteInfo } from "@/api/types";
import { parsePatch } from "@/core/patch-lines";
import { countOpen, notesOutside, placeNotes, type ShownChanges } from "@/features/card/note-places";

const note = (more: Partial<NoteInfo>): NoteInfo => ({
  id: 1,
  card: "shop-1",
  kind: "comment",
  text: "Why?",
  who: "ada",
  at: 0,
  file: "cart.py",
  line: 3,
  side: "new",
  sha: "head",
  resolved: false,
  file_now: "cart.py",
  line_now: 3,
  is_outdated: false,
  ...more,
});
const shown = (more: Partial<ShownChanges> = {}): ShownChanges => ({
  base: "base",
  head: "head",
  start: "base",
  tip: "head",
  files: [{ path: "cart.py", old_path: null }],
  ...more,
});
const linesIn = (notes: NoteInfo[], changes = shown(), path = "cart.py") => [
  ...(placeNotes(notes, changes).files.get(path)?.lines.keys() ?? []),
];

test("a note on the shown commit is on its line, one on an older commit where that line is now", () => {
  expect(linesIn([note({})])).toEqual(["new:3"]);
  expect(linesIn([note({ sha: "first", line_now: 9 })])).toEqual(["new:9"]);
});

test("a note moves with a file that is renamed", () => {
  const renamed = shown({ files: [{ path: "basket.py", old_path: "cart.py" }] });
  expect(linesIn([note({ sha: "first", file_now: "basket.py", line_now: 4 })], renamed, "basket.py")).toEqual([
    "new:4",
  ]);
  expect(linesIn([note({ side: "old", sha: "base" })], renamed, "basket.py")).toEqual(["old:3"]);
});

test("notes of the old side stay at the old lines, as long as the same commit is compared with", () => {
  const old = note({ side: "old", sha: "base", file_now: null, line_now: null });
  expect(linesIn([old])).toEqual(["old:3"]);
  expect(placeNotes([old], shown({ base: "later" })).files.get("cart.py")?.unplaced).toEqual([old]);
  const moved = note({ side: "old", sha: "base", line_now: 8 });
  expect(linesIn([moved], shown({ base: "later", start: "later" }))).toEqual(["old:8"]);
});

test("an outdated note is not lost: it is with its file, or elsewhere", () => {
  const gone = note({ sha: "first", is_outdated: true, file_now: null, line_now: null });
  expect(placeNotes([gone], shown()).files.get("cart.py")?.unplaced).toEqual([gone]);
  expect(placeNotes([gone], shown({ files: [] })).elsewhere).toEqual([gone]);
});

test("the present places are those at the tip, and say nothing of the changes of an earlier attempt", () => {
  const later = note({ sha: "head", line_now: 9 });
  const earlier = shown({ head: "first", tip: "head" });
  expect(linesIn([later], earlier)).toEqual([]);
  expect(placeNotes([later], earlier).files.get("cart.py")?.unplaced).toEqual([later]);
});

test("general notes are in no file", () => {
  const general = note({ file: null, line: null, file_now: null, line_now: null, sha: null });
  expect(placeNotes([general], shown())).toEqual({ general: [general], files: new Map(), elsewhere: [] });
});

test("a note on a line that the patch does not show is told apart, and open notes are counted", () => {
  const rows = parsePatch("@@ -1 +1,2 @@\n a\n+b\n");
  const placed = placeNotes([note({ line: 2 }), note({ id: 2, line: 40, resolved: true })], shown());
  const file = placed.files.get("cart.py");
  if (!file) throw new Error("no notes");
  expect(notesOutside(file, rows).map(({ id }) => id)).toEqual([2]);
  expect(countOpen(file)).toBe(1);
});
