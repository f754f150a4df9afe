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
