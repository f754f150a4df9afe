import { ArrowRight, GitBranch, Tag } from "lucide-react";
import { Link } from "wouter";
import { usePushes } from "@/api/repo-queries";
import type { Connection } from "@/api/sse";
import type { FiringInfo, PushInfo, RepoInfo, RunInfo } from "@/api/types";
import { repoLink } from "@/core/links";
import { describeMove, viaWords } from "@/core/pushes";
import { refKind, refName, shortSha } from "@/core/refs";
import { EmptyRepo } from "@/features/repos/empty-repo";
import { Firing, useRunsSince } from "@/features/repos/firing";
import { Ago } from "@/ui/ago";
import { Button } from "@/ui/button";
import { Failed, Loading } from "@/ui/feedback";
import { useNow } from "@/ui/hooks";
import { Badge } from "@/ui/status-icon";

type PushesTabProps = { repo: RepoInfo; canChange: boolean; connection: Connection };

/** What was pushed, the newest first, and what each flow made of it: a run, or the reason why there is none. */
export function PushesTab({ repo, canChange, connection }: PushesTabProps) {
  const pushes = usePushes(repo.id);
  const now = useNow(true, 30_000);
  const all = pushes.data?.pages.flatMap((page) => page.pushes) ?? [];
  const runs = useRunsSince(repo.id, all.at(-1)?.at ?? null, connection);
  if (pushes.error && !pushes.data) return <Failed error={pushes.error} onRetry={() => pushes.refetch()} />;
  if (!pushes.data) return <Loading label="Loading pushes" />;
  if (all.length === 0) return <EmptyRepo repo={repo.id} branch={repo.default_branch} />;
  return (
    <>
      <ul aria-label="Pushes" className="space-y-3">
        {all.map((push) => (
          <li key={push.id}>
            <Push repo={repo.id} push={push} runs={runs} now={now} canChange={canChange} />
          </li>
        ))}
      </ul>
      {pushes.hasNextPage && (
        <div className="pt-3 text-center">
          <Button isBusy={pushes.isFetchingNextPage} onClick={() => pushes.fetchNextPage()}>
            Show older pushes
          </Button>
        </div>
      )}
    </>
  );
}

type PushProps = {
  repo: string;
  push: PushInfo;
  runs: ReadonlyMap<string, RunInfo>;
  now: number;
  canChange: boolean;
};

function Push({ repo, push, runs, now, canChange }: PushProps) {
  const name = refName(push.ref);
  const isTag = refKind(push.ref) === "tag";
  const move = describeMove(push);
  const Icon = isTag ? Tag : GitBranch;
  return (
    <article aria-label={`Push to ${name}`} className="overflow-hidden rounded-lg border border-line bg-surface">
      <header className="flex flex-wrap items-center gap-x-3 gap-y-0.5 px-4 py-2.5">
        <span className="flex min-w-0 items-center gap-1.5 font-medium">
          <Icon className="size-3.5 shrink-0 text-muted" aria-label={isTag ? "tag" : "branch"} />
          <span className="truncate">{name}</span>
          {move && <Badge tone={move === "forced" || move === "deleted" ? "paused" : "neutral"}>{move}</Badge>}
        </span>
        <span className="min-w-0 flex-1 basis-40 truncate" title={push.subject}>
          {push.subject}
        </span>
        <span className="flex flex-wrap items-center gap-x-2 text-muted text-sm">
          <Shas repo={repo} push={push} />
          <span>
            {push.who} · {viaWords(push.via)}
          </span>
          <Ago at={push.at} now={now} />
        </span>
      </header>
      {(push.firings.length > 0 || push.note) && (
        <ul aria-label="Flows" className="border-line border-t">
          {push.note && <li className="px-4 py-1.5 text-muted text-sm">{push.note}</li>}
          {sorted(push.firings).map((firing) => (
            <li key={firing.id} className="border-line px-4 py-1.5 not-first:border-t">
              <Firing
                firing={firing}
                run={firing.run === null ? undefined : runs.get(firing.run)}
                canChange={canChange}
              />
            </li>
          ))}
        </ul>
      )}
    </article>
  );
}

/** What ran comes first; the rest stays as it was decided. */
function sorted(firings: readonly FiringInfo[]): FiringInfo[] {
  return [...firings].sort((one, other) => Number(one.run === null) - Number(other.run === null));
}

function Shas({ repo, push: { old, new: now } }: { repo: string; push: PushInfo }) {
  const commit = (sha: string) => (
    <Link
      href={repoLink(repo, { tab: "code", ref: sha, view: "commits" })}
      className="flex min-h-6 items-center hover:underline"
    >
      {shortSha(sha)}
    </Link>
  );
  return (
    <span className="flex items-center gap-1 font-mono">
      {old !== null && commit(old)}
      {old !== null && now !== null && <ArrowRight className="size-3 text-faint" aria-label="to" />}
      {now !== null && commit(now)}
    </span>
  );
}
