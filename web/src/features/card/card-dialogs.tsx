import type { ReactNode } from "react";
import { cardApi } from "@/api/card-client";
import { isMergeConflict } from "@/api/card-queries";
import type { AttemptInfo, CardInfo } from "@/api/types";
import { ApproveDialog } from "@/features/card/approve-dialog";
import { CancelDialog } from "@/features/card/cancel-dialog";
import { DeleteDialog } from "@/features/card/delete-dialog";
import { RejectDialog } from "@/features/card/reject-dialog";
import { StartDialog } from "@/features/card/start-dialog";
import type { Change } from "@/features/card/use-card-change";
import { toast } from "@/ui/toast";

/** What is asked for in a dialog. */
export type Asking = "retry" | "cancel" | "approve" | "reject" | "edit" | "delete";

type CardDialogsProps = {
  card: CardInfo;
  attempts: readonly AttemptInfo[];
  asking: Asking | null;
  change: Change;
  drawEditing: (onClose: () => void) => ReactNode;
  onDeleted: () => void;
  onClose: () => void;
};

/** The dialog that is open. It stays open, with all that was typed, until the server has agreed or the user cancels. */
export function CardDialogs({ card, attempts, asking, change, drawEditing, onDeleted, onClose }: CardDialogsProps) {
  const { id, version } = card;
  switch (asking) {
    case null:
      return null;
    case "retry":
      return (
        <StartDialog
          card={card}
          attempts={attempts}
          profiles={profilesOf(card, attempts)}
          onStart={(form) => change(() => cardApi.start(id, form, version, crypto.randomUUID()))}
          onClose={onClose}
        />
      );
    case "cancel":
      return (
        <CancelDialog attempt={card.attempt} onCancel={() => change(() => cardApi.cancel(id))} onClose={onClose} />
      );
    case "approve":
      return (
        <ApproveDialog
          card={card}
          onApprove={(form) =>
            change(async () => {
              try {
                const merged = await cardApi.approve(id, form, version, crypto.randomUUID());
                toast(`Merged into ${card.base}`, "good");
                return merged;
              } catch (error) {
                if (!isMergeConflict(error)) throw error;
                toast(`Cannot merge into ${card.base}: resolve the conflicts first.`, "bad");
                return null; // the card shows what conflicts, and what can be done about it
              }
            })
          }
          onClose={onClose}
        />
      );
    case "reject":
      return (
        <RejectDialog
          branch={card.branch}
          onReject={(form) => change(() => cardApi.reject(id, form, version))}
          onClose={onClose}
        />
      );
    case "edit":
      return drawEditing(onClose);
    case "delete":
      return (
        <DeleteDialog
          card={card}
          onDelete={async ({ deletesBranch }) => {
            try {
              await cardApi.remove(id, { deleteBranch: deletesBranch });
            } catch (error) {
              return (error as Error).message;
            }
            onDeleted();
            return null;
          }}
          onClose={onClose}
        />
      );
  }
}

/** The agents that have worked on the card. */
function profilesOf(card: CardInfo, attempts: readonly AttemptInfo[]): string[] {
  const all = [card.profile, ...attempts.map(({ profile }) => profile)].filter((profile) => profile !== null);
  return [...new Set(all)].sort();
}
