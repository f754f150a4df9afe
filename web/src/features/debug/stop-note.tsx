import { useEffect, useState } from "react";
import { titleOfPlace, useRun, useRunValue } from "@/api/run-context";
import { hostOf } from "@/core/addresses";
import type { StepView } from "@/core/run-view";
import { hasGivenUp, tellReasons } from "@/core/status";
import { formatClock, formatDuration } from "@/core/time";
import { Button } from "@/ui/button";
import { classNames } from "@/ui/class-names";
import { useNow } from "@/ui/hooks";

const POSITIONS = { before: "Paused before", after: "Paused after", error: "" };
const SOON = 600; // seconds before the end of a lease in which it is told of

/** Where the selected frame stands and why; one line that is always there, so that nothing jumps. */
export function StopNote() {
  const { detail, stop, pending, filesProgress, select, act, isViewer } = useRun(
    "detail",
    "stop",
    "pending",
    "filesProgress",
    "select",
    "act",
    "isViewer",
  );
  const clock = useNow(stop !== null, 5000);
  const [isSlow, setSlow] = useState(false);
  const state = useRunValue(({ frame, frames }) => frames.find((each) => each.id === frame)?.state);
  const hasAgentAtWork = useRunValue(({ view, frame }) =>
    [...view.agents.keys()].some((each) => isAtWork(view.steps.get(each), frame)),
  );
  useEffect(() => {
    setSlow(false);
    const timer = setTimeout(() => setSlow(pending !== null), 400);
    return () => clearTimeout(timer);
  }, [pending]);
  if (!stop && filesProgress !== null) return <FilesNote text={filesProgress} />;
  if (!stop) {
    const pausing = hasAgentAtWork ? "Will pause at the next tool call or step" : "Will pause after the current step";
    const told = state === "pausing" ? pausing : state === "done" ? "This frame has ended" : "Running";
    return (
      <span className="min-h-6 px-1 text-muted max-md:basis-full">{isSlow ? "Waiting for the server" : told}</span>
    );
  }
  const title = titleOfPlace(detail, stop.step, stop.call);
  const reasons = stop.reasons.filter((each) => each !== "failure"); // the status says that it failed
  const hasFailed = stop.position === "error" && !hasGivenUp(stop.reasons);
  const left = stop.lease_ends_at === null ? null : stop.lease_ends_at - clock;
  return (
    <span className="flex min-h-6 min-w-0 flex-wrap items-center gap-x-2 max-md:basis-full">
      <span role="status" className={hasFailed ? "text-failed" : "text-paused"}>
        {stop.reasons.includes("completed")
          ? "Paused at the end of"
          : hasGivenUp(stop.reasons)
            ? "Paused at"
            : POSITIONS[stop.position]}{" "}
        <button
          type="button"
          className="min-w-5 font-semibold hover:underline"
          onClick={() => select(hostOf(stop.occurrence))}
        >
          {title}
        </button>
        {hasFailed && " failed"}
      </span>
      <span className="text-muted text-sm">
        {tellReasons(reasons)}
        {reasons.length > 0 && stop.breakpoints.length > 0 && ` ${stop.breakpoints.map((id) => `#${id}`).join(" ")}`}
        {stop.notes.length > 0 && ` · ${stop.notes.join(" · ")}`}
        {!stop.will_run && " · condition is false, will be skipped"}
      </span>
      {left !== null && (
        <span
          className={classNames(
            "flex items-center gap-1 text-sm",
            left < SOON ? "text-paused" : "text-faint max-md:hidden",
          )}
        >
          {left < SOON
            ? `times out in ${formatDuration(left)}`
            : `until ${formatClock(stop.lease_ends_at ?? 0).slice(0, 5)}`}
          {!isViewer && (
            <Button size="sm" look="quiet" onClick={() => act("extend", { seconds: 3600 })}>
              Extend 1 h
            </Button>
          )}
        </span>
      )}
    </span>
  );
}

function isAtWork(step: StepView | undefined, frame: string | null): boolean {
  return step?.frame === frame && step.ended_at === null;
}

/** How far the files of the workspace are. Only what is done with them is read aloud, not each number. */
function FilesNote({ text }: { text: string }) {
  const told = text.charAt(0).toUpperCase() + text.slice(1);
  return (
    <span className="min-h-6 px-1 text-muted tabular max-md:basis-full">
      <span role="status" className="sr-only">
        {told.split(":")[0]}
      </span>
      <span aria-hidden>{told}</span>
    </span>
  );
}
