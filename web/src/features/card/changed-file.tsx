import { ChevronDown, ChevronRight, MessageSquare } from "lucide-react";
import { useCallback, useMemo, useState } from "react";
import { useCardPatch } from "@/api/card-queries";
import type { ChangedFile, NoteInfo } from "@/api/types";
import { modeChange, type PatchLine, parsePatch, sideOf } from "@/core/patch-lines";
import { shortSha } from "@/core/refs";
import { countWords } from "@/core/words";
import { type ShownRange, toCardRange } from "@/features/card/diff-range";
import { NoteCard, type OnResolve } from "@/features/card/note-card";
import { type Draft, type DraftPlace, type NoteDrafts, useDraftPlaces } from "@/features/card/note-drafts";
import { NoteForm } from "@/features/card/note-form";
import { countOpen, type FileNotes, keysOfRow, lineKey, notesOutside } from "@/features/card/note-places";
import { PatchView } from "@/features/card/patch-view";
import { Button } from "@/ui/button";
import { Loading } from "@/ui/feedback";
import { Badge } from "@/ui/status-icon";

/** How notes on lines are written and resolved; what is null is for users who may only look. */
export type Review = {
  drafts: NoteDrafts;
  now: number;
  onAdd: ((text: string, key: string, place: DraftPlace) => Promise<string | null>) | null;
  onResolve: OnResolve | null;
};

type ChangedFileViewProps = {
  card: string;
  range: ShownRange;
  /** The commits that are compared. */
  base: string;
  head: string;
  file: ChangedFile;
  notes: FileNotes;
  review: Review;
  isOpenAtFirst: boolean;
};

/** A changed file: its name and its counts, and its lines when it is open. */
export function ChangedFileView({ card, range, base, head, file, notes, review, isOpenAtFirst }: ChangedFileViewProps) {
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  const { path, old_path, status, added, removed } = file;
  const Chevron = isOpen ? ChevronDown : ChevronRight;
  const open = countOpen(notes);
  return (
    <section aria-label={`Changes of ${path}`} className="rounded-lg border border-line bg-surface">
      <h3>
        <button
          type="button"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
          className="flex min-h-9 w-full items-center gap-2 rounded-lg px-3 py-1 text-left text-sm hover:bg-hover focus-visible:-outline-offset-2"
        >
          <Chevron className="size-3.5 shrink-0 text-muted" aria-hidden />
          <span className="min-w-0 font-mono [overflow-wrap:anywhere]">
            {old_path && old_path !== path && <span className="text-muted">{old_path} → </span>}
            {path}
          </span>
          {status !== "modified" && <Badge>{status.replaceAll("_", " ")}</Badge>}
          <span className="flex-1" />
          {open > 0 && (
            <span className="flex shrink-0 items-center gap-1 text-paused">
              <MessageSquare className="size-3.5" aria-hidden />
              {open}
              <span className="sr-only">{open === 1 ? "open note" : "open notes"}</span>
            </span>
          )}
          {added !== null && <span className="shrink-0 text-passed tabular">+{added.toLocaleString()}</span>}
          {removed !== null && <span className="shrink-0 text-failed tabular">−{removed.toLocaleString()}</span>}
        </button>
      </h3>
      {isOpen && (
        <OpenedFile card={card} range={range} base={base} head={head} file={file} notes={notes} review={review} />
      )}
    </section>
  );
}

function OpenedFile({ card, range, base, head, file, notes, review }: Omit<ChangedFileViewProps, "isOpenAtFirst">) {
  const { path, old_path } = file;
  const patch = useCardPatch(card, toCardRange(range), path, { base, head });
  const text = patch.data?.text ?? "";
  const rows = useMemo(() => parsePatch(text), [text]);
  const { drafts, onAdd } = review;
  const { here, apart } = useDraftsOf(drafts, file, base, head, rows);
  const begin = useCallback(
    (row: PatchLine) => {
      const side = sideOf(row);
      const line = side === "old" ? row.oldLine : row.newLine;
      if (line === null) return;
      drafts.open({ side, line, sha: side === "old" ? base : head, file: side === "old" ? (old_path ?? path) : path });
    },
    [drafts, base, head, old_path, path],
  );
  if (!patch.data) {
    return patch.error ? (
      <div className="flex items-center gap-2 border-line border-t px-3 py-2">
        <p className="min-w-0 flex-1 text-failed">{patch.error.message}</p>
        <Button size="sm" onClick={() => patch.refetch()}>
          Try again
        </Button>
      </div>
    ) : (
      <Loading label="Loading the changes" />
    );
  }
  const { is_binary, is_cut } = patch.data;
  const outside = [...notes.unplaced, ...notesOutside(notes, rows)];
  return (
    <>
      {outside.length + apart.length > 0 && (
        <div className="space-y-2 border-line border-t bg-sunken px-2 py-2">
          <p className="px-1 text-muted text-sm">Notes on lines that are not shown below</p>
          <Thread notes={outside} drafts={apart} review={review} isApart />
        </div>
      )}
      {is_binary ? (
        <p className="border-line border-t px-3 py-2 text-muted">Binary file, not shown.</p>
      ) : rows.length === 0 ? (
        <p className="border-line border-t px-3 py-2 text-muted">{withoutLines(text)}</p>
      ) : (
        <PatchView
          path={path}
          rows={rows}
          notes={notes}
          drafts={here}
          onNote={onAdd && begin}
          drawThread={(thread) => <Thread notes={thread.notes} drafts={thread.drafts} review={review} />}
        />
      )}
      {is_cut && (
        <p className="border-line border-t px-3 py-2 text-paused text-sm">
          The changes of this file are cut: only the first {countWords(rows.length, "line")} are shown.
        </p>
      )}
    </>
  );
}

function withoutLines(text: string): string {
  const mode = modeChange(text);
  return mode === null ? "No lines have changed." : `Only the file mode has changed: ${mode}`;
}

type ThreadProps = { notes: readonly NoteInfo[]; drafts: readonly Draft[]; review: Review; isApart?: boolean };

/** The notes on a line, and the one that is being written. */
function Thread({ notes, drafts, review, isApart = false }: ThreadProps) {
  const { now, onAdd, onResolve } = review;
  return (
    <div className="space-y-2">
      {notes.map((note) => (
        <NoteCard key={note.id} note={note} now={now} showsPlace={isApart} onResolve={onResolve} />
      ))}
      {onAdd &&
        drafts.map(
          ({ id, place }) =>
            place && (
              <NoteForm
                key={id}
                drafts={review.drafts}
                draft={id}
                isInPlace
                label={labelOf(place, isApart)}
                onAdd={(text, key) => onAdd(text, key, place)}
              />
            ),
        )}
    </div>
  );
}

function labelOf({ line, side, sha }: DraftPlace, isApart: boolean): string {
  const where = side === "old" ? `old line ${line}` : `line ${line}`;
  return isApart ? `Write a note on ${where} at ${shortSha(sha)}` : `Write a note on ${where}`;
}

/** The drafts of a file: those on a line that is shown, and those on other lines or commits. */
function useDraftsOf(drafts: NoteDrafts, file: ChangedFile, base: string, head: string, rows: readonly PatchLine[]) {
  const all = useDraftPlaces(drafts);
  const { path, old_path } = file;
  return useMemo(() => {
    const keys = new Set(rows.flatMap(keysOfRow));
    const own = all.filter(({ place }) => place?.file === (place?.side === "old" ? (old_path ?? path) : path));
    const isHere = ({ place }: Draft) =>
      place !== null && place.sha === (place.side === "old" ? base : head) && keys.has(lineKey(place.side, place.line));
    return { here: own.filter(isHere), apart: own.filter((draft) => !isHere(draft)) };
  }, [all, path, old_path, base, head, rows]);
}
