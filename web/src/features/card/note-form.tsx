import { type KeyboardEvent, useId, useRef, useState } from "react";
import { type NoteDrafts, useDraftText } from "@/features/card/note-drafts";
import { Button } from "@/ui/button";
import { TextArea } from "@/ui/field";

/** Add a note; null when it was added, or why it was not. The same key adds it once, however often it is sent. */
export type OnAdd = (text: string, key: string) => Promise<string | null>;

type NoteFormProps = {
  drafts: NoteDrafts;
  draft: string;
  label: string;
  /** A form in the diff takes the focus when it opens, and can be closed. */
  isInPlace?: boolean;
  onAdd: OnAdd;
};

/** A note that is being written. What is typed is stored until it is sent or cancelled. */
export function NoteForm({ drafts, draft, label, isInPlace = false, onAdd }: NoteFormProps) {
  const text = useDraftText(drafts, draft);
  const id = useId();
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const sent = useRef({ text: "", key: "" });
  const send = async () => {
    if (text.trim() === "" || isBusy) return;
    setBusy(true);
    if (sent.current.text !== text) sent.current = { text, key: crypto.randomUUID() };
    const refused = await onAdd(text.trim(), sent.current.key);
    setBusy(false);
    setProblem(refused);
    if (refused === null) drafts.drop(draft);
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      void send();
    } else if (event.key === "Escape" && isInPlace && text.trim() === "") drafts.drop(draft);
  };
  return (
    <form
      className="space-y-2 font-sans"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <label htmlFor={id} className="sr-only">
        {label}
      </label>
      <TextArea
        id={id}
        autoFocus={isInPlace && text === ""}
        rows={isInPlace ? 3 : 2}
        className="font-sans! text-base!"
        placeholder={label}
        value={text}
        aria-invalid={problem ? true : undefined}
        onChange={(event) => drafts.write(draft, event.target.value)}
        onKeyDown={press}
      />
      {problem && (
        <p role="alert" className="text-failed text-sm">
          {problem}
        </p>
      )}
      <div className="flex flex-wrap items-center gap-2">
        <Button type="submit" look={isInPlace ? "primary" : "plain"} isBusy={isBusy} disabled={text.trim() === ""}>
          Add note
        </Button>
        {isInPlace && <Button onClick={() => drafts.drop(draft)}>Cancel</Button>}
        <span className="text-muted text-sm max-sm:hidden">Ctrl+Enter adds it</span>
      </div>
    </form>
  );
}
