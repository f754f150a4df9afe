import { expect, test } from "vitest";
import { lineOn, modeChange, type PatchLine, parsePatch, sideOf } from "@/core/patch-lines";

const HEAD = `diff --git a/cart.py b/cart.py
index 1f2e3d4..5a6b7c8 100644
--- a/cart.py
+++ b/cart.py
`;

const drawn = (rows: readonly PatchLine[]) =>
  rows.map((row) => `${row.kind} ${row.oldLine ?? "-"} ${row.newLine ?? "-"} ${row.text}`);

test("each line has its number in both versions, also after a hunk that shifts them", () => {
  const rows = parsePatch(`${HEAD}@@ -1,3 +1,4 @@
 import sys
-total = 0
+total = 1
+taxes = 2

@@ -40 +41 @@ def checkout():
-    pass
+    return total
`);
  expect(drawn(rows)).toEqual([
    "hunk 1 1 ",
    "context 1 1 import sys",
    "removed 2 - total = 0",
    "added - 2 total = 1",
    "added - 3 taxes = 2",
    "context 3 4 ",
    "hunk 40 41 def checkout():",
    "removed 40 -     pass",
    "added - 41     return total",
  ]);
});

test("a line that looks like the head of a file is a line of the hunk", () => {
  const rows = parsePatch(`${HEAD}@@ -1,2 +1,2 @@
--- comment
-@@ -1 +1 @@
+++ counter
+diff --git a/x b/x
`);
  expect(drawn(rows).slice(1)).toEqual([
    "removed 1 - -- comment",
    "removed 2 - @@ -1 +1 @@",
    "added - 1 ++ counter",
    "added - 2 diff --git a/x b/x",
  ]);
});

test("a new file, a deleted one, and one without a newline at its end", () => {
  expect(drawn(parsePatch("--- /dev/null\n+++ b/a\n@@ -0,0 +1,2 @@\n+one\n+two\n"))).toEqual([
    "hunk 0 1 ",
    "added - 1 one",
    "added - 2 two",
  ]);
  const rows = parsePatch("@@ -1 +1 @@\n-end\n\\ No newline at end of file\n+end\n");
  expect(rows.map((row) => row.kind !== "hunk" && row.lacksNewline)).toEqual([false, true, false]);
});

test("a patch that is cut gives the lines that are there, wherever it ends", () => {
  const whole = `${HEAD}@@ -1,3 +1,3 @@ class Cart:\n a\n-b\n+c\n d\n`;
  for (let end = 0; end <= whole.length; end++) {
    const rows = parsePatch(whole.slice(0, end));
    expect(rows.length).toBeLessThanOrEqual(5);
    expect(rows.map(({ kind }) => kind)).toEqual(
      ["hunk", "context", "removed", "added", "context"].slice(0, rows.length),
    );
  }
  expect(parsePatch(whole)).toHaveLength(5);
});

test("binary files, renamed files and texts that are no patch have no rows", () => {
  expect(parsePatch("")).toEqual([]);
  expect(parsePatch("diff --git a/x.png b/x.png\nBinary files a/x.png and b/x.png differ\n")).toEqual([]);
  expect(parsePatch("similarity index 100%\nrename from a\nrename to b\n")).toEqual([]);
  expect(parsePatch("GIT binary patch\nliteral 12\n+abc\n-def\n")).toEqual([]);
});

test("what follows a hunk that says more than it has does not become a part of it", () => {
  const rows = parsePatch("@@ -1,9 +1,9 @@\n a\ndiff --git a/y b/y\n+++ b/y\n@@ -5 +5 @@\n-x\n+y\n");
  expect(drawn(rows)).toEqual(["hunk 1 1 ", "context 1 1 a", "hunk 5 5 ", "removed 5 - x", "added - 5 y"]);
});

test("a row knows its line on each side, and which side a note on it is about", () => {
  const [hunk, context, removed] = parsePatch("@@ -7,2 +9 @@\n a\n-b\n");
  expect([hunk, context, removed].map((row) => row && [lineOn(row, "old"), lineOn(row, "new"), sideOf(row)])).toEqual([
    [null, null, "new"],
    [7, 9, "new"],
    [8, null, "old"],
  ]);
});

test("a change of the mode is read from the head, and not from the lines", () => {
  expect(modeChange("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n")).toBe("100644 → 100755");
  expect(modeChange(`${HEAD}@@ -1,2 +1,2 @@\nold mode 100644\nnew mode 100755\n`)).toBeNull();
});
