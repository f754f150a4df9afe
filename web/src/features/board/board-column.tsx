import { useDroppable } from "@dnd-kit/core";
import { defaultRangeExtractor, type Range, useVirtualizer } from "@tanstack/react-virtual";
import { memo, useCallback, useEffect, useRef } from "react";
import type { BoardFilter } from "@/api/card-client";
import { useColumn } from "@/api/card-queries";
import type { Column } from "@/api/types";
import { canDrop, columnTitle, type DropMeaning, dropMeaning } from "@/core/board-view";
import { useBoardParts } from "@/features/board/board-parts";
import { estimateHeight } from "@/features/board/card-face";
import { CardRow } from "@/features/board/card-row";
import { useStore } from "@/features/board/store";
import { Button } from "@/ui/button";
import { classNames } from "@/ui/class-names";

const GAP = 8; // pixels around cards
const BEYOND = 6; // cards that are drawn before they are to be seen
const NEAR_END = 15; // cards before the last one that is loaded

type BoardColumnProps = { repo: string; filter: BoardFilter; column: Column; canDrag: boolean };

/** A column of the board, of which only the cards to be seen are drawn. */
export const BoardColumn = memo(function BoardColumn({ repo, filter, column, canDrag }: BoardColumnProps) {
  const { status, cards, count, next } = column;
  const { drag, cursor } = useBoardParts();
  const more = useColumn(repo, filter, status);
  const isAccepting = useStore(drag, (now) => now === null || canDrop(now.card, status));
  const dropKind = useStore(drag, (now) => (now?.gap?.status === status ? dropMeaning(now.card, status).kind : null));
  const gap = useStore(drag, (now) => (now?.gap?.status === status ? now.gap.index : -1));
  const indexOf = (id: string | null | undefined) => (id ? cards.findIndex((card) => card.id === id) : -1);
  const current = useStore(cursor, indexOf);
  const dragged = useStore(drag, (now) => indexOf(now?.card.id));
  const { box, virtual } = useCardRows(column, current, dragged);
  const { setNodeRef } = useDroppable({ id: status });
  const end = virtual.range?.endIndex ?? 0;
  const { load, error } = more;
  useEffect(() => {
    if (next !== null && error === null && end >= cards.length - NEAR_END) load();
  }, [end, cards.length, next, error, load]);
  return (
    <section
      aria-labelledby={`column-${status}`}
      data-column={status}
      className={classNames(
        "flex h-full w-[min(82vw,20rem)] shrink-0 snap-center flex-col rounded-lg border bg-sunken/60 md:w-auto md:min-w-56 md:flex-1",
        dropKind !== null && dropKind !== "refused" ? "border-accent" : "border-line",
        !isAccepting && "opacity-45",
      )}
    >
      <header className="flex h-9 shrink-0 items-center gap-2 px-3">
        <h2 id={`column-${status}`} className="font-semibold">
          {columnTitle(status)}
        </h2>
        <span className="text-muted text-sm tabular">{count.toLocaleString("en-US")}</span>
        {dropKind && <span className="min-w-0 flex-1 truncate text-right text-accent text-sm">{HINTS[dropKind]}</span>}
      </header>
      <div ref={box} className="min-h-0 flex-1 overflow-y-auto overflow-x-hidden">
        <div ref={setNodeRef} className="relative min-h-full" style={{ height: virtual.getTotalSize() }}>
          {cards.length > 0 && (
            <ul aria-label={`${columnTitle(status)} cards`}>
              {virtual.getVirtualItems().map(({ index, start, key }) => {
                const card = cards[index];
                return (
                  card && (
                    <li
                      key={key}
                      ref={virtual.measureElement}
                      data-index={index}
                      aria-setsize={count}
                      aria-posinset={index + 1}
                      className="absolute inset-x-2 top-0"
                      style={{ transform: `translateY(${start}px)` }}
                    >
                      <CardRow card={card} canDrag={canDrag} />
                    </li>
                  )
                );
              })}
            </ul>
          )}
          {dropKind === "move" && (
            <div
              aria-hidden
              className="pointer-events-none absolute inset-x-2 h-0.5 rounded-full bg-accent"
              style={{ top: gapTop(virtual.measurementsCache, gap) }}
            />
          )}
        </div>
        {error && (
          <div className="p-2 text-center text-failed text-sm">
            <p className="mb-1">{error.message}</p>
            <Button size="sm" isBusy={more.isLoading} onClick={load}>
              Try again
            </Button>
          </div>
        )}
      </div>
    </section>
  );
});

const HINTS: Record<DropMeaning["kind"], string> = {
  move: "",
  start: "Drop to start",
  approve: "Drop to approve",
  reject: "Drop to reject",
  cancel: "Drop to cancel the run",
  refused: "Cannot be dropped here",
};

/** The cards of a column as rows that are drawn on demand; the ones that have the focus or are dragged always are. */
function useCardRows({ status, cards }: Column, ...kept: [current: number, dragged: number]) {
  const { columns } = useBoardParts();
  const box = useRef<HTMLDivElement>(null);
  const [current, dragged] = kept;
  const rangeExtractor = useCallback(
    (range: Range) => {
      const wanted = [current, dragged].filter((index) => index >= 0 && index < range.count);
      return [...new Set([...defaultRangeExtractor(range), ...wanted])].sort((one, other) => one - other);
    },
    [current, dragged],
  );
  const getItemKey = useCallback((index: number) => cards[index]?.id ?? index, [cards]);
  const estimateSize = useCallback((index: number) => estimateHeight(cards[index]), [cards]);
  const virtual = useVirtualizer({
    count: cards.length,
    getScrollElement: () => box.current,
    getItemKey, // another function makes all rows be measured again
    estimateSize,
    overscan: BEYOND,
    gap: GAP,
    paddingStart: GAP / 2,
    paddingEnd: GAP,
    rangeExtractor,
  });
  useEffect(() => {
    const rect = () => box.current?.getBoundingClientRect() ?? null;
    const scrolled = () => box.current?.scrollTop ?? 0;
    columns.set(status, {
      rect,
      gapAt: (y) => {
        const offset = y - (rect()?.top ?? 0) + scrolled();
        const item = virtual.getVirtualItemForOffset(offset);
        return item === undefined ? 0 : offset > item.start + item.size / 2 ? item.index + 1 : item.index;
      },
      pointOf: (index) => {
        const { left = 0, top = 0 } = rect() ?? {};
        return { x: left + GAP, y: top - scrolled() + gapTop(virtual.measurementsCache, index) };
      },
      reveal: (index) => virtual.scrollToIndex(Math.min(index, virtual.options.count - 1), { align: "auto" }),
    });
    return () => void columns.delete(status);
  }, [columns, status, virtual]);
  return { box, virtual };
}

/** Where the middle of a gap is in the list. */
function gapTop(rows: readonly { start: number; end: number }[], index: number): number {
  const row = rows[index];
  return row ? row.start - GAP / 2 - 1 : (rows.at(-1)?.end ?? 0) + GAP / 2 - 1;
}
