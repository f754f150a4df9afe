import { useState } from "react";
import type { ApprovalForm, CardInfo } from "@/api/types";
import { shortSha } from "@/core/refs";
import { countWords } from "@/core/words";
import { Checkbox, Field, Select, TextArea } from "@/ui/field";
import { FormDialog } from "@/ui/form-dialog";
import { FormProblem } from "@/ui/form-problem";
import { type Ask, useSubmit } from "@/ui/use-submit";

type Method = NonNullable<ApprovalForm["method"]>;

const METHODS: Record<Method, { label: string; hint: string }> = {
  merge: { label: "Merge commit", hint: "Keeps the commits of the branch and adds a merge commit." },
  squash: { label: "Squash", hint: "Adds all changes as one commit." },
  rebase: { label: "Rebase", hint: "Adds the commits of the branch on top, without a merge commit." },
};

type ApproveDialogProps = {
  card: Pick<CardInfo, "base" | "branch" | "head_sha" | "unresolved_notes">;
  onApprove: Ask<ApprovalForm>;
  onClose: () => void;
};

/** How to merge. What is merged is the commit that was shown when the dialog opened, or nothing. */
export function ApproveDialog({ card, onApprove, onClose }: ApproveDialogProps) {
  const [expect, setExpect] = useState(card.head_sha);
  const [method, setMethod] = useState<Method>("merge");
  const [message, setMessage] = useState("");
  const [keepsOpen, setKeepsOpen] = useState(false);
  const { isBusy, problem, submit } = useSubmit(onApprove, onClose);
  const hasMoved = card.head_sha !== expect;
  return (
    <FormDialog
      title="Approve and merge"
      action="Approve"
      width={560}
      isBusy={isBusy}
      isBlocked={hasMoved || expect === null}
      onSubmit={() => void submit({ expect, method, message: message.trim(), keep_open: keepsOpen })}
      onClose={onClose}
    >
      <p className="[overflow-wrap:anywhere]">
        Merges <code className="font-mono">{card.branch}</code> at{" "}
        <code className="font-mono">{expect ? shortSha(expect) : "no commit"}</code> into{" "}
        <code className="font-mono">{card.base}</code>.
      </p>
      {hasMoved && (
        <p role="alert" className="text-paused">
          The branch has moved to <code className="font-mono">{card.head_sha && shortSha(card.head_sha)}</code> since
          you opened this dialog.{" "}
          <button type="button" className="min-h-6 font-medium underline" onClick={() => setExpect(card.head_sha)}>
            I have reviewed that commit
          </button>
        </p>
      )}
      {card.unresolved_notes > 0 && (
        <p className="text-paused">{countWords(card.unresolved_notes, "unresolved note")}.</p>
      )}
      <Field label="Method" hint={METHODS[method].hint}>
        {(ids) => (
          <Select {...ids} value={method} onChange={(event) => setMethod(event.target.value as Method)}>
            {Object.entries(METHODS).map(([id, { label }]) => (
              <option key={id} value={id}>
                {label}
              </option>
            ))}
          </Select>
        )}
      </Field>
      {method !== "rebase" && (
        <Field label="Message" hint="Leave empty for the title of the card.">
          {(ids) => (
            <TextArea
              {...ids}
              rows={3}
              className="font-sans! text-base!"
              value={message}
              onChange={(event) => setMessage(event.target.value)}
            />
          )}
        </Field>
      )}
      <Checkbox
        label="Keep the card open"
        hint="It stays in review, and its branch continues from the merge."
        checked={keepsOpen}
        onChange={(event) => setKeepsOpen(event.target.checked)}
      />
      <FormProblem problem={problem} />
    </FormDialog>
  );
}
