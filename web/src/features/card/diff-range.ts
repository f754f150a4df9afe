/** Which part of a card's work is shown, as the address of the page has it. */

import type { CardRange } from "@/api/card-client";

export type ShownRange =
  | { kind: "all" }
  | { kind: "attempt"; attempt: number }
  /** Between the results of two attempts; 0 is the base. */
  | { kind: "between"; from: number; to: number };

export const ALL: ShownRange = { kind: "all" };

export function readRange(params: URLSearchParams): ShownRange {
  const [attempt, from, to] = ["attempt", "from", "to"].map((name) => numberIn(params.get(name)));
  if (attempt) return { kind: "attempt", attempt };
  if (from !== null && from !== undefined && to) return { kind: "between", from, to };
  return ALL;
}

/** The same parameters, with this range in them. */
export function withRange(params: URLSearchParams, range: ShownRange): URLSearchParams {
  const next = new URLSearchParams(params);
  for (const name of ["attempt", "from", "to"]) next.delete(name);
  switch (range.kind) {
    case "all":
      break;
    case "attempt":
      next.set("attempt", String(range.attempt));
      break;
    case "between":
      next.set("from", String(range.from));
      next.set("to", String(range.to));
      break;
  }
  return next;
}

/** The same range, as the server is asked for it. */
export function toCardRange(range: ShownRange): CardRange {
  switch (range.kind) {
    case "all":
      return {};
    case "attempt":
      return { attempt: range.attempt };
    case "between":
      return { from_attempt: range.from, to_attempt: range.to };
  }
}

function numberIn(text: string | null): number | null {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null;
}
