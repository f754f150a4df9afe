import { AlertDialog } from "@base-ui/react/alert-dialog";
import { Dialog as Base } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import type { ReactNode } from "react";
import { Button, IconButton } from "@/ui/button";
import { classNames } from "@/ui/class-names";

const BACKDROP = "fixed inset-0 z-40 bg-black/35";
const POPUP =
  "rise fixed top-[12vh] left-1/2 z-50 flex max-h-[76vh] w-[min(92vw,var(--dialog-width))] -translate-x-1/2 flex-col rounded-lg border border-line bg-surface shadow-pop";

type DialogProps = {
  title: string;
  isOpen: boolean;
  onClose: () => void;
  width?: number;
  children: ReactNode;
  footer?: ReactNode;
};

export function Dialog({ title, isOpen, onClose, width = 480, children, footer }: DialogProps) {
  return (
    <Base.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Base.Portal>
        <Base.Backdrop className={BACKDROP} />
        <Base.Popup className={POPUP} style={{ "--dialog-width": `${width}px` } as React.CSSProperties}>
          <header className="flex items-center justify-between border-line border-b py-2 pr-2 pl-4">
            <Base.Title className="font-semibold text-lg">{title}</Base.Title>
            <IconButton label="Close" onClick={onClose}>
              <X className="size-4" />
            </IconButton>
          </header>
          <div className="min-h-0 overflow-auto p-4">{children}</div>
          {footer && <footer className="flex justify-end gap-2 border-line border-t px-4 py-3">{footer}</footer>}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

type ConfirmProps = {
  title: string;
  text: ReactNode;
  action: string;
  dismiss?: string;
  isOpen: boolean;
  onClose: () => void;
  onConfirm: () => void;
};

/** Asks before what cannot be taken back. */
export function Confirm({ title, text, action, dismiss = "Cancel", isOpen, onClose, onConfirm }: ConfirmProps) {
  return (
    <AlertDialog.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className={BACKDROP} />
        <AlertDialog.Popup
          className={classNames(POPUP, "p-4")}
          style={{ "--dialog-width": "420px" } as React.CSSProperties}
        >
          <AlertDialog.Title className="font-semibold text-lg">{title}</AlertDialog.Title>
          <AlertDialog.Description className="mt-1 text-muted" render={<div />}>
            {text}
          </AlertDialog.Description>
          <div className="mt-4 flex justify-end gap-2">
            <Button onClick={onClose}>{dismiss}</Button>
            <Button
              look="danger"
              onClick={() => {
                onConfirm();
                onClose();
              }}
            >
              {action}
            </Button>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
