import { GitBranch } from "lucide-react";
import { Link } from "wouter";
import type { RunInfo } from "@/api/types";
import { cardLink, repoLink, runsLink } from "@/core/links";
import { shortSha } from "@/core/refs";

type Origin = Pick<RunInfo, "repo" | "ref" | "commit" | "started_by"> & { card?: string | null };

/** Where a run comes from, in one line of text: "shop main 5f879b8 · push by ada". */
export function originWords({ repo, ref, commit, started_by }: Origin): string {
  const place = [repo, ref ?? commit?.branch, commit && shortSha(commit.sha)].filter(Boolean).join(" ");
  return [place, started_by].filter(Boolean).join(" · ");
}

/** The same with links, for the page of the run. */
export function RunOrigin({ run: { repo, ref, commit, started_by, card } }: { run: Origin }) {
  const branch = ref ?? commit?.branch;
  if (!repo && !branch && !commit && !started_by) return null;
  return (
    <span className="flex min-w-0 items-center gap-1.5 text-muted text-sm">
      {(repo || branch || commit) && <GitBranch className="size-3.5 shrink-0" aria-hidden />}
      {repo && (
        <Link href={repoLink(repo)} className="shrink-0 hover:text-text hover:underline">
          {repo}
        </Link>
      )}
      {branch &&
        (repo ? (
          <Link href={runsLink({ repo, ref: branch })} className="min-w-0 truncate hover:text-text hover:underline">
            {branch}
          </Link>
        ) : (
          <span className="min-w-0 truncate">{branch}</span>
        ))}
      {commit && (
        <span className="shrink-0 font-mono" title={commit.message}>
          {shortSha(commit.sha)}
        </span>
      )}
      {card && (
        <Link href={cardLink(card)} className="shrink-0 hover:text-text hover:underline">
          card {card}
        </Link>
      )}
      {started_by && (
        <span className="hidden min-w-0 truncate xl:inline">
          {(repo || branch || commit) && "· "}
          {started_by}
        </span>
      )}
    </span>
  );
}
