import type { Board } from "@/api/types";
import { columnTitle } from "@/core/board-view";

/** On a phone, where one column is seen at a time: leads to each of them. */
export function ColumnChooser({ board }: { board: Board }) {
  return (
    <nav aria-label="Columns" className="flex flex-wrap gap-1 px-3 pb-2 md:hidden">
      {board.columns.map(({ status, count }) => (
        <button
          key={status}
          type="button"
          onClick={() => showColumn(status)}
          className="flex h-7 shrink-0 items-center gap-1.5 rounded-md border border-line px-2 text-sm hover:bg-hover"
        >
          {columnTitle(status)}
          <span className="text-muted tabular">{count.toLocaleString("en-US")}</span>
        </button>
      ))}
    </nav>
  );
}

function showColumn(status: string): void {
  document.querySelector(`[data-column=${status}]`)?.scrollIntoView({ block: "nearest", inline: "center" });
}
