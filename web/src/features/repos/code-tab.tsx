import { File, FileSymlink, Folder, FolderGit2 } from "lucide-react";
import type { ReactNode } from "react";
import { Link, useSearchParams } from "wouter";
import { useFile, useFolder } from "@/api/repo-queries";
import type { RepoInfo, TreeEntry } from "@/api/types";
import { repoLink } from "@/core/links";
import { formatBytes } from "@/core/time";
import { CommitList } from "@/features/repos/commit-list";
import { EmptyRepo } from "@/features/repos/empty-repo";
import { RefSelect } from "@/features/repos/ref-select";
import { Empty, Failed, Loading } from "@/ui/feedback";
import { Choice } from "@/ui/panel";

export type DrawText = (file: { path: string; text: string; line: number | null }) => ReactNode;

type CodeTabProps = { repo: RepoInfo /** Draws the text of a file. */; drawText: DrawText };

/** The files and commits of a branch, a tag or a commit; where it is, is in the address. */
export function CodeTab({ repo, drawText }: CodeTabProps) {
  const [params, setParams] = useSearchParams();
  const ref = params.get("ref") ?? repo.default_branch;
  const path = params.get("path") ?? "";
  const isCommits = params.get("view") === "commits";
  if (repo.head === null) return <EmptyRepo repo={repo.id} branch={repo.default_branch} />;
  const show = (changes: Record<string, string | null>) =>
    setParams((before) => {
      const next = new URLSearchParams(before);
      for (const [name, value] of Object.entries({ line: null, ...changes })) {
        if (value) next.set(name, value);
        else next.delete(name);
      }
      return next;
    });
  return (
    <div className="flex h-full min-h-0 flex-col gap-3">
      <div className="flex flex-wrap items-center gap-2">
        <RefSelect repo={repo.id} label="Branch, tag or commit" value={ref} onChange={(name) => show({ ref: name })} />
        <div role="group" aria-label="Show" className="flex gap-1">
          <Choice isChosen={!isCommits} onChoose={() => show({ view: null })}>
            Files
          </Choice>
          <Choice isChosen={isCommits} onChoose={() => show({ view: "commits" })}>
            Commits
          </Choice>
        </div>
        {!isCommits && <Path repo={repo.id} gitRef={ref} path={path} />}
      </div>
      {isCommits ? (
        <CommitList key={ref} repo={repo.id} gitRef={ref} />
      ) : (
        <Files
          key={ref}
          repo={repo.id}
          gitRef={ref}
          path={path}
          isFile={params.get("view") === "file"}
          line={Number(params.get("line")) || null}
          draw={drawText}
        />
      )}
    </div>
  );
}

type Place = { repo: string; gitRef: string; path: string };

/** Each folder above what is shown, to go back to. */
function Path({ repo, gitRef, path }: Place) {
  const parts = path.split("/").filter(Boolean);
  const link = (to: string) => repoLink(repo, { tab: "code", ref: gitRef, path: to });
  return (
    <nav aria-label="Path" className="flex min-w-0 flex-wrap items-center gap-x-1 font-mono text-sm">
      <Link href={link("")} className="flex min-h-6 min-w-6 items-center text-accent hover:underline">
        {repo}
      </Link>
      {parts.map((part, at) => {
        const to = parts.slice(0, at + 1).join("/");
        return (
          <span key={to} className="flex min-w-0 items-center gap-1">
            <span className="text-faint">/</span>
            {at === parts.length - 1 ? (
              <span className="truncate">{part}</span>
            ) : (
              <Link href={link(to)} className="flex min-h-6 min-w-6 items-center text-accent hover:underline">
                {part}
              </Link>
            )}
          </span>
        );
      })}
    </nav>
  );
}

type TextProps = Place & { line: number | null; draw: DrawText };

/** A folder, or a file where the link says so or the path does not lead to a folder. */
function Files({ isFile, ...place }: TextProps & { isFile: boolean }) {
  return isFile ? <Text {...place} /> : <FolderOrText {...place} />;
}

function FolderOrText({ line, draw, ...place }: TextProps) {
  const folder = useFolder(place.repo, place.gitRef, place.path);
  if (folder.isPending) return <Loading />;
  if (folder.error && place.path !== "") return <Text {...place} line={line} draw={draw} />;
  if (folder.error) return <Failed error={folder.error} onRetry={() => folder.refetch()} />;
  const { entries, is_cut } = folder.data;
  return (
    <ul aria-label="Files" className="divide-y divide-line rounded-lg border border-line bg-surface">
      {[...entries].sort(foldersFirst).map((entry) => (
        <li key={entry.path}>
          <Entry {...place} entry={entry} />
        </li>
      ))}
      {entries.length === 0 && <li className="px-4 py-2 text-muted">This folder is empty.</li>}
      {is_cut && <li className="px-4 py-2 text-muted">… and more. Clone the repository to see all of them.</li>}
    </ul>
  );
}

function foldersFirst(one: TreeEntry, other: TreeEntry): number {
  return Number(other.kind === "folder") - Number(one.kind === "folder") || one.name.localeCompare(other.name);
}

const ICONS = { file: File, folder: Folder, link: FileSymlink, submodule: FolderGit2 };

function Entry({ repo, gitRef, entry }: Place & { entry: TreeEntry }) {
  const Icon = ICONS[entry.kind];
  const look = "flex items-center gap-2 px-4 py-1.5";
  const shown = (
    <>
      <Icon className="size-4 shrink-0 text-muted" aria-label={entry.kind} />
      <span className="min-w-0 flex-1 truncate">{entry.name}</span>
      {entry.size !== null && <span className="text-faint text-sm tabular">{formatBytes(entry.size)}</span>}
    </>
  );
  if (entry.kind === "submodule") return <span className={look}>{shown}</span>;
  return (
    <Link
      href={repoLink(repo, {
        tab: "code",
        ref: gitRef,
        view: entry.kind === "folder" ? null : "file",
        path: entry.path,
      })}
      className={`${look} hover:bg-hover focus-visible:-outline-offset-2`}
    >
      {shown}
    </Link>
  );
}

function Text({ repo, gitRef, path, line, draw }: TextProps) {
  const file = useFile(repo, gitRef, path);
  if (file.error) return <Failed error={file.error} onRetry={() => file.refetch()} />;
  if (!file.data) return <Loading />;
  const { text, size, is_cut, is_lfs } = file.data;
  if (text === null) return <Empty icon={<File className="size-6" />} title={`Binary file, ${formatBytes(size)}`} />;
  return (
    <div className="flex min-h-64 flex-1 flex-col overflow-hidden rounded-lg border border-line bg-surface">
      {(is_cut || is_lfs) && (
        <p className="border-line border-b px-4 py-1.5 text-muted text-sm">
          {is_lfs ? "A pointer: the content is in Git LFS." : `Only the beginning of ${formatBytes(size)} is shown.`}
        </p>
      )}
      <div className="min-h-0 flex-1">{draw({ path, text, line })}</div>
    </div>
  );
}
