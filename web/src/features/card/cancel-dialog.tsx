import { FormDialog } from "@/ui/form-dialog";
import { FormProblem } from "@/ui/form-problem";
import { type Ask, useSubmit } from "@/ui/use-submit";

type CancelDialogProps = { attempt: number; onCancel: Ask<null>; onClose: () => void };

/** Asks before an attempt is cancelled. */
export function CancelDialog({ attempt, onCancel, onClose }: CancelDialogProps) {
  const { isBusy, problem, submit } = useSubmit(onCancel, onClose);
  return (
    <FormDialog
      title={`Cancel attempt ${attempt}?`}
      action="Cancel attempt"
      look="danger"
      isBusy={isBusy}
      onSubmit={() => void submit(null)}
      onClose={onClose}
    >
      <p className="text-muted">
        This ends its run; cleanup steps still run. Then the card moves back to todo. What was not committed is lost.
      </p>
      <FormProblem problem={problem} />
    </FormDialog>
  );
}
