import { Plus, SquareKanban } from "lucide-react";
import { Button } from "@/ui/button";
import { Empty } from "@/ui/feedback";

/** A board without cards: what a card is, and how to make the first one. */
export function NoCards({ canChange, onCreate }: { canChange: boolean; onCreate: () => void }) {
  return (
    <Empty
      icon={<SquareKanban className="size-6" />}
      title="No cards yet"
      action={
        canChange && (
          <Button look="primary" icon={<Plus className="size-3.5" />} onClick={onCreate}>
            New card
          </Button>
        )
      }
    >
      A card is a piece of work on its own branch: an agent, a script or a flow does it, and you review and merge it.
    </Empty>
  );
}
