/** What a card says of itself, in words. */

import type { AttemptInfo, ConflictFile } from "@/api/types";

export const ATTEMPT_WORDS: Record<AttemptInfo["kind"], string> = {
  work: "work",
  update: "branch update",
  by_hand: "update by hand",
};

export const CONFLICT_WORDS: Record<ConflictFile["kind"], string> = {
  text: "both change the same lines",
  binary: "both change a binary file",
  deleted: "one deletes it, the other changes it",
  renamed: "both rename it, or one renames what the other changes",
  other: "cannot be merged",
};

/** "18k tokens"; nothing if it is not known. */
export function tokenWords(tokens: number | null | undefined): string {
  return typeof tokens === "number" ? `${shortCount(tokens)} tokens` : "";
}

function shortCount(count: number): string {
  if (count < 1000) return `${count}`;
  return count < 1e6 ? `${(count / 1000).toFixed(count < 10_000 ? 1 : 0)}k` : `${(count / 1e6).toFixed(1)}M`;
}

/** "1 file", "3 files". */
export function countWords(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString()} ${count === 1 ? one : many}`;
}
