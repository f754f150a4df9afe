import { CloudOff, Play } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import { ApiError } from "@/api/client";
import { useFlows, useRuns } from "@/api/queries";
import { usePageTitle } from "@/app/page-title";
import { type Filter, RunFilters } from "@/features/runs/run-filters";
import { RunList, RunListSkeleton, RunsIcon } from "@/features/runs/run-list";
import { Button } from "@/ui/button";
import { Empty, Failed, Notice } from "@/ui/feedback";
import { useDebounced } from "@/ui/hooks";

const NOTHING: Filter = { status: [], flow: "", search: "" };

export function RunsPage() {
  const [filter, setFilter] = useState<Filter>(NOTHING);
  const search = useDebounced(filter.search, 200);
  const runs = useRuns({ ...filter, search });
  const flows = useFlows();
  const all = runs.data?.pages.flatMap((page) => page.runs) ?? [];
  const stopped = all.filter((run) => run.status === "paused").length;
  const isFiltered = filter.status.length > 0 || filter.flow !== "" || filter.search !== "";
  usePageTitle(stopped > 0 ? `(${stopped}) Runs` : "Runs");
  return (
    <div className="h-full overflow-auto">
      <div className="mx-auto max-w-5xl space-y-3 px-4 py-5">
        <div className="flex flex-wrap items-center justify-between gap-3">
          <h1 className="font-semibold text-xl">Runs</h1>
          <Link
            href="/new"
            className="inline-flex h-7.5 items-center gap-1.5 rounded-md bg-accent px-3 font-medium text-accent-text hover:brightness-110"
          >
            <Play className="size-3.5" aria-hidden />
            Start a run
          </Link>
        </div>
        <RunFilters filter={filter} flows={flows.data ?? []} onChange={setFilter} />
        <section
          aria-label="Runs"
          aria-busy={runs.isFetching}
          className="min-h-96 overflow-hidden rounded-lg border border-line bg-surface"
        >
          {runs.error && all.length > 0 && (
            <Notice tone="paused">{runs.error.message} This list may be out of date. Reconnecting…</Notice>
          )}
          {runs.isPending ? (
            <RunListSkeleton />
          ) : runs.error && all.length === 0 ? (
            runs.error instanceof ApiError && runs.error.isOffline ? (
              <Empty
                icon={<CloudOff className="size-6" />}
                title="Cannot reach the server"
                action={<Button onClick={() => runs.refetch()}>Try again</Button>}
              >
                Start it with <code className="font-mono text-sm">pitstop up</code>.
              </Empty>
            ) : (
              <Failed error={runs.error} onRetry={() => runs.refetch()} />
            )
          ) : all.length === 0 ? (
            isFiltered ? (
              <Empty
                icon={<RunsIcon className="size-6" />}
                title="No matching runs"
                action={<Button onClick={() => setFilter(NOTHING)}>Show all runs</Button>}
              />
            ) : (
              <Empty icon={<RunsIcon className="size-6" />} title="No runs yet">
                Start a run here, or in a terminal with <code className="font-mono text-sm">pitstop run flow.yaml</code>
                .
              </Empty>
            )
          ) : (
            <RunList runs={all} />
          )}
        </section>
        {runs.hasNextPage && (
          <div className="text-center">
            <Button isBusy={runs.isFetchingNextPage} onClick={() => runs.fetchNextPage()}>
              Show older runs
            </Button>
          </div>
        )}
      </div>
    </div>
  );
}
