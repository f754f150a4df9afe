import { useVirtualizer } from "@tanstack/react-virtual";
import { Plus } from "lucide-react";
import { type KeyboardEvent, memo, type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { type PatchLine, sideOf } from "@/core/patch-lines";
import type { Draft } from "@/features/card/note-drafts";
import type { FileNotes } from "@/features/card/note-places";
import { itemsOf, nextRow, type PatchItem } from "@/features/card/patch-items";
import { classNames } from "@/ui/class-names";

const MOST_AT_ONCE = 400; // rows; of more, only those to be seen are drawn
const LINE = 20; // pixels

type PatchViewProps = {
  path: string;
  rows: readonly PatchLine[];
  notes: FileNotes;
  drafts: readonly Draft[];
  /** Begin a note on a line; null if the user may only look. */
  onNote: ((row: PatchLine) => void) | null;
  drawThread: (item: Extract<PatchItem, { kind: "thread" }>) => ReactNode;
};

/** The changed lines of a file with their numbers on both sides, and the notes below them. */
export function PatchView({ path, rows, notes, drafts, onNote, drawThread }: PatchViewProps) {
  const items = useMemo(() => itemsOf(rows, notes, drafts), [rows, notes, drafts]);
  const [chosen, setChosen] = useState(0);
  const [wantsFocus, setWantsFocus] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const active = rows[chosen] && rows[chosen].kind !== "hunk" ? chosen : (nextRow(rows, -1, "Home") ?? 0);
  useEffect(() => {
    if (!wantsFocus) return;
    const button = box.current?.querySelector<HTMLElement>(`[data-row="${active}"]`);
    button?.focus();
    if (button) setWantsFocus(false);
  });
  const move = (event: KeyboardEvent<HTMLElement>) => {
    if (!(event.target instanceof HTMLElement) || event.target.dataset.row === undefined) return;
    const next = nextRow(rows, active, event.key);
    if (next === null) return;
    event.preventDefault();
    setChosen(next);
    setWantsFocus(true);
  };
  const draw = (item: PatchItem) =>
    item.kind === "row" ? (
      <Row row={item.row} at={item.at} isActive={item.at === active} onNote={onNote} />
    ) : (
      <div className="border-line border-y bg-sunken px-2 py-2 sm:pl-12">{drawThread(item)}</div>
    );
  const isLong = rows.length > MOST_AT_ONCE;
  return (
    <div
      ref={box}
      role="group"
      aria-label={`Lines of ${path}`}
      onKeyDown={move}
      className="border-line border-t bg-surface font-mono text-xs leading-5"
    >
      {isLong ? (
        <LongItems items={items} shown={wantsFocus ? active : null} draw={draw} />
      ) : (
        items.map((item) => <div key={item.key}>{draw(item)}</div>)
      )}
    </div>
  );
}

type LongItemsProps = {
  items: readonly PatchItem[];
  /** The row to bring into view. */
  shown: number | null;
  draw: (item: PatchItem) => ReactNode;
};

/** Many rows in a box that scrolls, of which only those to be seen are drawn. */
function LongItems({ items, shown, draw }: LongItemsProps) {
  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: items.length,
    getScrollElement: () => box.current,
    getItemKey: (index) => items[index]?.key ?? index,
    estimateSize: () => LINE,
    overscan: 20,
  });
  useEffect(() => {
    if (shown !== null) virtual.scrollToIndex(items.findIndex((item) => item.kind === "row" && item.at === shown));
  }, [shown, items, virtual]);
  const drawn = virtual.getVirtualItems();
  return (
    <div
      ref={box}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with keys
      tabIndex={0}
      role="group"
      aria-label="All lines"
      className="max-h-[70vh] overflow-y-auto overflow-x-hidden focus-visible:-outline-offset-2"
    >
      <div className="relative" style={{ height: virtual.getTotalSize() }}>
        <div className="absolute inset-x-0 top-0" style={{ transform: `translateY(${drawn[0]?.start ?? 0}px)` }}>
          {drawn.map(({ key, index }) => {
            const item = items[index];
            return (
              item && (
                <div key={key} data-index={index} ref={virtual.measureElement}>
                  {draw(item)}
                </div>
              )
            );
          })}
        </div>
      </div>
    </div>
  );
}

const LOOKS = { context: "", added: "bg-passed-soft", removed: "bg-failed-soft" } as const;
const SIGNS = { context: "", added: "+", removed: "−" } as const;
const COLUMNS =
  "grid grid-cols-[1.25rem_2.25rem_2.25rem_1rem_minmax(0,1fr)] sm:grid-cols-[1.25rem_3rem_3rem_1.25rem_minmax(0,1fr)]";

type RowProps = { row: PatchLine; at: number; isActive: boolean; onNote: ((row: PatchLine) => void) | null };

const Row = memo(function Row({ row, at, isActive, onNote }: RowProps) {
  if (row.kind === "hunk") {
    return (
      <div className={classNames(COLUMNS, "bg-sunken text-muted")}>
        <span className="col-start-5 truncate">
          @@ -{row.oldLine} +{row.newLine} @@ {row.text}
        </span>
      </div>
    );
  }
  const { kind, oldLine, newLine, text, lacksNewline } = row;
  const side = sideOf(row);
  return (
    <div className={classNames(COLUMNS, "group/line hover:bg-hover", LOOKS[kind])}>
      <span className="flex">
        {onNote && (
          <button
            type="button"
            data-row={at}
            tabIndex={isActive ? 0 : -1}
            aria-label={`Add a note on ${side === "old" ? `old line ${oldLine}` : `line ${newLine}`}`}
            className="flex size-5 items-center justify-center rounded-xs bg-accent text-accent-text opacity-0 focus-visible:opacity-100 group-hover/line:opacity-100 pointer-coarse:bg-transparent pointer-coarse:text-muted pointer-coarse:opacity-100"
            onClick={() => onNote(row)}
          >
            <Plus className="size-3.5" aria-hidden />
          </button>
        )}
      </span>
      <span className="select-none pr-1.5 text-right text-faint tabular">{oldLine}</span>
      <span className="select-none pr-1.5 text-right text-faint tabular">{newLine}</span>
      <span className={classNames("select-none", kind === "added" ? "text-passed" : "text-failed")}>{SIGNS[kind]}</span>
      <span className="whitespace-pre-wrap pr-2 text-text [overflow-wrap:anywhere]">
        {text}
        {lacksNewline && <span className="select-none font-sans text-muted"> (no newline at the end)</span>}
      </span>
    </div>
  );
});
