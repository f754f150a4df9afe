import type { NoteInfo } from "@/api/types";
import { NoteCard, type OnResolve } from "@/features/card/note-card";
import { GENERAL, type NoteDrafts } from "@/features/card/note-drafts";
import { NoteForm, type OnAdd } from "@/features/card/note-form";
import { useNow } from "@/ui/hooks";

type ConversationProps = {
  notes: readonly NoteInfo[];
  drafts: NoteDrafts;
  /** Null if the user may only look. */
  onAdd: OnAdd | null;
  onResolve: OnResolve | null;
};

/** What was said of the card as a whole, the oldest first. */
export function Conversation({ notes, drafts, onAdd, onResolve }: ConversationProps) {
  const now = useNow(true, 30_000);
  if (notes.length === 0 && onAdd === null) return null;
  return (
    <section aria-labelledby="conversation" className="space-y-2">
      <h2 id="conversation" className="font-semibold">
        Conversation
      </h2>
      {notes.length > 0 && (
        <ul className="space-y-2">
          {notes.map((note) => (
            <li key={note.id}>
              <NoteCard note={note} now={now} showsPlace={note.file !== null} onResolve={onResolve} />
            </li>
          ))}
        </ul>
      )}
      {onAdd && <NoteForm drafts={drafts} draft={GENERAL} label="Write a note on this card" onAdd={onAdd} />}
    </section>
  );
}
