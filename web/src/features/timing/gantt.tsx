import { type KeyboardEvent, useMemo } from "react";
import { stepOf, useRun } from "@/api/run-context";
import { durationsOf, pausesOf } from "@/core/durations";
import type { StepView } from "@/core/run-view";
import { toneOf, wordOf } from "@/core/status";
import { formatDuration } from "@/core/time";
import { classNames } from "@/ui/class-names";
import { Empty } from "@/ui/feedback";
import { useNow } from "@/ui/hooks";
import { StatusIcon } from "@/ui/status-icon";
import { useVirtualRows } from "@/ui/virtual-rows";

const ROW = 26;
const BARS: Record<string, string> = {
  passed: "bg-passed/75",
  failed: "bg-failed/80",
  running: "bg-running/80",
  muted: "bg-line-strong",
};
const COLUMNS = "grid-cols-[clamp(7rem,30%,16rem)_minmax(0,1fr)_4.5rem]"; // the step, its bar, its time

/** When each step ran, and for how long it was paused: a bar per occurrence, with pauses hatched apart. */
export function Gantt() {
  const { view, version, detail, selected, select, isLive } = useRun(
    "view",
    "version",
    "detail",
    "selected",
    "select",
    "isLive",
  );
  const clock = useNow(isLive, 500);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` tells when what is read from `view` has changed
  const steps = useMemo(
    () => [...view.steps.values()].sort((one, other) => one.started_event - other.started_event),
    [view, version],
  );
  const { box, virtual } = useVirtualRows(steps.length, ROW);
  const from = view.started_at ?? 0;
  const to = Math.max(from + 0.001, view.ended_at ?? clock);
  if (steps.length === 0) return <Empty title="No step has started yet" />;
  const at = steps.findIndex((step) => step.occurrence === selected);
  const press = (event: KeyboardEvent) => {
    const next = { ArrowDown: at + 1, ArrowUp: at - 1 }[event.key];
    const step = next === undefined ? undefined : steps[next];
    if (!step) return;
    event.preventDefault();
    select(step.occurrence);
    virtual.scrollToIndex(next ?? 0);
  };
  return (
    <div className="flex h-full flex-col">
      <Scale seconds={to - from} />
      <div
        ref={box}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys walk the bars
        tabIndex={0}
        role="group"
        aria-label="Timeline of the steps"
        onKeyDown={press}
        className="min-h-0 flex-1 overflow-auto focus-visible:outline-2 focus-visible:-outline-offset-2"
      >
        <div className="relative" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => {
            const step = steps[item.index];
            if (!step) return null;
            return (
              <button
                type="button"
                tabIndex={-1}
                key={step.occurrence}
                onClick={() => select(step.occurrence)}
                className={classNames(
                  "absolute inset-x-0 grid items-center gap-3 px-3 text-left",
                  COLUMNS,
                  step.occurrence === selected ? "bg-accent-soft" : "hover:bg-hover",
                )}
                style={{ height: ROW, top: item.start }}
              >
                <span className="flex min-w-0 items-center gap-1.5">
                  <StatusIcon status={step.status} className="size-3.5" />
                  <span className="truncate text-sm" title={step.occurrence}>
                    {stepOf(detail, step.step)?.title ?? step.step}
                    {step.occurrence !== step.step && <span className="text-faint"> {step.occurrence}</span>}
                  </span>
                </span>
                <Bar step={step} from={from} to={to} />
                <span className="text-right text-muted text-sm tabular">
                  {formatDuration(durationsOf(step.clock, to).ran)}
                </span>
              </button>
            );
          })}
        </div>
      </div>
      <p className="border-line border-t px-3 py-1.5 text-muted text-sm">
        <span className="mr-1 inline-block h-2.5 w-5 rounded-xs bg-line-strong align-middle" /> running (colored by
        result)
        <span className="mr-1 ml-4 inline-block h-2.5 w-5 rounded-xs align-middle hatched" /> paused (excluded from
        timeouts)
      </p>
    </div>
  );
}

function Bar({ step, from, to }: { step: StepView; from: number; to: number }) {
  const share = (at: number) => `${(100 * (at - from)) / (to - from)}%`;
  const width = (one: number, other: number) => `max(3px, ${(100 * (other - one)) / (to - from)}%)`;
  const { began_at, ended_at } = step.clock;
  if (ended_at !== null && ended_at < from)
    return <span className="truncate text-faint text-sm">in the run before</span>;
  const { paused } = durationsOf(step.clock, to);
  const told = `${wordOf(step.status)}${paused > 0 ? `, paused for ${formatDuration(paused)}` : ""}`;
  return (
    <span className="relative h-3.5" title={told}>
      <span
        className={classNames("absolute inset-y-0 rounded-xs", BARS[toneOf(step.status)] ?? "bg-line-strong")}
        style={{ left: share(began_at), width: width(began_at, ended_at ?? to) }}
      />
      {pausesOf(step.clock, to).map(([one, other]) => (
        <span
          key={one}
          className="hatched absolute inset-y-0 rounded-xs"
          style={{ left: share(one), width: width(one, other) }}
        />
      ))}
    </span>
  );
}

function Scale({ seconds }: { seconds: number }) {
  const marks = [0, 0.25, 0.5, 0.75, 1];
  return (
    <div
      className={classNames("grid shrink-0 gap-3 border-line border-b px-3 py-1.5 text-faint text-xs tabular", COLUMNS)}
    >
      <span>Step</span>
      <span className="flex justify-between">
        {marks.map((mark) => (
          <span key={mark} className={mark % 0.5 === 0 ? undefined : "max-md:hidden"}>
            {formatDuration(seconds * mark)}
          </span>
        ))}
      </span>
      <span className="text-right">Time</span>
    </div>
  );
}
