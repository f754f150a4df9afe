/** One level of a scope, a page of it, as `GET …/debug/variables` tells it. */

import { childPath, parsePath, readPath } from "../src/core/json-path.ts";

export function variablesAt(scope: Record<string, unknown>, query: URLSearchParams) {
  const path = query.get("path") ?? ".";
  const [cursor, limit, search] = [
    Number(query.get("cursor") ?? 0),
    Number(query.get("limit") ?? 100),
    query.get("search")?.toLowerCase(),
  ];
  const value = readPath(scope, parsePath(path) ?? []);
  const entries = Array.isArray(value)
    ? [...value.entries()]
    : Object.entries((value ?? {}) as Record<string, unknown>);
  const wanted = search
    ? entries.filter(([name, child]) => `${name} ${JSON.stringify(child)}`.toLowerCase().includes(search))
    : entries;
  const variables = wanted
    .slice(cursor, cursor + limit)
    .map(([name, child]) => describe(String(name), childPath(path, name), child));
  return { variables, total: wanted.length, next: cursor + limit < wanted.length ? cursor + limit : null };
}

function describe(name: string, path: string, value: unknown) {
  const type = Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
  const isPlain = type !== "array" && type !== "object";
  const text = JSON.stringify(value) ?? "null";
  return {
    name,
    path,
    type,
    preview: text.length > 120 ? `${text.slice(0, 120)}…` : text,
    value: isPlain ? value : null,
    is_cut: false,
    size: isPlain ? null : Object.keys(value as object).length,
    layer: "run",
    set_by: path.startsWith(".steps") ? name : null,
  };
}
