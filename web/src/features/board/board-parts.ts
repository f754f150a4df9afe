import { createContext, useContext } from "react";
import type { CardSummary } from "@/api/types";
import type { CardStatus, Gap } from "@/core/board-view";
import { Store } from "@/features/board/store";

/** A card that is dragged, and the gap that it would be dropped in. */
export type Drag = { card: CardSummary; gap: Gap | null };

/** What the board asks a column about the places of its cards on the screen. */
export type ColumnHandle = {
  rect: () => DOMRect | null;
  /** The gap at a height of the screen. */
  gapAt: (y: number) => number;
  /** Where a card in a gap would begin, on the screen. */
  pointOf: (index: number) => { x: number; y: number };
  /** Scroll until the card at an index is seen. */
  reveal: (index: number) => void;
};

export type BoardParts = {
  drag: Store<Drag | null>;
  /** The card that has the focus, or would get it. */
  cursor: Store<string | null>;
  columns: Map<CardStatus, ColumnHandle>;
};

export function newBoardParts(): BoardParts {
  return { drag: new Store<Drag | null>(null), cursor: new Store<string | null>(null), columns: new Map() };
}

export const BoardContext = createContext<BoardParts | null>(null);

export function useBoardParts(): BoardParts {
  const parts = useContext(BoardContext);
  if (!parts) throw new Error("a column is drawn outside of a board");
  return parts;
}

/** The card that has the focus. */
export function focusedCard(): string | null {
  return document.activeElement?.closest("[data-card]")?.getAttribute("data-card") ?? null;
}
