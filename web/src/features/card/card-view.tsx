import { type ReactNode, useCallback, useMemo } from "react";
import { useSearchParams } from "wouter";
import { cardApi } from "@/api/card-client";
import { useCardAttempts, useCardDiff, useCardNotes } from "@/api/card-queries";
import { useCanChange } from "@/api/queries";
import type { CardInfo, NoteInfo } from "@/api/types";
import { Attempts } from "@/features/card/attempts";
import { CardButtons } from "@/features/card/card-buttons";
import { CardDialogs } from "@/features/card/card-dialogs";
import { CardHeader } from "@/features/card/card-header";
import { CardNotices } from "@/features/card/card-notices";
import type { Review } from "@/features/card/changed-file";
import { Changes } from "@/features/card/changes";
import { ConflictPanel } from "@/features/card/conflict-panel";
import { Conversation } from "@/features/card/conversation";
import { Description, WorkFacts } from "@/features/card/description";
import { readRange, type ShownRange, toCardRange, withRange } from "@/features/card/diff-range";
import { type DraftPlace, useNoteDrafts } from "@/features/card/note-drafts";
import { placeNotes } from "@/features/card/note-places";
import { useCardActions } from "@/features/card/use-card-actions";
import { useCardChange } from "@/features/card/use-card-change";
import { useNow } from "@/ui/hooks";
import { toast } from "@/ui/toast";

type CardViewProps = {
  card: CardInfo;
  /** What the last attempt does or did: its agent, its log and its tests. */
  drawRun: (run: string) => ReactNode;
  drawEditing: (onClose: () => void) => ReactNode;
  onOpenRun: (run: string) => void;
  onDeleted: () => void;
};

/** A card with all that belongs to it: what is to be done, what was done, and what is said about it. */
export function CardView({ card, drawRun, drawEditing, onOpenRun, onDeleted }: CardViewProps) {
  const { id, status, run, conflict } = card;
  const canChange = useCanChange();
  const change = useCardChange(id);
  const actions = useCardActions({ card, change, onOpenRun });
  const attempts = useCardAttempts(id).data ?? [];
  const [range, showRange] = useShownRange();
  const hasChanges = card.head_sha !== null || card.attempt > 0;
  const diff = useCardDiff(id, toCardRange(range), hasChanges);
  const shown = diff.isPlaceholderData ? undefined : diff.data;
  const notes = useCardNotes(id).data ?? NONE;
  const placed = useMemo(
    () =>
      placeNotes(notes, {
        base: shown?.base ?? "",
        head: shown?.head ?? "",
        start: card.base_sha,
        tip: card.head_sha,
        files: shown?.files ?? [],
      }),
    [notes, shown, card.base_sha, card.head_sha],
  );
  const drafts = useNoteDrafts(id);
  const addNote = useCallback(
    (text: string, key: string, place: DraftPlace | null) =>
      change(() => cardApi.note(id, { text, ...place }, key), "notes"),
    [change, id],
  );
  const resolve = useCallback(
    async (note: NoteInfo, resolved: boolean) => {
      const problem = await change(() => cardApi.resolveNote(id, note.id, resolved), "notes");
      if (problem !== null) toast(problem, "bad");
    },
    [change, id],
  );
  const now = useNow(true, 30_000);
  const onResolve = canChange ? resolve : null;
  const review: Review = useMemo(
    () => ({ drafts, now, onAdd: canChange ? addNote : null, onResolve }),
    [drafts, now, canChange, addNote, onResolve],
  );
  const isAtWork = status === "in_progress";
  return (
    <div className="h-full overflow-y-auto">
      <CardHeader
        card={card}
        isPaused={isAtWork && card.run_status === "paused"}
        actions={canChange && <CardButtons card={card} busy={actions.busy} onAction={actions.begin} />}
      />
      <CardNotices card={card} />
      <div className="mx-auto max-w-7xl space-y-4 p-3">
        {conflict && (
          <ConflictPanel
            card={card}
            conflict={conflict}
            canChange={canChange}
            onUpdate={actions.update}
            onReject={() => actions.ask("reject")}
          />
        )}
        {isAtWork && run !== null && drawRun(run)}
        <div className="grid gap-4 lg:grid-cols-[minmax(0,2fr)_minmax(0,1fr)]">
          <div className="min-w-0 space-y-4">
            <Description text={card.description} />
            <Conversation
              notes={shown || diff.isLoading ? placed.general : notes}
              drafts={drafts}
              onAdd={canChange ? (text, key) => addNote(text, key, null) : null}
              onResolve={onResolve}
            />
          </div>
          <div className="min-w-0">
            <WorkFacts card={card} />
          </div>
        </div>
        <Attempts attempts={attempts} range={range} onRange={showRange} />
        {!isAtWork && run !== null && drawRun(run)}
        {hasChanges && (
          <Changes
            card={card}
            attempts={attempts}
            range={range}
            diff={shown}
            error={diff.error}
            onRetry={() => void diff.refetch()}
            notes={placed}
            review={review}
            onRange={showRange}
          />
        )}
      </div>
      <CardDialogs
        card={card}
        attempts={attempts}
        asking={actions.asking}
        change={change}
        drawEditing={drawEditing}
        onDeleted={onDeleted}
        onClose={actions.close}
      />
    </div>
  );
}

const NONE: readonly NoteInfo[] = [];

/** Which changes are shown, as the address of the page has it. */
function useShownRange(): [ShownRange, (range: ShownRange) => void] {
  const [params, setParams] = useSearchParams();
  return [readRange(params), (range) => setParams((now) => withRange(now, range))];
}
