import { CloudOff, Play } from "lucide-react";
import { useState } from "react";
import { useSearchParams } from "wouter";
import { ApiError } from "@/api/client";
import { type RunFilter, useCanChange, useFlows, useRuns, useRunsFeed } from "@/api/queries";
import { useBranchNames, useRepoChoices, useRepoFlows } from "@/api/repo-queries";
import { FirstSteps } from "@/app/first-steps";
import { usePageTitle } from "@/app/page-title";
import { type FilterChoices, RunFilters } from "@/features/runs/run-filters";
import { RunList, RunListSkeleton, RunsIcon } from "@/features/runs/run-list";
import { Button } from "@/ui/button";
import { classNames } from "@/ui/class-names";
import { Empty, Failed, Notice } from "@/ui/feedback";
import { useDebounced } from "@/ui/hooks";
import { LinkButton } from "@/ui/link-button";

const IN_ADDRESS = ["repo", "ref", "flow"] as const; // so that other pages can link to it
const NOTHING: Required<RunFilter> = { status: [], flow: "", repo: "", ref: "", search: "" };

export function RunsPage() {
  const [filter, setFilter] = useFilter();
  const search = useDebounced(filter.search, 200);
  const connection = useRunsFeed();
  const runs = useRuns({ ...filter, search }, connection);
  const flows = useFlows();
  const canChange = useCanChange();
  const choices = useChoices(filter.repo);
  const all = runs.data?.pages.flatMap((page) => page.runs) ?? [];
  const paused = all.filter((run) => run.status === "paused").length;
  const isFiltered = filter.status.length > 0 || [filter.flow, filter.repo, filter.ref, filter.search].some(Boolean);
  const isEmptyServer = runs.isSuccess && all.length === 0 && !isFiltered && !runs.isPlaceholderData;
  usePageTitle(paused > 0 ? `(${paused}) Runs` : "Runs");
  return (
    <div className="h-full overflow-auto">
      <div className="mx-auto max-w-5xl space-y-3 px-4 py-5">
        <div className="flex min-h-7.5 flex-wrap items-center justify-between gap-3">
          <h1 className="font-semibold text-xl">Runs</h1>
          {canChange && (
            <LinkButton href="/new" look="primary" icon={<Play className="size-3.5" aria-hidden />}>
              Start a run
            </LinkButton>
          )}
        </div>
        {!isEmptyServer && <RunFilters filter={filter} choices={choices} onChange={setFilter} />}
        <section
          aria-label="Runs"
          aria-busy={runs.isFetching}
          className={classNames(
            "overflow-hidden rounded-lg border border-line bg-surface",
            !isEmptyServer && "min-h-96",
          )}
        >
          {runs.error && all.length > 0 && (
            <Notice tone="paused">{runs.error.message} This list may be out of date. Reconnecting…</Notice>
          )}
          {runs.isPending || (isEmptyServer && flows.isPending) ? (
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
          ) : isEmptyServer ? (
            <FirstSteps flows={flows.data ?? []} canChange={canChange} />
          ) : all.length === 0 ? (
            <Empty
              icon={<RunsIcon className="size-6" />}
              title="No matching runs"
              action={<Button onClick={() => setFilter(NOTHING)}>Show all runs</Button>}
            />
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

/** Which runs are shown: partly in the address, and partly only here. */
function useFilter(): [Required<RunFilter>, (changes: Partial<RunFilter>) => void] {
  const [params, setParams] = useSearchParams();
  const [own, setOwn] = useState({ status: NOTHING.status, search: NOTHING.search });
  const [repo, ref, flow] = IN_ADDRESS.map((name) => params.get(name) ?? "") as [string, string, string];
  const change = ({ status, search, ...others }: Partial<RunFilter>) => {
    setOwn({ status: status ?? own.status, search: search ?? own.search });
    if (Object.keys(others).length === 0) return;
    setParams(
      (before) => {
        const next = new URLSearchParams(before);
        for (const name of IN_ADDRESS) {
          const value = others[name];
          if (value === "") next.delete(name);
          else if (value !== undefined) next.set(name, value);
        }
        return next;
      },
      { replace: true },
    );
  };
  return [{ ...own, repo, ref, flow }, change];
}

/** What the runs can be filtered by; flows and branches are those of the repository, if one is chosen. */
function useChoices(repo: string): FilterChoices {
  const repos = useRepoChoices();
  const stored = useFlows();
  const flows = useRepoFlows(repo, repo !== "");
  const refs = useBranchNames(repo, repo !== "");
  return {
    repos: (repos.data ?? []).map(({ id }) => id),
    refs,
    flows: ((repo === "" ? stored.data : flows.data) ?? []).map(({ name }) => name),
  };
}
