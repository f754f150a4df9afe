/** jq paths: the text of a place in a value, read and written as `plan/paths.py` does. */

export type PathPart = string | number;

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const PART =
  /\.([A-Za-z_][A-Za-z0-9_]*)|\.("(?:[^"\\]|\\.)*")|\.?\[\s*("(?:[^"\\]|\\.)*")\s*\]|\.?\[\s*(-?[0-9]{1,9})\s*\]/y;

/** The path as text: `parsePath` gives the same parts again. */
export function formatPath(parts: readonly PathPart[]): string {
  const shown = parts
    .map((part) =>
      typeof part === "number" ? `[${part}]` : NAME.test(part) ? `.${part}` : `[${JSON.stringify(part)}]`,
    )
    .join("");
  return shown.startsWith(".") ? shown : `.${shown}`;
}

/** The parts of a plain path, or null for any other jq. */
export function parsePath(text: string): PathPart[] | null {
  const path = text.trim();
  if (path === ".") return [];
  if (!path.startsWith(".")) return null;
  const parts: PathPart[] = [];
  PART.lastIndex = 0;
  while (PART.lastIndex < path.length) {
    const match = PART.exec(path);
    if (!match) return null;
    const [, name, quoted, key, index] = match;
    const text = quoted ?? key;
    if (name !== undefined) parts.push(name);
    else if (index !== undefined) parts.push(Number(index));
    else if (text !== undefined) parts.push(JSON.parse(text) as string);
  }
  return parts;
}

export function childPath(parent: string, part: PathPart): string {
  const parts = parsePath(parent);
  return parts === null ? parent : formatPath([...parts, part]);
}

/** What is at the path; undefined where there is nothing. */
export function readPath(value: unknown, parts: readonly PathPart[]): unknown {
  let found = value;
  for (const part of parts) {
    if (typeof found !== "object" || found === null) return undefined;
    found = (found as Record<PathPart, unknown>)[part];
  }
  return found;
}

/** The beginning that is complete, and the word after it that is being written: for completion. */
export function splitForCompletion(text: string): { from: number; parent: string; word: string } | null {
  const match = /(\.[^\s|()+*/,;]*)$/.exec(text);
  if (!match) return null;
  const path = match[1] ?? "";
  const cut = Math.max(path.lastIndexOf("."), path.lastIndexOf("["));
  const parent = path.slice(0, cut) || ".";
  const word = path.slice(cut + 1).replace(/^"/, "");
  return parsePath(parent) === null ? null : { from: text.length - (path.length - cut), parent, word };
}
