import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import type { TestId } from "@/api/repo-client";
import { useTestResults } from "@/api/repo-queries";
import type { TestResult } from "@/api/types";
import { repoLink, runLink } from "@/core/links";
import { shortSha } from "@/core/refs";
import { toneOf, wordOf } from "@/core/status";
import { formatAgo, formatDuration } from "@/core/time";
import { Ago } from "@/ui/ago";
import { Button } from "@/ui/button";
import { classNames } from "@/ui/class-names";
import { Failed, Loading } from "@/ui/feedback";
import { Choice } from "@/ui/panel";
import { Badge, StatusIcon, TONE_SOFT } from "@/ui/status-icon";
import { tip } from "@/ui/tooltip";

const CELLS = 30; // results that are drawn as a row
const NARROW_CELLS = 14;

type TestResultsProps = {
  repo: string;
  test: TestId;
  gitRef: string;
  now: number;
  /** What can be done about its last failure. */
  fix?: ReactNode;
};

/** How one test ended in the last runs: a cell for each, the newest at the right, and the list of them. */
export function TestResults({ repo, test, gitRef, now, fix }: TestResultsProps) {
  const [isEverywhere, setEverywhere] = useState(false);
  const results = useTestResults(repo, test, isEverywhere ? null : gitRef);
  if (results.error && !results.data) return <Failed error={results.error} onRetry={() => results.refetch()} />;
  if (!results.data) return <Loading label="Loading the history" />;
  const all = results.data.pages.flatMap((page) => page.results);
  return (
    <div className="space-y-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5">
        <div role="group" aria-label="Branches" className="flex gap-1">
          <Choice isChosen={!isEverywhere} onChoose={() => setEverywhere(false)}>
            {gitRef}
          </Choice>
          <Choice isChosen={isEverywhere} onChoose={() => setEverywhere(true)}>
            All branches
          </Choice>
        </div>
        <ol aria-label="Last results" className="flex flex-row-reverse flex-wrap justify-end gap-0.5">
          {all.slice(0, CELLS).map((each, at) => (
            <li key={each.run} className={classNames(at >= NARROW_CELLS && "max-sm:hidden")}>
              <Cell result={each} now={now} />
            </li>
          ))}
        </ol>
        <span className="flex-1" />
        {fix}
      </div>
      <ul aria-label="Results" className="divide-y divide-line rounded-md border border-line bg-surface">
        {all.map((each) => (
          <li key={each.run} className="px-3 py-1.5">
            <Result repo={repo} result={each} now={now} />
          </li>
        ))}
        {all.length === 0 && <li className="px-3 py-1.5 text-muted">No results on this branch.</li>}
      </ul>
      {results.hasNextPage && (
        <Button size="sm" isBusy={results.isFetchingNextPage} onClick={() => results.fetchNextPage()}>
          Show older results
        </Button>
      )}
    </div>
  );
}

function Cell({ result, now }: { result: TestResult; now: number }) {
  const words = [
    wordOf(result.status),
    `in ${formatDuration(result.milliseconds / 1000)}`,
    result.ref && `on ${result.ref}`,
    formatAgo(result.at, now),
  ];
  const told = words.filter(Boolean).join(", ");
  return (
    <Link
      href={runLink(result.run)}
      aria-label={told}
      {...tip(told)}
      className={classNames(
        "flex size-5 items-center justify-center rounded-xs hover:opacity-80",
        TONE_SOFT[toneOf(result.status)],
      )}
    >
      <StatusIcon status={result.status} className="size-3" />
    </Link>
  );
}

function Result({ repo, result, now }: { repo: string; result: TestResult; now: number }) {
  const { status, run, sha, ref, milliseconds, message, is_flaky, at } = result;
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-3 text-sm">
        <span className="flex w-18 items-center gap-1.5">
          <StatusIcon status={status} className="size-3.5" />
          {wordOf(status)}
        </span>
        <Link href={runLink(run)} className="flex min-h-6 items-center font-mono text-accent hover:underline">
          {run}
        </Link>
        {is_flaky && (
          <Badge tone="paused" title="It passed and failed in the attempts of its step">
            both ways
          </Badge>
        )}
        <span className="min-w-0 truncate text-muted">{ref}</span>
        {sha && (
          <Link
            href={repoLink(repo, { tab: "code", ref: sha, view: "commits" })}
            className="flex min-h-6 items-center font-mono text-muted hover:underline"
          >
            {shortSha(sha)}
          </Link>
        )}
        <span className="flex-1" />
        <span className="text-muted tabular">{formatDuration(milliseconds / 1000)}</span>
        <Ago at={at} now={now} className="w-20 text-right text-muted" />
      </div>
      {message && (
        <pre
          className={classNames(
            "mt-1 mb-0.5 max-h-48 overflow-y-auto whitespace-pre-wrap break-words rounded-md bg-sunken p-2 font-mono text-sm",
            status !== "skipped" && "text-failed",
          )}
        >
          {message}
        </pre>
      )}
    </>
  );
}
