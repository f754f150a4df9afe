/** Looking for a text in a value of any depth. */

import { formatPath, type PathPart } from "@/core/json-path";

export type FoundValue = { path: string; type: string; preview: string; value: unknown; size: number | null };

const PREVIEW = 120;

/** The places whose name or plain value has the text in it, without regard to case; at most `most` of them. */
export function searchValues(value: unknown, text: string, most: number): { found: FoundValue[]; total: number } {
  const wanted = text.toLowerCase();
  const found: FoundValue[] = [];
  let total = 0;
  const parts: PathPart[] = [];
  const look = (child: unknown, name: PathPart): void => {
    parts.push(name);
    const isPlain = typeof child !== "object" || child === null;
    const isFound =
      String(name).toLowerCase().includes(wanted) || (isPlain && String(child).toLowerCase().includes(wanted));
    if (isFound && ++total <= most) found.push(describe(child, parts));
    if (!isPlain) walk(child);
    parts.pop();
  };
  const walk = (outer: unknown): void => {
    if (Array.isArray(outer)) for (let index = 0; index < outer.length; index++) look(outer[index], index);
    else if (typeof outer === "object" && outer !== null) {
      for (const name of Object.keys(outer)) look((outer as Record<string, unknown>)[name], name);
    }
  };
  walk(value);
  return { found, total };
}

function describe(value: unknown, parts: PathPart[]): FoundValue {
  const type = Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
  const isPlain = type !== "array" && type !== "object";
  const size = isPlain ? null : Object.keys(value as object).length;
  const text = isPlain ? JSON.stringify(value) : type === "array" ? `[${size}]` : `{${size}}`;
  const preview = text.length > PREVIEW ? `${text.slice(0, PREVIEW - 1)}…` : text;
  return { path: formatPath(parts), type, preview, value: isPlain ? value : null, size };
}
