import { useState } from "react";
import { useComparison, useTrialDiffs, useTrialPatch } from "@/api/trial-queries";
import type { ChangedFile, TrialInfo } from "@/api/types";
import { filesOf, isTrialOver } from "@/core/trials";
import { countWords } from "@/core/words";
import { Failed, Loading } from "@/ui/feedback";
import { FilePatch } from "@/ui/file-patch";
import { Badge } from "@/ui/status-icon";

const OPEN_AT_FIRST = 5; // files
const MOST_LINES_OPEN = 300; // of a file that is open at first

/** The grid of what is side by side: as many columns as there is room for. */
export const SIDE_BY_SIDE = "grid items-start gap-3 grid-cols-[repeat(auto-fit,minmax(min(100%,24rem),1fr))]";

/** What each of the trials changed, file by file: the same file of all of them is in one row, so that they scroll together. */
export function TrialChanges({ trials }: { trials: readonly TrialInfo[] }) {
  const diffs = useTrialDiffs(trials);
  const [one, other] = trials;
  const comparison = useComparison(trials.length === 2 && one && other ? [one, other] : null);
  const failed = diffs.find(({ error, data }) => error && !data);
  if (failed?.error) return <Failed error={failed.error} onRetry={() => void failed.refetch()} />;
  if (diffs.some(({ data }) => !data)) return <Loading label="Loading the changes" />;
  const rows = filesOf(diffs.map(({ data }) => data?.files ?? []));
  const differing = comparison.data && new Set(comparison.data.between.files.map(({ path }) => path));
  return (
    <section aria-labelledby="trial-changes" className="space-y-2">
      <div className="flex flex-wrap items-baseline gap-x-3">
        <h2 id="trial-changes" className="font-semibold">
          Changes
        </h2>
        {rows.length > 0 && <span className="text-muted text-sm tabular">{countWords(rows.length, "file")}</span>}
        {rows.length > 0 && differing && (
          <span className="text-muted text-sm">
            {differing.size === 0
              ? "Both results are the same."
              : `The results differ in ${countWords(differing.size, "file")}.`}
          </span>
        )}
      </div>
      {rows.length === 0 ? (
        <p className="text-muted">
          {trials.every(({ state }) => isTrialOver(state))
            ? "No files have changed."
            : "The files that an agent changes are shown when it has ended."}
        </p>
      ) : (
        <ul aria-label="Changed files" className="space-y-2">
          {rows.map(({ path, changes }, at) => (
            <li key={path}>
              <FileRow
                path={path}
                trials={trials}
                changes={changes}
                isSame={differing !== undefined && !differing.has(path)}
                isOpenAtFirst={at < OPEN_AT_FIRST && changes.every((each) => linesOf(each) <= MOST_LINES_OPEN)}
              />
            </li>
          ))}
        </ul>
      )}
      {diffs.some(({ data }) => data?.is_cut) && (
        <p className="text-paused text-sm">More files have changed than are listed here.</p>
      )}
    </section>
  );
}

function linesOf(file: ChangedFile | null): number {
  return (file?.added ?? 0) + (file?.removed ?? 0);
}

type FileRowProps = {
  path: string;
  trials: readonly TrialInfo[];
  changes: readonly (ChangedFile | null)[];
  isSame: boolean;
  isOpenAtFirst: boolean;
};

function FileRow({ path, trials, changes, isSame, isOpenAtFirst }: FileRowProps) {
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  return (
    <section aria-label={`Changes of ${path}`} className="rounded-lg border border-line bg-sunken/50 p-2">
      {isSame && (
        <p className="pb-1">
          <Badge>same in both</Badge>
        </p>
      )}
      <div className={SIDE_BY_SIDE}>
        {trials.map((trial, at) => {
          const file = changes[at];
          return (
            <div key={trial.id} className="min-w-0">
              {trials.length > 1 && <h3 className="font-medium text-muted text-sm">{trial.profile}</h3>}
              {file ? (
                <Changed trial={trial} file={file} isOpen={isOpen} onToggle={() => setOpen(!isOpen)} />
              ) : (
                <p className="min-h-6 text-muted text-sm">
                  <span className="font-mono">{path}</span> is not changed.
                </p>
              )}
            </div>
          );
        })}
      </div>
    </section>
  );
}

type ChangedProps = { trial: TrialInfo; file: ChangedFile; isOpen: boolean; onToggle: () => void };

function Changed({ trial, file, isOpen, onToggle }: ChangedProps) {
  const patch = useTrialPatch(trial, file.path, isOpen);
  const { old_path, path } = file;
  const title = old_path && old_path !== path ? `${old_path} → ${path}` : path;
  return <FilePatch title={title} file={file} patch={patch} isOpen={isOpen} onToggle={onToggle} />;
}
