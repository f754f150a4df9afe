import { type ReactNode, useId } from "react";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";

type FormDialogProps = {
  title: string;
  /** What the button that sends it says. */
  action: string;
  look?: "primary" | "danger";
  width?: number;
  isBusy: boolean;
  isBlocked?: boolean;
  onSubmit: () => void;
  onClose: () => void;
  children: ReactNode;
};

/** A few fields in a dialog: sent by its button or by Enter, or cancelled. */
export function FormDialog({
  title,
  action,
  look = "primary",
  width,
  isBusy,
  isBlocked = false,
  onSubmit,
  onClose,
  children,
}: FormDialogProps) {
  const id = useId();
  return (
    <Dialog
      title={title}
      isOpen
      width={width}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look={look} type="submit" form={id} isBusy={isBusy} disabled={isBlocked}>
            {action}
          </Button>
        </>
      }
    >
      <form
        id={id}
        className="space-y-3"
        onSubmit={(event) => {
          event.preventDefault();
          onSubmit();
        }}
      >
        {children}
      </form>
    </Dialog>
  );
}
