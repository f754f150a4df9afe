import { type KeyboardEvent, useId, useState } from "react";
import { cardApi } from "@/api/card-client";
import { isStaleCard } from "@/api/card-queries";
import { useBranchNames } from "@/api/repo-queries";
import { useRequestKey } from "@/api/request-key";
import type { Board, CardInfo, NewCardForm } from "@/api/types";
import {
  type CardDraft,
  CHOICES,
  draftOf,
  LONGEST_TITLE,
  NEW_DRAFT,
  problemsOf,
  requestOf,
  type WorkChoice,
} from "@/core/card-draft";
import { CardPreviewFold } from "@/features/board/card-preview";
import { LabelField } from "@/features/board/label-field";
import { WorkFields } from "@/features/board/work-fields";
import { Button } from "@/ui/button";
import { Confirm, Dialog } from "@/ui/dialog";
import { Field, TextArea, TextField } from "@/ui/field";
import { SuggestInput } from "@/ui/suggest-input";
import { tip } from "@/ui/tooltip";

type CardFormProps = {
  repo: string;
  /** The card to edit; without one, a card is created. */
  card?: CardInfo;
  /** What other cards have, to choose from. */
  known?: Pick<Board, "labels" | "profiles">;
  onSaved: (card: CardInfo) => void;
  onClose: () => void;
};

const NOTHING_KNOWN = { labels: [], profiles: [] };

/** A card as a form in a dialog. It stays open, with all that was typed, until the server has accepted it. */
export function CardForm({ repo, card, known = NOTHING_KNOWN, onSaved, onClose }: CardFormProps) {
  const id = useId();
  const [before] = useState<CardDraft>(() => (card ? draftOf(card) : NEW_DRAFT));
  const [draft, setDraft] = useState(before);
  const [isTried, setTried] = useState(false);
  const [sending, setSending] = useState<"save" | "start" | null>(null);
  const [refusal, setRefusal] = useState<string | null>(null);
  const [isLeaving, setLeaving] = useState(false);
  const [version, setVersion] = useState(card?.version);
  const keyOf = useRequestKey();
  const problems = problemsOf(draft);
  const shown = isTried ? problems : {};
  const change = (changes: Partial<CardDraft>) => {
    setDraft({ ...draft, ...changes });
    setRefusal(null);
  };
  const send = async (start: boolean) => {
    setTried(true);
    if (sending !== null || Object.keys(problems).length > 0) return;
    if (card && isSame(draft, before)) return onClose();
    setSending(start ? "start" : "save");
    setRefusal(null);
    try {
      onSaved(card ? await update(card) : await create({ ...requestOf(draft), start }));
    } catch (error) {
      setRefusal((error as Error).message);
      setSending(null);
    }
  };
  const create = (request: NewCardForm) => cardApi.create(repo, request, keyOf(request));
  const update = async (edited: CardInfo) => {
    try {
      return await cardApi.update(edited.id, changesOf(edited, before, draft), version);
    } catch (error) {
      if (!isStaleCard(error)) throw error;
      setVersion((await cardApi.get(edited.id)).version);
      throw new Error("Another user has changed this card. Save again to replace what you have edited.");
    }
  };
  const press = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    void send(false);
  };
  const leave = () => (isSame(draft, before) ? onClose() : setLeaving(true));
  const isStartable = !card && draft.choice !== "none";
  return (
    <>
      <Dialog
        title={card ? `Edit card #${card.number}` : "New card"}
        isOpen
        width={680}
        onClose={leave}
        footer={
          <>
            <Button onClick={leave}>Cancel</Button>
            {isStartable && (
              <Button isBusy={sending === "start"} disabled={sending !== null} onClick={() => void send(true)}>
                Create and start
              </Button>
            )}
            <Button
              look="primary"
              type="submit"
              form={id}
              isBusy={sending === "save"}
              disabled={sending !== null}
              {...tip(card ? "Save the card" : "Create the card", "Ctrl+Enter")}
            >
              {card ? "Save" : "Create"}
            </Button>
          </>
        }
      >
        <form
          id={id}
          className="space-y-3"
          noValidate
          onKeyDown={press}
          onSubmit={(event) => {
            event.preventDefault();
            void send(false);
          }}
        >
          <TextField
            label="Title"
            problem={shown.title}
            isRequired
            autoFocus
            spellCheck
            dir="auto"
            maxLength={2 * LONGEST_TITLE}
            value={draft.title}
            onText={(text) => change({ title: text })}
          />
          <Field label="Description" hint={draft.choice === "agent" ? "The agent is told this." : undefined}>
            {(ids) => (
              <TextArea
                {...ids}
                rows={6}
                spellCheck
                dir="auto"
                className="font-sans! text-base!"
                value={draft.description}
                onChange={(event) => change({ description: event.target.value })}
              />
            )}
          </Field>
          <WorkChooser choice={draft.choice} onChange={(choice) => change({ choice })} />
          <WorkFields repo={repo} draft={draft} problems={shown} profiles={known.profiles} onChange={change} />
          <div className="grid gap-3 sm:grid-cols-2">
            <BaseField repo={repo} base={draft.base} onChange={(base) => change({ base })} />
            <LabelField draft={draft} known={known.labels} onChange={change} />
          </div>
          {draft.choice !== "none" && (
            <CardPreviewFold
              repo={repo}
              form={Object.keys(problems).length === 0 ? requestOf(draft) : null}
              choice={draft.choice}
            />
          )}
          {refusal !== null && (
            <p role="alert" className="whitespace-pre-wrap text-failed [overflow-wrap:anywhere]">
              {refusal}
            </p>
          )}
        </form>
      </Dialog>
      <Confirm
        title="Discard what you have written?"
        text="It has not been saved."
        action="Discard"
        dismiss="Keep writing"
        isOpen={isLeaving}
        onClose={() => setLeaving(false)}
        onConfirm={onClose}
      />
    </>
  );
}

/** Only what was edited: another user may have changed the rest. */
function changesOf(card: CardInfo, before: CardDraft, draft: CardDraft) {
  const [was, is] = [requestOf(before), requestOf(draft)];
  return {
    ...(is.title !== was.title && { title: is.title }),
    ...(is.description !== was.description && { description: is.description }),
    ...(!isSame(is.work, was.work) && { work: is.work }),
    ...(is.base !== was.base && { base: is.base ?? card.base }),
    ...(!isSame(is.labels, was.labels) && { labels: is.labels }),
  };
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function WorkChooser({ choice, onChange }: { choice: WorkChoice; onChange: (choice: WorkChoice) => void }) {
  const name = useId();
  return (
    <fieldset>
      <legend className="mb-1 font-medium text-sm">Work</legend>
      <div className="flex flex-wrap gap-1">
        {(Object.keys(CHOICES) as WorkChoice[]).map((each) => (
          <label
            key={each}
            className="flex h-7 cursor-pointer items-center rounded-md border border-line px-2.5 text-sm hover:bg-hover has-checked:border-accent has-checked:bg-accent-soft has-focus-visible:outline-2 has-focus-visible:outline-accent"
          >
            <input
              type="radio"
              name={name}
              className="sr-only"
              checked={each === choice}
              onChange={() => onChange(each)}
            />
            {CHOICES[each].label}
          </label>
        ))}
      </div>
      <p className="mt-1 text-muted text-sm">{CHOICES[choice].hint}</p>
    </fieldset>
  );
}

function BaseField({ repo, base, onChange }: { repo: string; base: string; onChange: (base: string) => void }) {
  const names = useBranchNames(repo);
  return (
    <Field label="Base branch" hint="The work starts from it and is merged into it.">
      {(ids) => (
        <SuggestInput
          {...ids}
          suggestions={names}
          placeholder="The default branch"
          value={base}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}
