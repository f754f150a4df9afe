/** The lines of a unified diff, with their numbers in both versions of the file. */

type Text = {
  readonly text: string;
  /** The version of the file that ends with this line has no newline at its end. */
  readonly lacksNewline: boolean;
};

export type PatchLine =
  | { readonly kind: "hunk"; readonly oldLine: number; readonly newLine: number; readonly text: string }
  | ({ readonly kind: "context"; readonly oldLine: number; readonly newLine: number } & Text)
  | ({ readonly kind: "added"; readonly oldLine: null; readonly newLine: number } & Text)
  | ({ readonly kind: "removed"; readonly oldLine: number; readonly newLine: null } & Text);

export type Side = "old" | "new";

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(?: (.*))?$/;

/**
 * The rows of a patch of one file. What is outside of hunks is left out, and so is a line that no hunk has room for:
 * a patch may be cut anywhere, and a binary file has no hunks.
 */
export function parsePatch(patch: string): PatchLine[] {
  const rows: PatchLine[] = [];
  let oldLine = 0;
  let newLine = 0;
  let oldLeft = 0; // lines of the hunk that are still to come: a removed "-- x" looks like the head of a file
  let newLeft = 0;
  for (const line of linesOf(patch)) {
    if (line.startsWith("\\")) markLast(rows);
    else if (oldLeft <= 0 && newLeft <= 0) {
      const found = HUNK.exec(line);
      if (!found) continue;
      oldLine = Number(found[1]);
      newLine = Number(found[3]);
      oldLeft = Number(found[2] ?? 1);
      newLeft = Number(found[4] ?? 1);
      rows.push({ kind: "hunk", oldLine, newLine, text: found[5] ?? "" });
    } else if (line.startsWith("+") && newLeft > 0) {
      rows.push({ kind: "added", oldLine: null, newLine: newLine++, ...textOf(line) });
      newLeft--;
    } else if (line.startsWith("-") && oldLeft > 0) {
      rows.push({ kind: "removed", oldLine: oldLine++, newLine: null, ...textOf(line) });
      oldLeft--;
    } else if ((line.startsWith(" ") || line === "") && oldLeft > 0 && newLeft > 0) {
      rows.push({ kind: "context", oldLine: oldLine++, newLine: newLine++, ...textOf(line) }); // "": its space was trimmed
      oldLeft--;
      newLeft--;
    } else {
      oldLeft = 0; // a hunk that says more than it has
      newLeft = 0;
    }
  }
  return rows;
}

function linesOf(patch: string): string[] {
  const lines = patch.split("\n");
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

function textOf(line: string): Text {
  return { text: line.slice(1), lacksNewline: false };
}

function markLast(rows: PatchLine[]): void {
  const last = rows.at(-1);
  if (last && last.kind !== "hunk") rows[rows.length - 1] = { ...last, lacksNewline: true };
}

/** The line of one version of the file that a row shows; null if that version does not have it. */
export function lineOn(row: PatchLine, side: Side): number | null {
  if (row.kind === "hunk") return null;
  return side === "old" ? row.oldLine : row.newLine;
}

/** The version of the file that a note on a row is about: the old one only where the new one does not have the line. */
export function sideOf(row: PatchLine): Side {
  return row.kind === "removed" ? "old" : "new";
}

const MODE = /^(old|new) mode (\d+)$/gm;

/** What the head of a patch says of the file's mode, such as "100644 → 100755"; null if it stays as it is. */
export function modeChange(patch: string): string | null {
  const hunk = patch.search(/^@@ /m);
  const modes = [...(hunk === -1 ? patch : patch.slice(0, hunk)).matchAll(MODE)].map((found) => found[2]);
  return modes.length === 2 ? modes.join(" → ") : null;
}
