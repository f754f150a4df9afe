import { Link } from "wouter";
import type { TestedRun } from "@/api/types";
import { tellCounts } from "@/core/test-counts";
import { formatAgo, formatDuration } from "@/core/time";
import { classNames } from "@/ui/class-names";
import { useNow } from "@/ui/hooks";
import { TestStack } from "@/ui/test-stack";
import { tip } from "@/ui/tooltip";

const HIGH = 44; // pixels of the run with the most tests

/** The last runs of the flow as bars, the newest at the right: how many tests there were, and how many of them failed. */
export function RunBars({ history, current }: { history: readonly TestedRun[]; current: string }) {
  const now = useNow(true, 60_000);
  const most = Math.max(1, ...history.map((each) => each.total));
  return (
    <ol aria-label="Tests of recent runs" className="flex items-end gap-1" style={{ height: HIGH }}>
      {history.toReversed().map((each) => {
        const told = `${tellCounts(each)}, ${formatAgo(each.created_at, now)}, in ${formatDuration(each.seconds)}`;
        return (
          <li key={each.run}>
            <Link
              href={`/runs/${each.run}`}
              aria-label={told}
              aria-current={each.run === current}
              {...tip(told)}
              className={classNames(
                "flex w-3.5 flex-col justify-end overflow-hidden rounded-xs hover:opacity-80",
                each.run === current && "outline-2 outline-accent outline-offset-1",
              )}
              style={{ height: HIGH }}
            >
              <TestStack counts={each} most={most} height={HIGH} />
            </Link>
          </li>
        );
      })}
    </ol>
  );
}

/** How one test ended in the last runs, the newest at the right. */
export function TestMarks({ history, isFailing }: { history: readonly TestedRun[]; isFailing: IsFailing }) {
  const failed = history.filter(isFailing).length;
  return (
    <span
      className="flex shrink-0 items-center gap-0.5"
      {...tip(`Failed in ${failed} of the last ${history.length} runs`)}
    >
      <span className="sr-only">
        failed in {failed} of the last {history.length} runs
      </span>
      {history.toReversed().map((each) => (
        <span
          key={each.run}
          aria-hidden
          className={classNames("h-3 w-1.5 rounded-xs", isFailing(each) ? "bg-failed" : "bg-passed/45")}
        />
      ))}
    </span>
  );
}

export type IsFailing = (run: TestedRun) => boolean;
