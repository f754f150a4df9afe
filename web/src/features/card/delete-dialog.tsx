import { useState } from "react";
import { Checkbox } from "@/ui/field";
import { FormDialog } from "@/ui/form-dialog";
import { FormProblem } from "@/ui/form-problem";
import { type Ask, useSubmit } from "@/ui/use-submit";

type DeleteDialogProps = {
  card: { number: number; branch: string | null };
  onDelete: Ask<{ deletesBranch: boolean }>;
  onClose: () => void;
};

/** Asks before a card is deleted. */
export function DeleteDialog({ card: { number, branch }, onDelete, onClose }: DeleteDialogProps) {
  const [deletesBranch, setDeletesBranch] = useState(false);
  const { isBusy, problem, submit } = useSubmit(onDelete, onClose);
  return (
    <FormDialog
      title={`Delete card #${number}?`}
      action="Delete card"
      look="danger"
      isBusy={isBusy}
      onSubmit={() => void submit({ deletesBranch })}
      onClose={onClose}
    >
      <p className="text-muted">This deletes its notes and attempts. Its runs are kept. This cannot be undone.</p>
      {branch !== null && (
        <Checkbox
          label={`Also delete the branch ${branch}`}
          hint="Commits that exist nowhere else are lost."
          checked={deletesBranch}
          onChange={(event) => setDeletesBranch(event.target.checked)}
        />
      )}
      <FormProblem problem={problem} />
    </FormDialog>
  );
}
