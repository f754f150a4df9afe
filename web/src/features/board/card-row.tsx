import { useDraggable } from "@dnd-kit/core";
import { memo } from "react";
import { Link } from "wouter";
import type { CardSummary } from "@/api/types";
import { cardLink } from "@/core/links";
import { useBoardParts } from "@/features/board/board-parts";
import { CardFace } from "@/features/board/card-face";
import { useStore } from "@/features/board/store";
import { classNames } from "@/ui/class-names";

export const CARD_LOOK = "block rounded-md border bg-surface p-2 text-left";

type CardRowProps = { card: CardSummary; canDrag: boolean };

/** A card in its column: opened by a click or Enter, dragged by the pointer or Space. */
export const CardRow = memo(function CardRow({ card, canDrag }: CardRowProps) {
  const { cursor } = useBoardParts();
  const isCurrent = useStore(cursor, (id) => id === card.id);
  const { setNodeRef, listeners, attributes, isDragging } = useDraggable({
    id: card.id,
    data: { card },
    disabled: !canDrag,
  });
  return (
    <Link
      ref={setNodeRef}
      href={cardLink(card.id)}
      data-card={card.id}
      draggable={false}
      tabIndex={isCurrent ? 0 : -1}
      aria-describedby={canDrag ? attributes["aria-describedby"] : undefined}
      onFocus={() => cursor.set(card.id)}
      {...listeners}
      className={classNames(
        CARD_LOOK,
        "touch-manipulation select-none hover:border-line-strong",
        card.run_status === "paused" ? "border-paused-fill" : "border-line",
        isDragging && "opacity-40",
      )}
    >
      <CardFace card={card} />
    </Link>
  );
});
