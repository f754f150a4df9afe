import { Bug, Check, GitMerge, Pencil, Play, RotateCcw, Square, Trash2, Undo2, X } from "lucide-react";
import type { ReactNode } from "react";
import type { CardInfo } from "@/api/types";
import { actionsOf, type CardAction } from "@/features/card/card-actions";
import { Button } from "@/ui/button";
import { Menu, type MenuItem } from "@/ui/menu";

type PlainAction = Exclude<CardAction["kind"], "move">;

const LABELS: Record<PlainAction, string> = {
  start: "Start",
  retry: "Retry…",
  debug: "Debug",
  cancel: "Cancel…",
  approve: "Approve…",
  update: "Update branch",
  reject: "Reject…",
  edit: "Edit…",
  delete: "Delete…",
};

const ICONS: Record<PlainAction | "move", ReactNode> = {
  start: <Play className="size-3.5" />,
  retry: <RotateCcw className="size-3.5" />,
  debug: <Bug className="size-3.5" />,
  cancel: <Square className="size-3.5 text-failed" />,
  approve: <Check className="size-3.5" />,
  update: <GitMerge className="size-3.5" />,
  reject: <X className="size-3.5" />,
  edit: <Pencil className="size-3.5" />,
  delete: <Trash2 className="size-3.5" />,
  move: <Undo2 className="size-3.5" />,
};

const IN_MENU: ReadonlySet<CardAction["kind"]> = new Set(["edit", "delete"]);
const isInMenu = (action: CardAction) => (action.kind === "move" ? !action.isMain : IN_MENU.has(action.kind));
const PRIMARY: ReadonlySet<CardAction["kind"]> = new Set(["start", "approve"]);

type CardButtonsProps = {
  card: CardInfo;
  /** The action that the server is asked for. */
  busy: CardAction["kind"] | null;
  onAction: (action: CardAction) => void;
};

/** The actions that the card has where it is: the likely ones as buttons, the others in a menu. */
export function CardButtons({ card, busy, onAction }: CardButtonsProps) {
  const actions = actionsOf(card);
  const items: MenuItem[] = actions.filter(isInMenu).map((action) => ({
    label: labelOf(action),
    icon: ICONS[action.kind],
    isDanger: action.kind === "delete",
    onSelect: () => onAction(action),
  }));
  return (
    <div role="group" aria-label="Actions" className="flex flex-wrap items-center gap-1.5">
      {actions
        .filter((action) => !isInMenu(action))
        .map((action, at) => (
          <Button
            key={labelOf(action)}
            look={PRIMARY.has(action.kind) && at === 0 ? "primary" : action.kind === "reject" ? "danger" : "plain"}
            icon={ICONS[action.kind]}
            isBusy={busy === action.kind}
            disabled={busy !== null}
            onClick={() => onAction(action)}
          >
            {labelOf(action)}
          </Button>
        ))}
      <Menu
        trigger={
          <Button look="quiet" aria-label="More">
            ···
          </Button>
        }
        items={items}
      />
    </div>
  );
}

function labelOf(action: CardAction): string {
  return action.kind === "move" ? action.label : LABELS[action.kind];
}
