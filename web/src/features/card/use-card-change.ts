import { useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import { cardKey, isStaleCard } from "@/api/card-queries";
import type { CardInfo } from "@/api/types";
import { toast } from "@/ui/toast";

/** Change something of a card; null when it was done, or why it was not. A note changes less than the rest. */
export type Change = (act: () => Promise<unknown>, what?: "card" | "notes") => Promise<string | null>;

/** Asks for the card anew after each change. One that another user has changed is told in passing, too. */
export function useCardChange(card: string): Change {
  const client = useQueryClient();
  return useCallback(
    async (act, what = "card") => {
      try {
        const answer = await act();
        if (isCard(answer)) client.setQueryData([...cardKey(card), "detail"], answer);
        return null;
      } catch (error) {
        if (isStaleCard(error)) toast("This card was changed by another user. Look at it and try again.", "bad");
        return (error as Error).message;
      } finally {
        const parts = what === "card" ? [[]] : [["detail"], ["notes"]];
        for (const part of parts) void client.invalidateQueries({ queryKey: [...cardKey(card), ...part] });
      }
    },
    [client, card],
  );
}

function isCard(answer: unknown): answer is CardInfo {
  return typeof answer === "object" && answer !== null && "work_details" in answer;
}
