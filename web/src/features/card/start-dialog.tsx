import { useState } from "react";
import type { AttemptInfo, CardInfo, StartCardForm } from "@/api/types";
import { shortSha } from "@/core/refs";
import { Checkbox, Field, Select, TextArea } from "@/ui/field";
import { FormDialog } from "@/ui/form-dialog";
import { FormProblem } from "@/ui/form-problem";
import { SuggestInput } from "@/ui/suggest-input";
import { type Ask, useSubmit } from "@/ui/use-submit";

type StartDialogProps = {
  card: Pick<CardInfo, "base" | "branch" | "work" | "profile" | "is_branch_gone">;
  attempts: readonly AttemptInfo[];
  /** The agents to choose from; another can be typed. */
  profiles: readonly string[];
  onStart: Ask<StartCardForm>;
  onClose: () => void;
};

/** The work once more: from where, with which guidance, and by whom. */
export function StartDialog({ card, attempts, profiles, onStart, onClose }: StartDialogProps) {
  const hasBranch = card.branch !== null && !card.is_branch_gone;
  const [guidance, setGuidance] = useState("");
  const [from, setFrom] = useState(hasBranch ? "head" : "base");
  const [profile, setProfile] = useState("");
  const [debug, setDebug] = useState(false);
  const { isBusy, problem, submit } = useSubmit(onStart, onClose);
  const isAgent = card.work === "agent";
  const form = (): StartCardForm => ({
    guidance: guidance.trim(),
    start_from: from === "head" || from === "base" ? from : Number(from),
    profile: profile.trim() || null,
    debug,
  });
  return (
    <FormDialog
      title="Start another attempt"
      action="Start"
      width={560}
      isBusy={isBusy}
      onSubmit={() => void submit(form())}
      onClose={onClose}
    >
      {isAgent && (
        <Field
          label="Guidance"
          hint="The agent also gets the description, the open notes and the end of the last attempt’s log."
        >
          {(ids) => (
            <TextArea
              {...ids}
              autoFocus
              rows={5}
              className="font-sans! text-base!"
              placeholder="What to do differently (optional)"
              value={guidance}
              onChange={(event) => setGuidance(event.target.value)}
            />
          )}
        </Field>
      )}
      <Field label="Start from">
        {(ids) => (
          <Select {...ids} value={from} onChange={(event) => setFrom(event.target.value)}>
            {hasBranch && <option value="head">The branch as it is</option>}
            <option value="base">{card.base}, from the beginning</option>
            {attempts.map(
              ({ number, to_sha }) =>
                to_sha && (
                  <option key={number} value={number}>
                    The result of attempt {number} ({shortSha(to_sha)})
                  </option>
                ),
            )}
          </Select>
        )}
      </Field>
      {isAgent && (
        <Field label="Agent" hint="For this attempt only.">
          {(ids) => (
            <SuggestInput
              {...ids}
              suggestions={profiles}
              placeholder={card.profile ?? undefined}
              value={profile}
              onChange={(event) => setProfile(event.target.value)}
            />
          )}
        </Field>
      )}
      <Checkbox
        label={isAgent ? "Pause at the first tool call" : "Pause at the first step"}
        checked={debug}
        onChange={(event) => setDebug(event.target.checked)}
      />
      <FormProblem problem={problem} />
    </FormDialog>
  );
}
