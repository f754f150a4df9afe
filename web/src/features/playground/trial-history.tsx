import type { UseInfiniteQueryResult } from "@tanstack/react-query";
import type { TrialInfo } from "@/api/types";
import { groupsOf, titleOf } from "@/core/trials";
import { Ago } from "@/ui/ago";
import { Button } from "@/ui/button";
import { Failed, Loading } from "@/ui/feedback";
import { useNow } from "@/ui/hooks";
import { Choice } from "@/ui/panel";
import { StatusIcon } from "@/ui/status-icon";

type TrialHistoryProps = {
  history: Pick<UseInfiniteQueryResult, "error" | "hasNextPage" | "isFetchingNextPage" | "fetchNextPage" | "refetch">;
  trials: readonly TrialInfo[] | undefined;
  shown: readonly string[];
  onShow: (trials: readonly string[]) => void;
  onToggle: (trial: string) => void;
};

/** The trials of a repository. A prompt shows all trials that were started with it; an agent, that one next to the others. */
export function TrialHistory({ history, trials, shown, onShow, onToggle }: TrialHistoryProps) {
  const now = useNow(true, 30_000);
  if (!trials)
    return history.error ? (
      <Failed error={history.error} onRetry={() => void history.refetch()} />
    ) : (
      <Loading label="Loading the history" />
    );
  if (trials.length === 0) return <p className="text-muted text-sm">Your trials appear here, for seven days.</p>;
  return (
    <>
      <ul aria-label="Trials" className="divide-y divide-line rounded-lg border border-line bg-surface">
        {groupsOf(trials).map((group) => {
          const [first] = group;
          if (!first) return null;
          return (
            <li key={first.group} className="space-y-1 px-3 py-1.5">
              <button
                type="button"
                className="flex min-h-6 w-full items-baseline gap-2 text-left hover:underline"
                onClick={() => onShow(group.map(({ id }) => id))}
              >
                <span dir="auto" className="min-w-0 flex-1 truncate">
                  {titleOf(first.prompt)}
                </span>
                <span className="shrink-0 text-muted text-sm">
                  <Ago at={first.created_at} now={now} />
                </span>
              </button>
              <div className="flex flex-wrap items-center gap-1">
                {group.map(({ id, profile, state, branch }) => (
                  <Choice
                    key={id}
                    isChosen={shown.includes(id)}
                    title={branch === null ? state : `${state}, saved to ${branch}`}
                    onChoose={() => onToggle(id)}
                  >
                    <StatusIcon status={state} className="size-3.5" />
                    {profile}
                    <span className="sr-only">{state}</span>
                  </Choice>
                ))}
                {first.ref && <span className="min-w-0 truncate font-mono text-muted text-xs">{first.ref}</span>}
              </div>
            </li>
          );
        })}
      </ul>
      {history.hasNextPage && (
        <div className="pt-2 text-center">
          <Button size="sm" isBusy={history.isFetchingNextPage} onClick={() => void history.fetchNextPage()}>
            Show older trials
          </Button>
        </div>
      )}
    </>
  );
}
