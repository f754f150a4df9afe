import { useState } from "react";
import { Link } from "wouter";
import { useCommitDiff, useCommits, usePatch } from "@/api/repo-queries";
import type { ChangedFile, CommitEntry } from "@/api/types";
import { repoLink } from "@/core/links";
import { shortSha } from "@/core/refs";
import { Ago } from "@/ui/ago";
import { Button } from "@/ui/button";
import { Failed, Loading } from "@/ui/feedback";
import { FilePatch } from "@/ui/file-patch";
import { Fold } from "@/ui/fold";
import { useNow } from "@/ui/hooks";

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
  const { path, old_path } = file;
  return (
    <FilePatch
      title={old_path && old_path !== path ? `${old_path} → ${path}` : path}
      file={file}
      patch={patch}
      isOpen={isOpen}
      onToggle={() => setOpen(!isOpen)}
    />
  );
}
