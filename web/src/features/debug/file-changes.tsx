import { useQuery } from "@tanstack/react-query";
import { ChevronDown, ChevronRight } from "lucide-react";
import { useState } from "react";
import { api } from "@/api/client";
import type { FileChangeInfo } from "@/api/types";
import { CHANGE_COLOURS, CHANGE_SIGNS } from "@/features/debug/diff-view";
import { classNames } from "@/ui/class-names";
import { PatchText } from "@/ui/patch-text";

type Stretch = { run: string; from: number; to?: number; now: number };

/** The files of the workspace that differ between two points, each to be opened; without `to`, from one until `now`. */
export function FileChangesView({ run, from, to, now }: Stretch) {
  const files = useQuery({
    queryKey: ["files", run, from, to, now],
    queryFn: () => api.fileChanges(run, { from, to }),
    placeholderData: (kept) => kept,
    retry: false,
  });
  if (files.error) return <p className="text-muted text-sm">{files.error.message}</p>;
  if (!files.data) return null;
  const { changes, total } = files.data;
  if (changes.length === 0) return <p className="text-muted text-sm">No files have changed since.</p>;
  return (
    <ul aria-label="Changed files" className="text-sm">
      {changes.map((change) => (
        <File key={change.path} change={change} run={run} from={from} to={to} now={now} />
      ))}
      {total > changes.length && <li className="text-muted">and {(total - changes.length).toLocaleString()} more</li>}
    </ul>
  );
}

function File({ change: { path, kind, is_text }, run, from, to, now }: { change: FileChangeInfo } & Stretch) {
  const [isOpen, setOpen] = useState(false);
  const diff = useQuery({
    queryKey: ["file-diff", run, path, from, to, now],
    queryFn: () => api.fileDiff(run, { path, from, to }),
    enabled: isOpen,
    placeholderData: (kept) => kept,
  });
  const Chevron = isOpen ? ChevronDown : ChevronRight;
  return (
    <li>
      <button
        type="button"
        aria-expanded={isOpen}
        disabled={!is_text}
        onClick={() => setOpen(!isOpen)}
        className="flex w-full items-center gap-1.5 text-left font-mono hover:bg-hover disabled:hover:bg-transparent"
      >
        <Chevron className={classNames("size-3.5 shrink-0 text-muted", !is_text && "invisible")} aria-hidden />
        <span className={CHANGE_COLOURS[kind]} title={kind}>
          {CHANGE_SIGNS[kind]}
        </span>
        <span className="sr-only">{kind}</span>
        <span className="min-w-0 truncate">{path}</span>
        {!is_text && <span className="font-sans text-faint">binary file</span>}
      </button>
      {isOpen && diff.error && <p className="pl-5 text-failed">{diff.error.message}</p>}
      {isOpen && diff.data && (
        <div className="my-1 ml-5">
          <PatchText text={diff.data.diff} isCut={diff.data.is_cut} />
        </div>
      )}
    </li>
  );
}
