import { BookMarked, CircleAlert, LoaderCircle, Lock } from "lucide-react";
import { Link } from "wouter";
import type { RepoInfo } from "@/api/types";
import { shortSha } from "@/core/refs";
import { Ago } from "@/ui/ago";
import { Skeleton } from "@/ui/feedback";
import { useNow } from "@/ui/hooks";
import { Badge } from "@/ui/status-icon";

/** The repositories by name: where each one is, and whether its flows can run. */
export function RepoList({ repos }: { repos: readonly RepoInfo[] }) {
  const now = useNow(true, 30_000);
  return (
    <ul aria-label="Repositories" className="divide-y divide-line">
      {repos.map((repo) => (
        <li key={repo.id}>
          <Row repo={repo} now={now} />
        </li>
      ))}
    </ul>
  );
}

function Row({ repo, now }: { repo: RepoInfo; now: number }) {
  const { id, title, head, default_branch, state, flows, broken_flows } = repo;
  return (
    <Link
      href={`/repos/${id}`}
      className="grid grid-cols-[1.25rem_minmax(0,1fr)_auto] items-center gap-x-3 px-4 py-2.5 hover:bg-hover focus-visible:-outline-offset-2"
    >
      <BookMarked className="size-4.5 text-muted" aria-hidden />
      <span className="min-w-0">
        <span className="flex items-center gap-2">
          <span className="truncate font-medium">{id}</span>
          {title !== id && <span className="hidden min-w-0 truncate text-muted sm:inline">{title}</span>}
          <RepoState repo={repo} />
          {repo.protected.length > 0 && (
            <Badge title={`Protected: ${repo.protected.join(", ")}`}>
              <Lock className="size-3" aria-hidden />
              protected
            </Badge>
          )}
        </span>
        <span className="block truncate text-muted text-sm">
          {repo.error ? (
            <span className="text-failed">{repo.error}</span>
          ) : head ? (
            <>
              {default_branch} <span className="font-mono">{shortSha(head.sha)}</span> · {head.subject}
            </>
          ) : repo.address ? (
            `on ${repo.address}`
          ) : (
            state === "ready" && "nothing pushed yet"
          )}
        </span>
      </span>
      <span className="text-right text-muted text-sm">
        <span className={head ? "block" : "hidden"}>
          {flows === 1 ? "1 flow" : `${flows} flows`}
          {broken_flows > 0 && <span className="text-failed"> · {broken_flows} broken</span>}
        </span>
        {head && <Ago at={head.at} now={now} />}
      </span>
    </Link>
  );
}

/** A repository that cannot be used, and why; nothing for one that can. */
export function RepoState({ repo: { state, error } }: { repo: Pick<RepoInfo, "state" | "error"> }) {
  switch (state) {
    case "ready":
      return null;
    case "failed":
      return (
        <Badge tone="failed" title={error ?? undefined}>
          <CircleAlert className="size-3" aria-hidden />
          failed
        </Badge>
      );
    case "creating":
    case "deleting":
      return (
        <Badge tone="running">
          <LoaderCircle className="size-3 animate-spin" aria-hidden />
          {state}
        </Badge>
      );
  }
}

export function RepoListSkeleton() {
  return (
    <div aria-hidden className="divide-y divide-line">
      {Array.from({ length: 4 }, (_, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all the same
        <div key={at} className="flex items-center gap-3 px-4 py-3">
          <Skeleton className="size-4.5" />
          <div className="flex-1 space-y-1.5">
            <Skeleton className="h-3 w-32" />
            <Skeleton className="h-2.5 w-72 max-w-full" />
          </div>
        </div>
      ))}
    </div>
  );
}
