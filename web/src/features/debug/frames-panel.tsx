import { Pause, Play } from "lucide-react";
import { titleOfPlace, useRun } from "@/api/run-context";
import { hostOf } from "@/core/addresses";
import type { FrameView } from "@/core/run-view";
import { tellPlace, wordOf } from "@/core/status";
import { IconButton } from "@/ui/button";
import { classNames } from "@/ui/class-names";
import { Empty } from "@/ui/feedback";
import { StatusIcon } from "@/ui/status-icon";

/** The frames as a tree: who opened whom, who stands still and where. */
export function FramesPanel() {
  const page = useRun(
    "frames",
    "stops",
    "debug",
    "frame",
    "selectFrame",
    "select",
    "act",
    "isLive",
    "isViewer",
    "detail",
  );
  const { frames, stops, frame: active, selectFrame, select, act, isLive, isViewer, detail } = page;
  const depths = depthsOf(frames);
  const at = new Map(page.debug?.frames.map((frame) => [frame.id, frame.step]));
  if (frames.length === 0) return <Empty title="No frames yet" />;
  return (
    <ul aria-label="Frames" className="h-full overflow-auto py-1">
      {frames.map((frame) => {
        const stop = stops.find((each) => each.frame === frame.id);
        const step = stop?.step ?? at.get(frame.id);
        return (
          <li
            key={frame.id}
            className={classNames(
              "flex items-center gap-2 pr-2",
              frame.id === active ? "bg-accent-soft" : "hover:bg-hover",
            )}
          >
            <button
              type="button"
              aria-current={frame.id === active}
              className="flex min-w-0 flex-1 items-center gap-2 py-1 text-left"
              style={{ paddingLeft: 12 + (depths.get(frame.id) ?? 0) * 16 }}
              onClick={() => {
                selectFrame(frame.id);
                if (stop) select(hostOf(stop.occurrence));
              }}
            >
              <StatusIcon status={frame.state} className="size-3.5" />
              <span className={classNames("shrink-0 font-medium", frame.state === "done" && "text-muted")}>
                {frame.name}
              </span>
              <span className="min-w-0 truncate text-muted text-sm">
                {stop
                  ? `paused ${tellPlace(stop.position, titleOfPlace(detail, stop.step, stop.call), stop.reasons)}`
                  : frame.state === "done"
                    ? (frame.ended_because ?? "ended")
                    : step
                      ? `at ${titleOfPlace(detail, step)}`
                      : wordOf(frame.state)}
              </span>
            </button>
            {stop && !isViewer && (
              <IconButton size="sm" label={`Continue ${frame.name}`} onClick={() => act("continue", { stop: stop.id })}>
                <Play className="size-3.5 text-passed" />
              </IconButton>
            )}
            {isLive && !isViewer && frame.state === "running" && (
              <IconButton size="sm" label={`Pause ${frame.name}`} onClick={() => act("pause", { frame: frame.id })}>
                <Pause className="size-3.5" />
              </IconButton>
            )}
          </li>
        );
      })}
    </ul>
  );
}

function depthsOf(frames: readonly FrameView[]): Map<string, number> {
  const depths = new Map<string, number>();
  for (const frame of frames) {
    depths.set(frame.id, frame.parent === null ? 0 : (depths.get(frame.parent) ?? 0) + 1);
  }
  return depths;
}
