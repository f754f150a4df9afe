import type { Node, NodeProps } from "@xyflow/react";
import { ChevronDown, ChevronRight, RotateCcw, Syringe, Wrench } from "lucide-react";
import { memo } from "react";
import { callOf } from "@/core/addresses";
import { durationsOf } from "@/core/durations";
import type { Box } from "@/core/lanes";
import { hasGivenUp, toneOf, wordOf } from "@/core/status";
import { formatDuration } from "@/core/time";
import { type BoxState, isSameState } from "@/features/graph/box-state";
import { BreakpointDot } from "@/features/graph/breakpoint-dot";
import { classNames } from "@/ui/class-names";
import { useNow } from "@/ui/hooks";
import { StatusIcon } from "@/ui/status-icon";

export type BoxActions = {
  /** Null for a user who may only look. */
  onToggleBreakpoint: ((path: string) => void) | null;
  onToggleCollapse: (id: string) => void;
};

export type BoxNodeType = Node<{ box: Box; state: BoxState; actions: BoxActions }, "box">;

const BORDERS: Record<string, string> = {
  running: "border-running/60",
  paused: "border-paused-fill",
  passed: "border-line-strong",
  failed: "border-failed/70",
};

/** A step, or a frame around steps. It draws what it is given; only the time of what runs is its own. */
export const BoxNode = memo(
  function BoxNode({ data: { box, state, actions } }: NodeProps<BoxNodeType>) {
    return box.kind === "step" || box.isCollapsed ? (
      <Leaf box={box} state={state} actions={actions} />
    ) : (
      <Container box={box} state={state} actions={actions} />
    );
  },
  ({ data: one }, { data: other }) =>
    one.box === other.box && one.actions === other.actions && isSameState(one.state, other.state),
);

type PartProps = { box: Box; state: BoxState; actions: BoxActions };

function Leaf({ box, state, actions }: PartProps) {
  const tone = toneOf(state.status);
  return (
    <div
      data-box={box.id}
      data-status={state.status}
      className={classNames(
        "group/box relative flex items-center gap-2 rounded-md border bg-surface pr-2 pl-1 shadow-[0_1px_1px_rgb(0_0_0/4%)]",
        BORDERS[tone] ?? "border-line",
        tone === "waiting" && "text-muted",
        tone === "muted" && "opacity-75",
        box.isInjected && "border-dashed",
        state.isSelected && "ring-2 ring-accent/70",
        state.isActive && "hit bg-paused-soft ring-2 ring-paused-fill/70",
        box.follows &&
          "before:absolute before:bottom-full before:left-1/2 before:h-4.5 before:w-px before:bg-line-strong",
      )}
      style={{ width: box.width, height: box.height }}
    >
      {box.kind !== "lane" && <BreakpointDot mark={state.mark} title={box.title} onToggle={toggleOf(box, actions)} />}
      <StatusIcon status={state.status} />
      <span className="min-w-0 flex-1 truncate font-medium text-sm">{box.title}</span>
      {box.isInjected && <Syringe className="size-3 text-muted" aria-label="injected" />}
      <Calls state={state} />
      <Attempt box={box} />
      {box.isCollapsed ? <Fold box={box} actions={actions} /> : <Timing state={state} />}
    </div>
  );
}

function Container({ box, state, actions }: PartProps) {
  const tone = toneOf(state.status);
  return (
    <div
      data-box={box.id}
      data-status={state.status}
      className={classNames(
        "group/box relative rounded-lg border",
        box.kind === "lane" ? "bg-sunken/60" : "bg-surface/50",
        BORDERS[tone] ?? "border-line",
        box.kind === "group" && "border-dashed",
        state.isSelected && "ring-2 ring-accent/70",
        state.isActive && "ring-2 ring-paused-fill/70",
        box.follows &&
          "before:absolute before:bottom-full before:left-1/2 before:h-4.5 before:w-px before:bg-line-strong",
      )}
      style={{ width: box.width, height: box.height }}
    >
      <div className="flex h-8.5 items-center gap-2 pr-2 pl-1">
        {box.kind === "group" && (
          <BreakpointDot mark={state.mark} title={box.title} onToggle={toggleOf(box, actions)} />
        )}
        <span className={box.kind === "lane" ? "pl-1" : undefined}>
          <StatusIcon status={state.status} className="size-3.5" />
        </span>
        <span className="min-w-0 truncate font-medium text-sm">{box.title}</span>
        {box.turns > 0 ? (
          <span className="shrink-0 rounded-sm bg-sunken px-1 text-muted text-xs">iteration {box.turns}</span>
        ) : (
          box.kind === "group" && <span className="shrink-0 text-faint text-xs">{box.stepKind}</span>
        )}
        <Attempt box={box} />
        <span className="flex-1" />
        <Timing state={state} />
        <Fold box={box} actions={actions} />
      </div>
    </div>
  );
}

/** What a click on the dot of a box does. */
function toggleOf(box: Box, { onToggleBreakpoint }: BoxActions): (() => void) | null {
  return onToggleBreakpoint && (() => onToggleBreakpoint(box.path));
}

function Fold({ box, actions }: { box: Box; actions: BoxActions }) {
  const Icon = box.isCollapsed ? ChevronRight : ChevronDown;
  return (
    <button
      type="button"
      tabIndex={-1}
      aria-label={`${box.isCollapsed ? "Show" : "Hide"} the ${box.inside} steps in ${box.title}`}
      onClick={(event) => {
        event.stopPropagation();
        actions.onToggleCollapse(box.id);
      }}
      className="flex items-center gap-0.5 rounded-sm px-0.5 text-muted text-xs hover:bg-hover hover:text-text"
    >
      {box.isCollapsed && <span className="tabular">{box.inside}</span>}
      <Icon className="size-3.5" aria-hidden />
    </button>
  );
}

/** How many tools an agent has called; in the color of breakpoints where these wait for its calls. */
function Calls({ state: { calls, hasCallMark } }: { state: BoxState }) {
  if (calls === 0 && !hasCallMark) return null;
  const told = `${calls === 1 ? "1 tool call" : `${calls} tool calls`}${hasCallMark ? ", with breakpoints" : ""}`;
  return (
    <span
      title={told}
      className={classNames(
        "flex shrink-0 items-center gap-0.5 rounded-sm bg-sunken px-1 text-xs tabular",
        hasCallMark ? "text-breakpoint" : "text-muted",
      )}
    >
      <Wrench className="size-3" aria-label={told} />
      {calls > 0 && <span aria-hidden>{calls}</span>}
    </span>
  );
}

function Attempt({ box }: { box: Box }) {
  if (box.attempt === 1) return null;
  return (
    <span className="flex items-center gap-0.5 text-muted text-xs" title={`Attempt ${box.attempt}`}>
      <RotateCcw className="size-3" aria-hidden />
      {box.attempt}
    </span>
  );
}

function Timing({ state }: { state: BoxState }) {
  const isRunning = state.clock !== null && state.status === "running";
  const now = useNow(isRunning, 500);
  const call = state.stop && callOf(state.stop.occurrence);
  if (call) return <span className="shrink-0 font-medium text-paused text-xs">at call {call}</span>;
  if (state.stop) {
    if (hasGivenUp(state.stop.reasons)) return null; // it has an iteration in its place
    const isFailure = state.stop.position === "error";
    return (
      <span className={classNames("font-medium text-xs", isFailure ? "text-failed" : "text-paused")}>
        {isFailure ? "failed" : state.stop.position}
      </span>
    );
  }
  if (state.clock === null) return null;
  if (state.status === "skipped") return <span className="text-faint text-xs">{wordOf(state.status)}</span>;
  return (
    <span className="shrink-0 whitespace-nowrap text-faint text-xs tabular">
      {formatDuration(durationsOf(state.clock, now).ran)}
    </span>
  );
}
