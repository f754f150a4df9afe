/** What a user can do with a card where it is. */

import type { CardInfo } from "@/api/types";
import { type CardStatus, columnTitle } from "@/core/board-view";

export type CardAction =
  | { kind: "start" | "retry" | "debug" | "cancel" | "approve" | "update" | "reject" | "edit" | "delete" }
  | { kind: "move"; to: CardStatus; label: string; isMain: boolean };

type Card = Pick<CardInfo, "status" | "work" | "attempt" | "branch" | "is_branch_gone" | "moves">;

/** The actions in their order, the likely one first. The server has the last word on each. */
export function actionsOf(card: Card): CardAction[] {
  const { status, work } = card;
  const hasBranch = card.branch !== null && !card.is_branch_gone;
  const actions: CardAction[] = [];
  const add = (kind: Exclude<CardAction["kind"], "move">, isPossible = true) => {
    if (isPossible) actions.push({ kind });
  };
  switch (status) {
    case "todo":
      add(card.attempt === 0 ? "start" : "retry", work !== "none");
      add("debug", work !== "none");
      break;
    case "in_progress":
      add("debug", work !== "none");
      add("cancel");
      break;
    case "in_review":
      add("approve", hasBranch);
      add("retry", work !== "none");
      add("update", hasBranch);
      add("reject");
      break;
    case "failed":
      add("retry", work !== "none");
      add("debug", work !== "none");
      break;
    case "done":
      break;
  }
  actions.push(...movesOf(card));
  add("edit");
  add("delete", status !== "in_progress");
  return actions;
}

/** Moves by hand. Todo after a review is a rejection, which asks for a reason. */
function movesOf({ status, moves, work }: Card): CardAction[] {
  return moves
    .filter((to) => to !== status && !(status === "in_review" && to === "todo"))
    .map((to) => ({ kind: "move", to, label: moveLabel(status, to), isMain: to === "todo" || work === "none" }));
}

function moveLabel(from: CardStatus, to: CardStatus): string {
  return from === "done" && to === "todo" ? "Reopen" : `Move to ${columnTitle(to).toLowerCase()}`;
}
