import { CircleSlash, LoaderCircle, Play, TriangleAlert } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { Link, useLocation } from "wouter";
import { useRuns } from "@/api/queries";
import { repoApi } from "@/api/repo-client";
import type { Connection } from "@/api/sse";
import type { FiringInfo, RunInfo } from "@/api/types";
import { runLink } from "@/core/links";
import { canStartAnyway, outcomeWords } from "@/core/pushes";
import { wordOf } from "@/core/status";
import { Button } from "@/ui/button";
import { StatusIcon } from "@/ui/status-icon";
import { TickedText } from "@/ui/ticked-text";
import { toast } from "@/ui/toast";

/** The runs of a repository since a moment, by id: as many pages as that takes. */
export function useRunsSince(repo: string, since: number | null, connection: Connection): ReadonlyMap<string, RunInfo> {
  const { data, hasNextPage, isFetching, fetchNextPage } = useRuns({ repo }, connection);
  const runs = useMemo(() => data?.pages.flatMap((page) => page.runs) ?? [], [data]);
  const oldest = runs.at(-1)?.created_at ?? null;
  const needsMore = since !== null && oldest !== null && oldest > since && hasNextPage;
  useEffect(() => {
    if (needsMore && !isFetching) void fetchNextPage();
  }, [needsMore, isFetching, fetchNextPage]);
  return useMemo(() => new Map(runs.map((run) => [run.id, run])), [runs]);
}

type FiringProps = { firing: FiringInfo; run: RunInfo | undefined; canChange: boolean };

/** What a flow made of an event: its run, or the reason why there is none. */
export function Firing({ firing, run, canChange }: FiringProps) {
  const [, navigate] = useLocation();
  const [isStarting, setStarting] = useState(false);
  const startAnyway = async () => {
    setStarting(true);
    const { started, problem } = await repoApi.fireAgain(firing.repo, firing.id).then(
      ({ run, outcome, reason }) => ({ started: outcome === "refused" ? null : run, problem: reason }),
      (error: Error) => ({ started: null, problem: error.message }),
    );
    if (started === null) toast(`${firing.flow} was not started: ${problem ?? "no reason was given"}`, "bad");
    else toast(`Started ${firing.flow}`, "good", { label: "Show run", onSelect: () => navigate(runLink(started)) });
    setStarting(false);
  };
  const status = run?.status ?? (firing.outcome === "pending" ? "pending" : null);
  return (
    <div className="grid min-h-6 grid-cols-[1rem_minmax(0,1fr)_auto] items-center gap-x-2 sm:grid-cols-[1rem_10rem_minmax(0,1fr)_auto]">
      {firing.outcome === "refused" ? (
        <TriangleAlert className="size-3.5 text-failed" aria-hidden />
      ) : firing.run === null ? (
        <CircleSlash className="size-3.5 text-faint" aria-hidden />
      ) : status === null ? (
        <LoaderCircle className="size-3.5 text-faint" aria-hidden />
      ) : (
        <StatusIcon status={status} className="size-3.5" />
      )}
      <span className="truncate" title={firing.flow}>
        {firing.flow}
      </span>
      <span className="col-span-2 col-start-2 row-start-2 min-w-0 text-sm sm:col-span-1 sm:col-start-3 sm:row-start-1">
        {firing.run === null || firing.outcome === "refused" ? (
          <span className={firing.outcome === "refused" ? "text-failed" : "text-muted"}>
            {outcomeWords(firing.outcome)}: <TickedText text={firing.reason ?? "no reason was recorded"} />
          </span>
        ) : firing.outcome === "pending" ? (
          <span className="text-muted">{outcomeWords(firing.outcome)}</span>
        ) : (
          <Link href={runLink(firing.run)} className="text-accent hover:underline">
            {status === null ? "run" : wordOf(status)} <span className="font-mono text-muted">{firing.run}</span>
          </Link>
        )}
      </span>
      {canChange && canStartAnyway(firing) ? (
        <Button
          size="sm"
          look="quiet"
          icon={<Play className="size-3" />}
          aria-label={`Start anyway: ${firing.flow}`}
          isBusy={isStarting}
          onClick={startAnyway}
        >
          Start anyway
        </Button>
      ) : (
        <span />
      )}
    </div>
  );
}
