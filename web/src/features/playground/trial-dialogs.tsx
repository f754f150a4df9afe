import { useState } from "react";
import type { TrialInfo } from "@/api/types";
import { LONGEST_TITLE } from "@/core/card-draft";
import { saveName, titleOf } from "@/core/trials";
import { TextField } from "@/ui/field";
import { FormDialog } from "@/ui/form-dialog";
import { FormProblem } from "@/ui/form-problem";
import { type Ask, useSubmit } from "@/ui/use-submit";

/** What is asked before a trial is changed. */
export type AskedTrial = { kind: "save" | "card" | "delete"; trial: TrialInfo };

type TrialDialogProps = {
  asked: AskedTrial;
  onSave: (trial: TrialInfo) => Ask<{ name: string }>;
  onCard: (trial: TrialInfo) => Ask<{ title: string }>;
  onDelete: (trial: TrialInfo) => Ask<null>;
  onClose: () => void;
};

export function TrialDialog({ asked: { kind, trial }, onSave, onCard, onDelete, onClose }: TrialDialogProps) {
  switch (kind) {
    case "save":
      return <SaveDialog trial={trial} onSave={onSave(trial)} onClose={onClose} />;
    case "card":
      return <CardDialog trial={trial} onCard={onCard(trial)} onClose={onClose} />;
    case "delete":
      return <DeleteDialog trial={trial} onDelete={onDelete(trial)} onClose={onClose} />;
  }
}

type SaveDialogProps = { trial: TrialInfo; onSave: Ask<{ name: string }>; onClose: () => void };

function SaveDialog({ trial, onSave, onClose }: SaveDialogProps) {
  const [name, setName] = useState(trial.settings.save ?? saveName(trial.profile));
  const { isBusy, problem, submit } = useSubmit(onSave, onClose);
  return (
    <FormDialog
      title="Save the result"
      action="Save"
      isBusy={isBusy}
      isBlocked={name.trim() === ""}
      onSubmit={() => void submit({ name: name.trim() })}
      onClose={onClose}
    >
      <TextField
        label="Name"
        hint={`A new branch agent-test/${name.trim() || "name"}-NNN, with the next free number.`}
        autoFocus
        value={name}
        onText={setName}
      />
      <FormProblem problem={problem} />
    </FormDialog>
  );
}

type CardDialogProps = { trial: TrialInfo; onCard: Ask<{ title: string }>; onClose: () => void };

function CardDialog({ trial, onCard, onClose }: CardDialogProps) {
  const [title, setTitle] = useState(() => titleOf(trial.prompt).slice(0, LONGEST_TITLE));
  const { isBusy, problem, submit } = useSubmit(onCard, onClose);
  const isReviewed = trial.to_sha !== null && trial.settings.input !== "text";
  return (
    <FormDialog
      title="Make it a card"
      action="Create card"
      isBusy={isBusy}
      isBlocked={title.trim() === ""}
      onSubmit={() => void submit({ title: title.trim() })}
      onClose={onClose}
    >
      <p className="text-muted">
        {isReviewed
          ? "The card has the same agent and prompt. It is in review, with what the trial changed."
          : "The card has the same agent and prompt. It is in todo, because there are no changes to review."}
      </p>
      <TextField
        label="Title"
        autoFocus
        spellCheck
        dir="auto"
        maxLength={LONGEST_TITLE}
        value={title}
        onText={setTitle}
      />
      <FormProblem problem={problem} />
    </FormDialog>
  );
}

type DeleteDialogProps = { trial: TrialInfo; onDelete: Ask<null>; onClose: () => void };

function DeleteDialog({ trial: { branch, profile }, onDelete, onClose }: DeleteDialogProps) {
  const { isBusy, problem, submit } = useSubmit(onDelete, onClose);
  return (
    <FormDialog
      title={`Delete the trial of ${profile}?`}
      action="Delete trial"
      look="danger"
      isBusy={isBusy}
      onSubmit={() => void submit(null)}
      onClose={onClose}
    >
      <p className="text-muted">
        {branch === null ? "Its changes are lost. " : `What was saved to ${branch} is kept. `}Its run is kept, too.
      </p>
      <FormProblem problem={problem} />
    </FormDialog>
  );
}
