import { ChevronDown, ChevronRight } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import { useCommitDiff, useCommits, usePatch } from "@/api/repo-queries";
import type { ChangedFile, CommitEntry } from "@/api/types";
import { repoLink } from "@/core/links";
import { shortSha } from "@/core/refs";
import { Ago } from "@/ui/ago";
import { Button } from "@/ui/button";
import { Failed, Loading } from "@/ui/feedback";
import { Fold } from "@/ui/fold";
import { useNow } from "@/ui/hooks";
import { PatchText } from "@/ui/patch-text";

/** The commits of a branch, the newest first; each opens to the files that it changes. */
export function CommitList({ repo, gitRef }: { repo: string; gitRef: string }) {
  const commits = useCommits(repo, gitRef);
  const now = useNow(true, 30_000);
  if (commits.error && !commits.data) return <Failed error={commits.error} onRetry={() => commits.refetch()} />;
  if (!commits.data) return <Loading label="Loading commits" />;
  return (
    <>
      <ul aria-label="Commits" className="divide-y divide-line rounded-lg border border-line bg-surface">
        {commits.data.pages
          .flatMap((page) => page.commits)
          .map((commit) => (
            <li key={commit.sha}>
              <Commit repo={repo} commit={commit} now={now} />
            </li>
          ))}
      </ul>
      {commits.hasNextPage && (
        <div className="pb-1 text-center">
          <Button isBusy={commits.isFetchingNextPage} onClick={() => commits.fetchNextPage()}>
            Show older commits
          </Button>
        </div>
      )}
    </>
  );
}

function Commit({ repo, commit, now }: { repo: string; commit: CommitEntry; now: number }) {
  const [parent] = commit.parents;
  return (
    <Fold
      look="grid-cols-[1rem_minmax(0,1fr)_auto] px-4"
      inside="space-y-2 px-4"
      summary={
        <>
          <span className="min-w-0">
            <span className="block truncate">{commit.subject}</span>
            <span className="block truncate text-muted text-sm">
              {commit.author} · <Ago at={commit.at} now={now} />
            </span>
          </span>
          <span className="font-mono text-muted text-sm">{shortSha(commit.sha)}</span>
        </>
      }
    >
      {commit.body && <p className="whitespace-pre-wrap text-muted">{commit.body}</p>}
      {parent === undefined ? (
        <p className="text-muted">
          The first commit.{" "}
          <Link href={repoLink(repo, { tab: "code", ref: commit.sha })} className="text-accent underline">
            Show its files
          </Link>
        </p>
      ) : (
        <Changes repo={repo} base={parent} head={commit.sha} />
      )}
    </Fold>
  );
}

type Range = { repo: string; base: string; head: string };

function Changes({ repo, base, head }: Range) {
  const diff = useCommitDiff(repo, { base, head });
  if (diff.error) return <p className="text-failed">{diff.error.message}</p>;
  if (!diff.data) return <Loading />;
  const { files, is_cut } = diff.data;
  return (
    <ul aria-label="Changed files" className="space-y-1">
      {files.map((file) => (
        <li key={file.path}>
          <Changed repo={repo} base={base} head={head} file={file} />
        </li>
      ))}
      {files.length === 0 && <li className="text-muted">No files have changed.</li>}
      {is_cut && <li className="text-muted">… and more</li>}
    </ul>
  );
}

function Changed({ repo, base, head, file }: Range & { file: ChangedFile }) {
  const [isOpen, setOpen] = useState(false);
  const patch = usePatch(repo, { base, head, path: file.path }, isOpen);
  const Chevron = isOpen ? ChevronDown : ChevronRight;
  return (
    <>
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
        className="flex min-h-6 w-full items-center gap-2 rounded-md text-left text-sm hover:bg-hover"
      >
        <Chevron className="size-3.5 shrink-0 text-muted" aria-hidden />
        <span className="min-w-0 truncate font-mono">
          {file.old_path && file.old_path !== file.path && `${file.old_path} → `}
          {file.path}
        </span>
        {file.status !== "modified" && <span className="text-muted">{file.status.replaceAll("_", " ")}</span>}
        <span className="flex-1" />
        {file.added !== null && <span className="text-passed tabular">+{file.added}</span>}
        {file.removed !== null && <span className="text-failed tabular">−{file.removed}</span>}
      </button>
      {isOpen && (
        <div className="mt-1">
          {patch.error ? (
            <p className="text-failed">{patch.error.message}</p>
          ) : !patch.data ? (
            <Loading />
          ) : patch.data.is_binary ? (
            <p className="text-muted">Binary file</p>
          ) : (
            <PatchText text={patch.data.text} isCut={patch.data.is_cut} />
          )}
        </div>
      )}
    </>
  );
}
