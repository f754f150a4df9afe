import {
  type CollisionDetection,
  DndContext,
  type DragEndEvent,
  DragOverlay,
  type DragStartEvent,
  KeyboardCode,
  type KeyboardCoordinateGetter,
  KeyboardSensor,
  MouseSensor,
  TouchSensor,
  useSensor,
  useSensors,
} from "@dnd-kit/core";
import { type KeyboardEvent, memo, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { flushSync } from "react-dom";
import type { BoardFilter } from "@/api/card-client";
import type { Board, CardSummary } from "@/api/types";
import {
  type DropMeaning,
  dropMeaning,
  findCard,
  firstCard,
  type Gap,
  gapWords,
  neighborOf,
  nextGap,
  type Place,
  placeAt,
  STATUSES,
} from "@/core/board-view";
import { BoardColumn } from "@/features/board/board-column";
import { BoardContext, type BoardParts, focusedCard, newBoardParts } from "@/features/board/board-parts";
import { CardFace } from "@/features/board/card-face";
import { CARD_LOOK } from "@/features/board/card-row";
import { useStore } from "@/features/board/store";
import { classNames } from "@/ui/class-names";

/** A drop that is refused is reported too, with the reason. */
export type OnDrop = (card: CardSummary, meaning: DropMeaning, place: Place) => void;

type CardBoardProps = {
  repo: string;
  filter: BoardFilter;
  board: Board;
  canChange: boolean;
  onDrop: OnDrop;
};

const KEYS = {
  start: [KeyboardCode.Space], // Enter opens the card
  cancel: [KeyboardCode.Esc],
  end: [KeyboardCode.Space, KeyboardCode.Enter],
};

const INSTRUCTIONS = {
  draggable: "Press Space to pick up the card, move it with the arrow keys, and press Space to drop it.",
};

/** The columns of a repository. Cards are moved by dragging, and the focus by the arrow keys. */
export function CardBoard({ repo, filter, board, canChange, onDrop }: CardBoardProps) {
  const [parts] = useState(newBoardParts);
  const latest = useRef(board);
  latest.current = board;
  const { cursor } = parts;
  const focused = useRef<string | null>(null);
  focused.current = focusedCard();
  useLayoutEffect(() => {
    const id = focused.current; // a card that moves to another column is drawn anew, and would lose the focus
    if (id && findCard(board, id) && !focusedCard()) elementOf(id)?.focus({ preventScroll: true });
  }, [board]);
  useEffect(() => {
    const at = cursor.get();
    if (at === null || !findCard(board, at)) cursor.set(firstCard(board));
  }, [board, cursor]);
  const press = (event: KeyboardEvent) => {
    const card = (event.target as Element).closest("[data-card]")?.getAttribute("data-card");
    if (!card || parts.drag.get() !== null || event.ctrlKey || event.metaKey || event.altKey) return;
    const next = neighborOf(board, card, event.key);
    if (next === null) return;
    event.preventDefault();
    focusCard(parts, board, next);
  };
  return (
    <BoardContext value={parts}>
      <Dragging parts={parts} board={latest} onDrop={onDrop}>
        {/* biome-ignore lint/a11y/noStaticElementInteractions: the cards in it have the focus */}
        <div
          onKeyDown={press}
          data-board
          className="flex h-full snap-x snap-mandatory gap-3 overflow-x-auto px-3 pb-3 md:snap-none"
        >
          {board.columns.map((column) => (
            <BoardColumn key={column.status} repo={repo} filter={filter} column={column} canDrag={canChange} />
          ))}
        </div>
      </Dragging>
    </BoardContext>
  );
}

/** Give a card the focus, wherever it is: it is drawn for that. */
function focusCard({ cursor, columns }: BoardParts, board: Board, id: string): void {
  flushSync(() => cursor.set(id));
  const column = board.columns.find(({ cards }) => cards.some((card) => card.id === id));
  if (column) columns.get(column.status)?.reveal(column.cards.findIndex((card) => card.id === id));
  const element = elementOf(id);
  element?.focus({ preventScroll: true });
  element?.closest("[data-column]")?.scrollIntoView?.({ block: "nearest", inline: "nearest" });
}

function elementOf(card: string): HTMLElement | null {
  return document.querySelector(`[data-card="${CSS.escape(card)}"]`);
}

type DraggingProps = {
  parts: BoardParts;
  board: { readonly current: Board };
  onDrop: OnDrop;
  children: React.ReactNode;
};

/** What makes cards draggable. The gap in question is in a store: only the columns that it concerns are drawn again. */
function Dragging({ parts, board, onDrop, children }: DraggingProps) {
  const { drag } = parts;
  const sensors = useSensors(
    useSensor(MouseSensor, { activationConstraint: { distance: 6 } }),
    useSensor(TouchSensor, { activationConstraint: { delay: 220, tolerance: 8 } }),
    useSensor(KeyboardSensor, {
      keyboardCodes: KEYS,
      scrollBehavior: "auto",
      coordinateGetter: useMemo(() => coordinatesIn(parts, board), [parts, board]),
    }),
  );
  const detect = useMemo(() => collisionsIn(parts), [parts]);
  const aim = ({ collisions }: { collisions: readonly { data?: { gap?: Gap } }[] | null }) => {
    const now = drag.get();
    const gap = collisions?.[0]?.data?.gap ?? null;
    if (now && (gap?.status !== now.gap?.status || gap?.index !== now.gap?.index)) drag.set({ ...now, gap });
  };
  const start = ({ active }: DragStartEvent) => {
    const card = findCard(board.current, String(active.id));
    if (!card) return;
    const cards = board.current.columns.find(({ status }) => status === card.status)?.cards ?? [];
    drag.set({ card, gap: { status: card.status, index: cards.indexOf(card) } });
  };
  const end = ({ activatorEvent }: DragEndEvent) => {
    const dropped = drag.get();
    drag.set(null);
    swallowClick();
    const card = dropped && findCard(board.current, dropped.card.id);
    if (!card || !dropped.gap) return;
    const { status, index } = dropped.gap;
    const cards = board.current.columns.find((column) => column.status === status)?.cards ?? [];
    onDrop(card, dropMeaning(card, status), placeAt(cards, status, index, card.id));
    if (activatorEvent instanceof globalThis.KeyboardEvent) setTimeout(() => focusCard(parts, board.current, card.id));
  };
  return (
    <DndContext
      id="how-to-drag"
      sensors={sensors}
      collisionDetection={detect}
      autoScroll={AUTO_SCROLL}
      accessibility={ACCESSIBILITY}
      onDragStart={start}
      onDragMove={aim}
      onDragOver={aim}
      onDragEnd={end}
      onDragCancel={() => {
        drag.set(null);
        swallowClick();
      }}
    >
      {children}
      <DragOverlay dropAnimation={null}>
        <Carried parts={parts} board={board} />
      </DragOverlay>
      <Spoken parts={parts} board={board} />
    </DndContext>
  );
}

const AUTO_SCROLL = { threshold: { x: 0.12, y: 0.15 }, acceleration: 6 };

/** What is announced is told by `Spoken`, which knows gaps; the library knows only columns. */
const SILENT = {
  onDragStart: () => undefined,
  onDragOver: () => undefined,
  onDragMove: () => undefined,
  onDragEnd: () => undefined,
  onDragCancel: () => undefined,
};
const ACCESSIBILITY = { announcements: SILENT, screenReaderInstructions: INSTRUCTIONS, restoreFocus: false };

/** The gap below the pointer; while keys move the card, the one that they lead to. */
function collisionsIn({ drag, columns }: BoardParts): CollisionDetection {
  return ({ pointerCoordinates, droppableContainers }) => {
    const found = pointerCoordinates ? gapBelow(pointerCoordinates) : (drag.get()?.gap ?? null);
    const container = droppableContainers.find(({ id }) => id === found?.status);
    return found && container ? [{ id: container.id, data: { droppableContainer: container, gap: found } }] : [];
  };

  function gapBelow({ x, y }: { x: number; y: number }): Gap | null {
    for (const status of STATUSES) {
      const column = columns.get(status);
      const rect = column?.rect();
      if (column && rect && x >= rect.left && x < rect.right) return { status, index: column.gapAt(y) };
    }
    return null;
  }
}

/** Arrow keys lead from gap to gap; the card is shown where it would begin there. */
function coordinatesIn({ drag, columns }: BoardParts, board: { readonly current: Board }): KeyboardCoordinateGetter {
  return (event) => {
    const now = drag.get();
    if (!now?.gap || !ARROWS.has(event.code)) return undefined;
    event.preventDefault();
    const gap = nextGap(board.current, now.card, now.gap, event.code);
    if (gap === null) return undefined;
    drag.set({ ...now, gap });
    columns.get(gap.status)?.reveal(gap.index);
    document.querySelector(`[data-column=${gap.status}]`)?.scrollIntoView?.({ block: "nearest", inline: "nearest" });
    return columns.get(gap.status)?.pointOf(gap.index);
  };
}

const ARROWS = new Set<string>([KeyboardCode.Up, KeyboardCode.Down, KeyboardCode.Left, KeyboardCode.Right]);

type CarriedProps = { parts: BoardParts; board: { readonly current: Board } };

const Carried = memo(function Carried({ parts: { drag }, board }: CarriedProps) {
  const id = useStore(drag, (now) => now?.card.id ?? null);
  const card = id === null ? undefined : findCard(board.current, id);
  return (
    card && (
      <div className={classNames(CARD_LOOK, "rotate-1 cursor-grabbing border-accent shadow-pop")}>
        <CardFace card={card} />
      </div>
    )
  );
});

/** Where the card would be dropped, for screen readers. */
const Spoken = memo(function Spoken({ parts: { drag }, board }: CarriedProps) {
  const words = useStore(drag, (now) =>
    now?.gap ? `Card ${now.card.number}: ${gapWords(board.current, now.card, now.gap)}` : null,
  );
  return (
    <p role="status" className="sr-only">
      {words}
    </p>
  );
});

/** The release of the button that ends a drag is no click on the link below it. */
function swallowClick(): void {
  const swallow = (event: Event) => event.preventDefault();
  window.addEventListener("click", swallow, { capture: true, once: true });
  setTimeout(() => window.removeEventListener("click", swallow, { capture: true }), 0);
}
