import { ChevronDown, ChevronRight } from "lucide-react";
import { type KeyboardEvent, useEffect, useMemo, useState } from "react";
import { stepOf } from "@/api/run-context";
import type { StopInfo } from "@/api/types";
import { callOf } from "@/core/addresses";
import { durationsOf } from "@/core/durations";
import type { Box } from "@/core/lanes";
import { hasGivenUp, wordOf } from "@/core/status";
import { formatDuration } from "@/core/time";
import type { BoxState } from "@/features/graph/box-state";
import { BreakpointDot } from "@/features/graph/breakpoint-dot";
import { toggled } from "@/features/graph/navigation";
import { useBoxes } from "@/features/graph/use-boxes";
import { useStepMenu } from "@/features/graph/use-step-menu";
import { classNames } from "@/ui/class-names";
import { Empty } from "@/ui/feedback";
import { SearchInput } from "@/ui/field";
import { useNow } from "@/ui/hooks";
import { ContextMenu, openMenuOf } from "@/ui/menu";
import { PanelBar } from "@/ui/panel";
import { StatusIcon } from "@/ui/status-icon";
import { useVirtualRows } from "@/ui/virtual-rows";

const ROW = 30;

type StepListProps = { collapsed: ReadonlySet<string>; onCollapse: (collapsed: ReadonlySet<string>) => void };

/** The steps as a tree in one column: the same as the graph, for those who read, search or use a screen reader. */
export function StepList({ collapsed, onCollapse }: StepListProps) {
  const { layout, states, detail, selected, select, toggleBreakpoint, isViewer } = useBoxes(collapsed);
  const [search, setSearch] = useState("");
  const { menuItems, openMenuFor } = useStepMenu();
  const rows = useMemo(() => {
    const wanted = search.trim().toLowerCase();
    if (!wanted) return layout.boxes;
    return layout.boxes.filter((box) => `${box.title} ${box.path} ${box.stepKind}`.toLowerCase().includes(wanted));
  }, [layout, search]);
  const { box, virtual } = useVirtualRows(rows.length, ROW);
  const at = rows.findIndex((row) => row.occurrence === selected);

  // biome-ignore lint/correctness/useExhaustiveDependencies: only another selection scrolls, not another list
  useEffect(() => {
    if (at >= 0) virtual.scrollToIndex(at);
  }, [selected]);

  const toggle = (row: Box) => {
    const step = stepOf(detail, row.path);
    if (step) toggleBreakpoint(step);
  };
  const press = (event: KeyboardEvent) => {
    const row = rows[at];
    const to = {
      ArrowDown: Math.min(at + 1, rows.length - 1),
      ArrowUp: Math.max(at - 1, 0),
      Home: 0,
      End: rows.length - 1,
    }[event.key];
    if (to !== undefined) select(rows[to]?.occurrence ?? null);
    else if (row && event.key === "ArrowLeft" && row.kind !== "step" && !row.isCollapsed)
      onCollapse(toggled(collapsed, row.id));
    else if (row && event.key === "ArrowRight" && row.isCollapsed) onCollapse(toggled(collapsed, row.id));
    else if (row && (event.key === " " || event.key === "Enter")) toggle(row);
    else if (row && event.key === "m") openMenuOf(document.getElementById(`step-row-${at}`));
    else return;
    event.preventDefault();
  };
  return (
    <div className="flex h-full flex-col">
      <PanelBar>
        <SearchInput label="Search steps" value={search} onText={setSearch} />
      </PanelBar>
      {rows.length === 0 && <Empty title="No matching steps" />}
      <ContextMenu items={menuItems} className={rows.length === 0 ? "hidden" : "min-h-0 flex-1"}>
        <div
          ref={box}
          role="tree"
          aria-label="Steps"
          tabIndex={0}
          aria-activedescendant={at >= 0 ? `step-row-${at}` : undefined}
          onKeyDown={press}
          className="h-full overflow-auto focus-visible:outline-2 focus-visible:-outline-offset-2"
        >
          <div role="presentation" className="relative" style={{ height: virtual.getTotalSize() }}>
            {virtual.getVirtualItems().map((item) => {
              const row = rows[item.index];
              if (!row) return null;
              return (
                <Row
                  key={row.id}
                  id={`step-row-${item.index}`}
                  row={row}
                  top={item.start}
                  state={states(row)}
                  detail={row.kind === "lane" ? "" : (stepOf(detail, row.path)?.detail ?? "")}
                  onSelect={() => select(row.occurrence)}
                  onMenu={() => openMenuFor(row)}
                  onToggle={isViewer ? null : () => toggle(row)}
                  onFold={() => onCollapse(toggled(collapsed, row.id))}
                />
              );
            })}
          </div>
        </div>
      </ContextMenu>
    </div>
  );
}

type RowProps = {
  id: string;
  row: Box;
  top: number;
  state: BoxState;
  detail: string;
  onSelect: () => void;
  onMenu: () => void;
  onToggle: (() => void) | null;
  onFold: () => void;
};

function Row({ id, row, top, state, detail, onSelect, onMenu, onToggle, onFold }: RowProps) {
  const isFoldable = row.kind !== "step";
  const Chevron = row.isCollapsed ? ChevronRight : ChevronDown;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree has the keys
    // biome-ignore lint/a11y/useFocusableInteractive: the tree has the focus and names its active row
    <div
      id={id}
      role="treeitem"
      aria-level={row.depth + 1}
      aria-selected={state.isSelected}
      aria-expanded={isFoldable ? !row.isCollapsed : undefined}
      data-status={state.status}
      onClick={onSelect}
      onContextMenuCapture={onMenu}
      className={classNames(
        "group/box absolute inset-x-0 flex items-center gap-2 pr-3 pl-1",
        state.isSelected ? "bg-accent-soft" : "hover:bg-hover",
        state.stop && "bg-paused-soft",
      )}
      style={{ height: ROW, top }}
    >
      {row.kind === "lane" ? (
        <span className="w-4" />
      ) : (
        <BreakpointDot mark={state.mark} title={row.title} onToggle={onToggle} />
      )}
      <span style={{ width: row.depth * 16 }} className="shrink-0" />
      {isFoldable ? (
        <button type="button" tabIndex={-1} aria-hidden onClick={onFold} className="-mx-1 text-muted">
          <Chevron className="size-3.5" />
        </button>
      ) : (
        <span className="-mx-1 w-3.5 shrink-0" />
      )}
      <StatusIcon status={state.status} className="size-3.5" />
      <span className="shrink-0 font-medium">{row.title}</span>
      <span className="sr-only">{wordOf(state.status)}</span>
      <span className="shrink-0 text-faint text-sm">{row.stepKind}</span>
      <span className="min-w-0 flex-1 truncate font-mono text-faint text-xs">{detail}</span>
      {state.calls > 0 && (
        <span className="text-muted text-sm tabular">{state.calls === 1 ? "1 call" : `${state.calls} calls`}</span>
      )}
      {row.attempt > 1 && <span className="text-muted text-sm">attempt {row.attempt}</span>}
      <RowTime state={state} />
    </div>
  );
}

function wordsFor({ occurrence, position, reasons }: StopInfo): string {
  const call = callOf(occurrence);
  if (call !== null) return `paused at call ${call}`;
  if (hasGivenUp(reasons)) return "paused, gave up";
  return position === "error" ? "paused, failed" : `paused ${position}`;
}

function RowTime({ state }: { state: BoxState }) {
  const isRunning = state.status === "running" && state.clock !== null;
  const now = useNow(isRunning, 500);
  if (state.stop) return <span className="font-medium text-paused text-sm">{wordsFor(state.stop)}</span>;
  if (state.clock === null) return null;
  return <span className="text-muted text-sm tabular">{formatDuration(durationsOf(state.clock, now).ran)}</span>;
}
