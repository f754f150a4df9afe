import { FileDiff } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import type { AttemptInfo, CardInfo, Diff } from "@/api/types";
import { shortSha } from "@/core/refs";
import { countWords } from "@/core/words";
import { ChangedFileView, type Review } from "@/features/card/changed-file";
import type { ShownRange } from "@/features/card/diff-range";
import { NoteCard } from "@/features/card/note-card";
import { NO_NOTES, type PlacedNotes } from "@/features/card/note-places";
import { RangeSelect } from "@/features/card/range-select";
import { Button } from "@/ui/button";
import { Empty, Failed, Loading } from "@/ui/feedback";

const OPEN_AT_FIRST = 5; // files
const MOST_LINES_OPEN = 300; // of a file that is open at first
const MOST_FILES = 100; // that are drawn at first, and with each click

type ChangesProps = {
  card: Pick<CardInfo, "id" | "status" | "attempt">;
  attempts: readonly AttemptInfo[];
  range: ShownRange;
  diff: Diff | undefined;
  error: Error | null;
  onRetry: () => void;
  notes: PlacedNotes;
  review: Review;
  onRange: (range: ShownRange) => void;
};

/** The files that the work has changed, to be read and noted on. */
export function Changes({ card, attempts, range, diff, error, onRetry, notes, review, onRange }: ChangesProps) {
  const [most, setMost] = useState(MOST_FILES);
  const heading = useRef<HTMLHeadingElement>(null);
  const shown = useRef(range);
  useEffect(() => {
    if (shown.current !== range && JSON.stringify(shown.current) !== JSON.stringify(range))
      heading.current?.scrollIntoView?.({ block: "nearest" });
    shown.current = range;
  }, [range]);
  const files = diff?.files ?? [];
  return (
    <section aria-labelledby="changes" className="space-y-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <h2 id="changes" ref={heading} className="font-semibold">
          Changes
        </h2>
        {diff && <Totals diff={diff} />}
        <span className="flex-1" />
        <RangeSelect range={range} attempts={attempts} onChange={onRange} />
      </div>
      {!diff ? (
        error ? (
          <Failed error={error} onRetry={onRetry} />
        ) : (
          <Loading label="Loading the changes" />
        )
      ) : files.length === 0 ? (
        <Empty icon={<FileDiff className="size-6" />} title="No changes">
          {range.kind === "all" ? "Nothing differs from the base." : "Nothing differs between these commits."}
        </Empty>
      ) : (
        <ul aria-label="Changed files" className="space-y-2">
          {files.slice(0, most).map((file, at) => (
            <li key={file.path}>
              <ChangedFileView
                card={card.id}
                range={range}
                base={diff.base}
                head={diff.head}
                file={file}
                notes={notes.files.get(file.path) ?? NO_NOTES}
                review={review}
                isOpenAtFirst={at < OPEN_AT_FIRST && (file.added ?? 0) + (file.removed ?? 0) <= MOST_LINES_OPEN}
              />
            </li>
          ))}
        </ul>
      )}
      {files.length > most && (
        <div className="text-center">
          <Button onClick={() => setMost(most + MOST_FILES)}>
            Show {Math.min(MOST_FILES, files.length - most)} more of {countWords(files.length, "file")}
          </Button>
        </div>
      )}
      {diff?.is_cut && <p className="text-paused text-sm">More files have changed than are listed here.</p>}
      {diff && <Elsewhere notes={notes} review={review} />}
    </section>
  );
}

function Totals({ diff: { files, base, head } }: { diff: Diff }) {
  const [added, removed] = useMemo(
    () => [
      files.reduce((sum, file) => sum + (file.added ?? 0), 0),
      files.reduce((sum, file) => sum + (file.removed ?? 0), 0),
    ],
    [files],
  );
  return (
    <span className="flex flex-wrap items-center gap-x-2 text-sm tabular">
      {countWords(files.length, "file")}
      <span className="text-passed">+{added.toLocaleString()}</span>
      <span className="text-failed">−{removed.toLocaleString()}</span>
      <span className="font-mono text-muted">
        {shortSha(base)}..{shortSha(head)}
      </span>
    </span>
  );
}

/** Notes on files that these changes do not have. */
function Elsewhere({ notes: { elsewhere }, review }: { notes: PlacedNotes; review: Review }) {
  if (elsewhere.length === 0) return null;
  return (
    <section aria-labelledby="elsewhere" className="space-y-2 rounded-lg border border-line bg-sunken p-2">
      <h3 id="elsewhere" className="px-1 font-medium text-sm">
        Notes on files that are not among these changes
      </h3>
      {elsewhere.map((note) => (
        <NoteCard key={note.id} note={note} now={review.now} showsPlace onResolve={review.onResolve} />
      ))}
    </section>
  );
}
