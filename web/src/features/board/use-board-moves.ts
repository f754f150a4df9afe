import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import { type BoardFilter, cardApi } from "@/api/card-client";
import {
  boardQuery,
  cardKey,
  isMergeConflict,
  isStaleCard,
  movingKey,
  refreshBoards,
  summaryOf,
} from "@/api/card-queries";
import type { ApprovalForm, Board, CardInfo, CardSummary, RejectionForm } from "@/api/types";
import { endOf, findCard, type Place, placeOf, withMove } from "@/core/board-view";
import { toast } from "@/ui/toast";

type Change = {
  card: CardSummary;
  /** Where the board shows it at once, if it does, and what else it then shows of it. */
  shown: { place: (board: Board) => Place; changes?: Partial<CardSummary> } | null;
  send: (version: number) => Promise<CardInfo>;
  /** Whether the board has to be asked for nothing else when this is done. */
  isWhole?: boolean;
};

/** Why a change was refused, in words. */
export function refusalOf(error: unknown, card: Pick<CardSummary, "number">): string {
  if (isStaleCard(error)) return `Card #${card.number} was changed by another user. Look at it and try again.`;
  if (isMergeConflict(error)) return "The branch conflicts with its base. Open the card to resolve the conflicts.";
  return (error as Error).message;
}

/** Changes of cards on a board: shown at once where possible, and taken back when the server refuses. */
export function useBoardMoves(repo: string, filter: BoardFilter) {
  const client = useQueryClient();
  const { mutateAsync } = useMutation({
    mutationKey: movingKey(repo),
    scope: { id: `moving-${repo}` }, // one after the other, each with the version that the last one made
    networkMode: "always",
    mutationFn: ({ card, send }: Change) => send(findCard(board() ?? NO_BOARD, card.id)?.version ?? card.version),
    onMutate: async ({ card, shown }: Change) => {
      const isStale = client.isFetching({ queryKey }) > 0;
      const cancelled = client.cancelQueries({ queryKey });
      const before = board();
      const place = before && placeOf(before, card.id);
      if (before && shown) client.setQueryData(queryKey, withMove(before, card.id, shown.place(before), shown.changes));
      await cancelled;
      return { place, isStale };
    },
    onError: (_error, { card, shown }, context) => {
      const now = board();
      if (now && shown && context?.place) client.setQueryData(queryKey, withMove(now, card.id, context.place, card));
    },
    onSuccess: (card) => {
      const now = board();
      const place = now && placeOf(now, card.id);
      if (!now || !place) return;
      const to = place.status === card.status ? place : endOf(now, card.status);
      client.setQueryData(queryKey, withMove(now, card.id, to, summaryOf(card)));
    },
    onSettled: (_answer, error, { card, isWhole }, context) => {
      void client.invalidateQueries({ queryKey: cardKey(card.id) });
      if (error || !isWhole || context?.isStale) void refreshBoards(client, repo);
    },
  });
  const { queryKey } = boardQuery(client, repo, filter);
  const board = () => client.getQueryData(queryKey);
  return useMemo(() => {
    /** Null if it was done, or why it was not. */
    const ask = async (change: Change): Promise<string | null> => {
      try {
        await mutateAsync(change);
        return null;
      } catch (error) {
        return refusalOf(error, change.card);
      }
    };
    const tell = async (change: Change) => {
      const refused = await ask(change);
      if (refused !== null) toast(refused, "bad");
    };
    return {
      move: (card: CardSummary, place: Place) =>
        tell({
          card,
          shown: { place: () => place },
          send: (version) => cardApi.move(card.id, place, version),
          isWhole: true,
        }),
      start: (card: CardSummary) =>
        tell({
          card,
          shown: { place: (now) => endOf(now, "in_progress"), changes: JUST_STARTED },
          send: (version) => cardApi.start(card.id, {}, version),
        }),
      cancel: (card: CardSummary) => tell({ card, shown: null, send: () => cardApi.cancel(card.id) }),
      approve: (card: CardSummary, form: ApprovalForm) =>
        ask({ card, shown: null, send: (version) => cardApi.approve(card.id, form, version) }),
      reject: (card: CardSummary, form: RejectionForm) =>
        ask({ card, shown: null, send: (version) => cardApi.reject(card.id, form, version) }),
    };
  }, [mutateAsync]);
}

const NO_BOARD = { columns: [], labels: [], profiles: [] };
const JUST_STARTED = { run_status: "pending", reason: null, live: null } as const;
