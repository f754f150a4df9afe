import { Link } from "wouter";
import type { TestTotals } from "@/api/types";
import { runLink } from "@/core/links";
import { shortSha } from "@/core/refs";
import { tellCounts } from "@/core/test-counts";
import { formatAgo, formatDuration } from "@/core/time";
import { classNames } from "@/ui/class-names";
import { TestStack } from "@/ui/test-stack";
import { tip } from "@/ui/tooltip";

export const TREND_RUNS = 25; // that a chart has room for
const NARROW_RUNS = 14;
const COUNTS_HEIGHT = 56; // pixels of the run with the most tests
const TIMES_HEIGHT = 22; // pixels of the run that took longest

type TestTrendProps = { flow: string /** The newest first. */; runs: readonly TestTotals[]; now: number };

/** The last runs of a flow, the newest at the right: how its tests ended, and below that how long they took. */
export function TestTrend({ flow, runs, now }: TestTrendProps) {
  const most = Math.max(1, ...runs.map(({ total }) => total));
  const longest = Math.max(0.001, ...runs.map(({ seconds }) => seconds));
  const [newest] = runs;
  return (
    <section aria-label={`Tests of ${flow}`} className="min-w-0 rounded-lg border border-line bg-surface px-4 py-3">
      <header className="mb-2 flex flex-wrap items-baseline gap-x-3">
        <h2 className="font-medium">{flow}</h2>
        {newest && (
          <p className="text-muted text-sm">
            {tellCounts(newest)}, in {formatDuration(newest.seconds)}
          </p>
        )}
      </header>
      <ol aria-label={`Tests in the last runs of ${flow}`} className="flex flex-row-reverse justify-end">
        {runs.map((each, at) => (
          <li key={each.run} className={classNames(at >= NARROW_RUNS && "max-sm:hidden")}>
            <Bar run={each} most={most} longest={longest} now={now} />
          </li>
        ))}
      </ol>
      <p className="mt-1 flex flex-wrap gap-x-3 text-muted text-sm">
        <Mark look="bg-passed/70">passed</Mark>
        <Mark look="bg-failed">failed</Mark>
        <Mark look="bg-line-strong">skipped</Mark>
        <Mark look="bg-running/50">duration, up to {formatDuration(longest)}</Mark>
      </p>
    </section>
  );
}

type BarProps = { run: TestTotals; most: number; longest: number; now: number };

function Bar({ run, most, longest, now }: BarProps) {
  const commit = run.sha === null ? "" : `${shortSha(run.sha)}, `;
  const words = `${tellCounts(run)}, in ${formatDuration(run.seconds)}, ${commit}${formatAgo(run.at, now)}`;
  return (
    <Link
      href={runLink(run.run)}
      aria-label={words}
      {...tip(words)}
      className="flex w-5.5 flex-col gap-0.5 rounded-sm px-1 py-0.5 hover:bg-hover focus-visible:-outline-offset-1"
    >
      <span className="flex flex-col justify-end overflow-hidden rounded-xs" style={{ height: COUNTS_HEIGHT }}>
        <TestStack counts={run} most={most} height={COUNTS_HEIGHT} />
      </span>
      <span style={{ height: TIMES_HEIGHT }}>
        <span
          className="block rounded-xs bg-running/50"
          style={{ height: Math.max(2, (TIMES_HEIGHT * run.seconds) / longest) }}
        />
      </span>
    </Link>
  );
}

function Mark({ look, children }: { look: string; children: React.ReactNode }) {
  return (
    <span className="flex items-center gap-1.5">
      <span aria-hidden className={classNames("size-2.5 rounded-xs", look)} />
      {children}
    </span>
  );
}
