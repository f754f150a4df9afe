import { ChevronsUpDown } from "lucide-react";
import type { StopInfo } from "@/api/types";
import type { FrameView } from "@/core/run-view";
import { classNames } from "@/ui/class-names";
import { Menu } from "@/ui/menu";
import { StatusIcon } from "@/ui/status-icon";

type FrameSelectorProps = {
  frames: readonly FrameView[];
  stops: readonly StopInfo[];
  active: string | null;
  onSelect: (frame: string) => void;
};

const MOST_AS_BUTTONS = 4;

/** Which frame the toolbar steers: buttons while they are few, a menu when they are many. */
export function FrameSelector({ frames, stops, active, onSelect }: FrameSelectorProps) {
  const living = frames.filter((frame) => frame.state !== "done" || frame.id === active);
  if (living.length <= MOST_AS_BUTTONS) {
    return (
      <div role="group" aria-label="Frames" className="flex flex-wrap items-center gap-1">
        {living.map((frame) => (
          <button
            key={frame.id}
            type="button"
            aria-pressed={frame.id === active}
            title={`${frame.id}: ${frame.state}`}
            onClick={() => onSelect(frame.id)}
            className={classNames(
              "flex h-6 max-w-44 items-center gap-1.5 rounded-md border px-1.5 font-medium text-sm",
              frame.id === active ? "border-accent bg-accent-soft text-text" : "border-line text-muted hover:bg-hover",
            )}
          >
            <StatusIcon status={frame.state} className="size-3.5" />
            <span className="truncate">{frame.name}</span>
          </button>
        ))}
      </div>
    );
  }
  const current = frames.find((frame) => frame.id === active);
  const isStopped = (frame: FrameView) => stops.some((stop) => stop.frame === frame.id);
  const inOrder = [...living].sort((one, other) => Number(isStopped(other)) - Number(isStopped(one)));
  return (
    <Menu
      trigger={
        <button
          type="button"
          className="flex h-6.5 max-w-64 items-center gap-1.5 rounded-md border border-line-strong px-2 font-medium text-sm hover:bg-hover"
        >
          <StatusIcon status={current?.state ?? "waiting"} className="size-3.5" />
          <span className="truncate">{current?.name ?? "No frames"}</span>
          <span className="text-faint tabular">
            {stops.length}/{living.length}
          </span>
          <ChevronsUpDown className="size-3 text-muted" />
        </button>
      }
      items={inOrder.slice(0, 30).map((frame) => ({
        label: `${frame.name}${isStopped(frame) ? " · paused" : ""}`,
        icon: <StatusIcon status={frame.state} className="size-3.5" />,
        onSelect: () => onSelect(frame.id),
      }))}
    />
  );
}
