import { CircleAlert, Hand, Inbox, Pin } from "lucide-react";
import { Link } from "wouter";
import type { RunInfo } from "@/api/types";
import { isEnded, toneOf, wordOf } from "@/core/status";
import { formatAgo, formatDuration, formatMoment } from "@/core/time";
import { originWords } from "@/features/runs/run-origin";
import { classNames } from "@/ui/class-names";
import { Skeleton } from "@/ui/feedback";
import { useNow } from "@/ui/hooks";
import { Badge, StatusIcon } from "@/ui/status-icon";

const BARS: Record<string, string> = {
  passed: "bg-passed/50",
  failed: "bg-failed/55",
  running: "bg-running/60",
  paused: "bg-paused-fill/70",
  muted: "bg-line-strong",
  waiting: "bg-line",
};

type RunListProps = { runs: readonly RunInfo[] };

/** The runs, newest first: what each is, how it stands, and how long it took beside the others. */
export function RunList({ runs }: RunListProps) {
  const now = useNow(true);
  const longest = Math.max(0.001, ...runs.map((run) => secondsOf(run, now)));
  return (
    <ul aria-label="Runs" className="divide-y divide-line">
      {runs.map((run) => (
        <li key={run.id}>
          <Row run={run} now={now} longest={longest} />
        </li>
      ))}
    </ul>
  );
}

function Row({ run, now, longest }: { run: RunInfo; now: number; longest: number }) {
  const seconds = secondsOf(run, now);
  const failure = run.failures[0];
  const origin = originWords(run);
  return (
    <Link
      href={`/runs/${run.id}`}
      className="grid grid-cols-[1.25rem_minmax(0,1fr)_auto] items-center gap-x-3 px-4 py-2 hover:bg-hover focus-visible:-outline-offset-2 md:grid-cols-[1.25rem_minmax(0,1fr)_10rem_6rem]"
    >
      <StatusIcon status={run.status} className="size-4.5" />
      <span className="min-w-0">
        <span className="flex items-center gap-2">
          <span className="truncate font-medium">{run.flow}</span>
          <span className="sr-only">{wordOf(run.status)}</span>
          {run.status === "paused" && (
            <Badge tone="paused">{run.stops.length > 1 ? `${run.stops.length} frames paused` : "paused"}</Badge>
          )}
          {run.intervened && (
            <Badge tone="paused" title="This run was modified in the debugger">
              <Hand className="size-3" aria-hidden />
              intervened
            </Badge>
          )}
          {run.is_pinned && <Pin className="size-3 text-muted" aria-label="pinned" />}
          {run.problem && <CircleAlert className="size-3.5 text-failed" aria-label={run.problem} />}
        </span>
        <span className="block truncate text-muted text-sm">
          {failure ? (
            <span className="text-failed">
              {failure.step}: {failure.message} ·{" "}
            </span>
          ) : (
            run.from_run && `re-run from ${run.from_step ?? "the start"} · `
          )}
          {origin && `${origin} · `}
          <span className="font-mono">{run.id}</span>
        </span>
      </span>
      <span className="hidden items-center gap-2 md:flex">
        <span className="h-1.5 flex-1 overflow-hidden rounded-full bg-sunken">
          <span
            className={classNames("block h-full rounded-full", BARS[toneOf(run.status)])}
            style={{ width: `${Math.max(2, (100 * seconds) / longest)}%` }}
          />
        </span>
        <span className="w-16 text-right text-muted text-sm tabular">
          {run.started_at ? formatDuration(seconds) : isEnded(run.status) ? "not started" : "waiting"}
        </span>
      </span>
      <time
        className="text-right text-muted text-sm"
        title={formatMoment(run.created_at)}
        dateTime={new Date(run.created_at * 1000).toISOString()}
      >
        {formatAgo(run.created_at, now)}
      </time>
    </Link>
  );
}

function secondsOf(run: RunInfo, now: number): number {
  return run.started_at === null ? 0 : (run.ended_at ?? (isEnded(run.status) ? run.started_at : now)) - run.started_at;
}

export function RunListSkeleton() {
  return (
    <div aria-hidden className="divide-y divide-line">
      {Array.from({ length: 8 }, (_, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all the same
        <div key={at} className="flex items-center gap-3 px-4 py-2.5">
          <Skeleton className="size-4.5 rounded-full!" />
          <div className="flex-1 space-y-1.5">
            <Skeleton className="h-3 w-40" />
            <Skeleton className="h-2.5 w-64" />
          </div>
          <Skeleton className="hidden h-1.5 w-32 md:block" />
        </div>
      ))}
    </div>
  );
}

export const RunsIcon = Inbox;
