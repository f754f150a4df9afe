import { useState } from "react";
import type { RejectionForm } from "@/api/types";
import { Checkbox, Field, TextArea } from "@/ui/field";
import { FormDialog } from "@/ui/form-dialog";
import { FormProblem } from "@/ui/form-problem";
import { type Ask, useSubmit } from "@/ui/use-submit";

type RejectDialogProps = { branch: string | null; onReject: Ask<RejectionForm>; onClose: () => void };

/** Why the work is rejected; the reason becomes a note. */
export function RejectDialog({ branch, onReject, onClose }: RejectDialogProps) {
  const [reason, setReason] = useState("");
  const [keepsBranch, setKeepsBranch] = useState(true);
  const { isBusy, problem, submit } = useSubmit(onReject, onClose);
  return (
    <FormDialog
      title="Reject the work?"
      action="Reject"
      look="danger"
      isBusy={isBusy}
      onSubmit={() => void submit({ reason: reason.trim(), keep_branch: keepsBranch })}
      onClose={onClose}
    >
      <p className="text-muted">The card moves back to todo. Nothing is merged.</p>
      <Field label="Reason" hint="Added as a note, which the agent reads in the next attempt.">
        {(ids) => (
          <TextArea
            {...ids}
            autoFocus
            rows={4}
            className="font-sans! text-base!"
            value={reason}
            onChange={(event) => setReason(event.target.value)}
          />
        )}
      </Field>
      {branch !== null && (
        <Checkbox
          label={`Keep the branch ${branch}`}
          checked={keepsBranch}
          onChange={(event) => setKeepsBranch(event.target.checked)}
        />
      )}
      <FormProblem problem={problem} />
    </FormDialog>
  );
}
