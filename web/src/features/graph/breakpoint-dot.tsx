import type { Mark } from "@/features/graph/box-state";
import { classNames } from "@/ui/class-names";

const LOOKS: Record<Mark, string> = {
  none: "border-breakpoint/50 opacity-0 group-hover/box:opacity-60 hover:opacity-100!",
  on: "border-breakpoint bg-breakpoint",
  conditional: "border-breakpoint bg-[linear-gradient(90deg,var(--breakpoint)_50%,transparent_50%)]",
  log: "rotate-45 rounded-none! border-breakpoint bg-transparent",
  off: "border-line-strong bg-line-strong",
};

type BreakpointDotProps = {
  mark: Mark;
  title: string /** Null for a user who may only look. */;
  onToggle: (() => void) | null;
  isInTabOrder?: boolean;
};

/** The place to click for a breakpoint: a ring on hover, filled where there is one. */
export function BreakpointDot({ mark, title, onToggle, isInTabOrder = false }: BreakpointDotProps) {
  const dot = <span className={classNames("size-2.5 rounded-full border-[1.5px] transition-opacity", LOOKS[mark])} />;
  if (onToggle === null) {
    return (
      <span className="flex h-full w-4 shrink-0 items-center justify-center">
        {mark !== "none" && dot}
        {mark !== "none" && <span className="sr-only">Breakpoint at {title}</span>}
      </span>
    );
  }
  return (
    <button
      type="button"
      tabIndex={isInTabOrder ? 0 : -1}
      aria-pressed={mark !== "none"}
      aria-label={`Breakpoint at ${title}`}
      title={mark === "none" ? "Add breakpoint" : "Remove breakpoint"}
      onClick={(event) => {
        event.stopPropagation();
        onToggle();
      }}
      className="nodrag nopan flex h-full w-4 shrink-0 items-center justify-center"
    >
      {dot}
    </button>
  );
}
