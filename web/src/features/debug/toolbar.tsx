import {
  ArrowDownToDot,
  ArrowUpFromDot,
  FastForward,
  Pause,
  Play,
  Redo2,
  RedoDot,
  RotateCcw,
  SkipForward,
  Undo2,
} from "lucide-react";
import { titleOfPlace, useRun } from "@/api/run-context";
import type { StepKind } from "@/api/types";
import { keysOf } from "@/core/keys";
import { labelsAt } from "@/features/debug/call-labels";
import { FrameSelector } from "@/features/debug/frame-selector";
import { StopNote } from "@/features/debug/stop-note";
import { Button, IconButton } from "@/ui/button";

/** The debugger in one row. The buttons come first and are always there, so that none of them ever moves. */
export function DebugToolbar() {
  const page = useRun(
    "stepBack",
    "stepForward",
    "answerCall",
    "detail",
    "frames",
    "stops",
    "pending",
    "frame",
    "selectFrame",
    "stop",
    "act",
    "isLive",
    "isViewer",
  );
  const { frames, stops, pending, frame, selectFrame, stop, act, stepBack, stepForward, detail, isLive, isViewer } =
    page;
  const isPausing = frames.some((each) => each.state === "pausing");
  const canPause = frames.some((each) => each.state === "running");
  const can = (verb: string) => (stop?.allowed.includes(verb) ?? false) && pending === null;
  const { back, forward } = stop ?? {};
  const titleOf = (path: string) => titleOfPlace(detail, path);
  const labels = labelsAt(stop);
  const step = (kind: StepKind) => stop && act("step", { stop: stop.id, kind });
  const others = stops.filter((each) => each.frame !== frame);
  if (!isLive) return null;
  return (
    <div
      role="toolbar"
      aria-label="Debugger"
      className="flex min-h-10 flex-wrap items-center gap-x-1 gap-y-0.5 border-line border-b bg-surface px-3 py-1"
    >
      {!isViewer && (
        <>
          <IconButton
            label={labels.continue}
            keys={keysOf("continue")}
            disabled={!can("continue")}
            isBusy={pending === "continue"}
            onClick={() => stop && act("continue", { stop: stop.id })}
          >
            <Play className="size-4 text-passed" />
          </IconButton>
          <IconButton
            label={stops.length > 1 ? `Continue all ${stops.length} paused frames` : "Continue all paused frames"}
            disabled={stops.length < 2 || pending !== null}
            onClick={() => act("continue", { all: true })}
          >
            <FastForward className="size-4 text-passed" />
          </IconButton>
          <IconButton
            label={isPausing ? "Cancel the pending pause" : "Pause all frames"}
            keys={keysOf("pause")}
            isPressed={isPausing}
            disabled={!canPause && !isPausing}
            isBusy={pending === "pause" || pending === "cancel_pause"}
            onClick={() => act(isPausing ? "cancel_pause" : "pause", {})}
          >
            <Pause className="size-4" />
          </IconButton>
          <span className="mx-1 h-5 w-px bg-line" />
          <IconButton
            label={labels.over}
            keys={keysOf("over")}
            disabled={!can("step_over")}
            onClick={() => step("over")}
          >
            <RedoDot className="size-4" />
          </IconButton>
          <IconButton label="Step into" keys={keysOf("into")} disabled={!can("step_into")} onClick={() => step("into")}>
            <ArrowDownToDot className="size-4" />
          </IconButton>
          <IconButton label={labels.out} keys={keysOf("out")} disabled={!can("step_out")} onClick={() => step("out")}>
            <ArrowUpFromDot className="size-4" />
          </IconButton>
          <IconButton
            label="Step back"
            hint={back && `to ${titleOf(back.step)}${back.steps > 1 ? `, ${back.steps} steps` : ""}`}
            keys={keysOf("back")}
            disabled={!back || pending !== null}
            onClick={stepBack}
          >
            <Undo2 className="size-4" />
          </IconButton>
          <IconButton
            label="Undo step back"
            hint={forward && `return to ${titleOf(forward.step)}`}
            disabled={!forward || pending !== null}
            isBusy={pending === "forward"}
            onClick={stepForward}
          >
            <Redo2 className="size-4" />
          </IconButton>
          <span className="mx-1 h-5 w-px bg-line" />
          <IconButton
            label="Retry step"
            keys={keysOf("retry")}
            disabled={!can("retry")}
            isBusy={pending === "retry"}
            onClick={() => stop && act("retry", { stop: stop.id })}
          >
            <RotateCcw className="size-4" />
          </IconButton>
          <IconButton
            label={labels.skip}
            disabled={!can("skip")}
            isBusy={pending === "skip"}
            onClick={() => (stop?.call ? page.answerCall("refuse") : stop && act("skip", { stop: stop.id }))}
          >
            <SkipForward className="size-4" />
          </IconButton>
          <span className="mx-1 hidden h-5 w-px bg-line md:block" />
        </>
      )}
      <StopNote />
      <span className="flex min-h-7 items-center gap-1 max-md:basis-full md:ml-auto">
        {others.length > 0 && (
          <Button
            size="sm"
            look="quiet"
            className="text-paused!"
            onClick={() => others[0] && selectFrame(others[0].frame)}
            title={others.map((each) => `${each.frame} at ${titleOfPlace(detail, each.step, each.call)}`).join("\n")}
          >
            {stop ? `${others.length} more paused` : `Show ${others[0]?.frame} (paused)`}
          </Button>
        )}
        <FrameSelector frames={frames} stops={stops} active={frame} onSelect={selectFrame} />
      </span>
    </div>
  );
}
