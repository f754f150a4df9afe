/** Hooks over the routes of cards. A board is stored below `["board", repo]`, and a card below `["card", id]`. */

import { type QueryClient, type QueryKey, queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useRef, useState } from "react";
import { type BoardFilter, type CardRange, cardApi, WHOLE_CARD } from "@/api/card-client";
import { ApiError } from "@/api/client";
import { type News, useFeed } from "@/api/feed";
import { pollMilliseconds } from "@/api/queries";
import type { Connection } from "@/api/sse";
import type { Board, CardInfo, CardSummary, Diff, NewCardForm } from "@/api/types";
import {
  type CardStatus,
  columnOf,
  joinPages,
  refreshAfter,
  withCard,
  withoutCard,
  withPage,
  withTop,
} from "@/core/board-view";

const PAGE = 100; // cards of a column, the most that is answered

export const boardKey = (repo: string) => ["board", repo] as const;
export const cardKey = (card: string) => ["card", card] as const;

/** Whether a change was refused because another user has changed the card since it was read. */
export function isStaleCard(error: unknown): boolean {
  return error instanceof ApiError && error.code === "request.changed.card";
}

export function isMergeConflict(error: unknown): boolean {
  return error instanceof ApiError && error.code === "refused.merge_conflict";
}

export function boardQuery(client: QueryClient, repo: string, filter: BoardFilter) {
  const queryKey = [...boardKey(repo), filter] as const;
  return queryOptions({
    queryKey,
    queryFn: ({ signal }) => loadBoard(repo, filter, client.getQueryData<Board>(queryKey), signal),
  });
}

/** The board, with as many cards of each column as were loaded before. */
async function loadBoard(
  repo: string,
  filter: BoardFilter,
  before: Board | undefined,
  signal: AbortSignal,
): Promise<Board> {
  const board = await cardApi.board(repo, filter, signal);
  const columns = await Promise.all(
    board.columns.map(async (first) => {
      const wanted = before ? (columnOf(before, first.status)?.cards.length ?? 0) : 0;
      let column = first;
      while (column.next !== null && column.cards.length < wanted) {
        const query = { ...filter, cursor: column.next, limit: Math.min(PAGE, wanted - column.cards.length) };
        column = joinPages(column, await cardApi.column(repo, first.status, query, signal));
      }
      return column;
    }),
  );
  return { ...board, columns };
}

/** The columns of a repository, each with the cards that are loaded. `useBoardFeed` keeps them current. */
export function useBoard(repo: string, filter: BoardFilter, connection: Connection = "live") {
  const client = useQueryClient();
  return useQuery({
    ...boardQuery(client, repo, filter),
    placeholderData: (previous, query) => (query?.queryKey[1] === repo ? previous : undefined),
    refetchInterval: ({ state }) => pollMilliseconds(connection, isAnyRunning(state.data)),
  });
}

function isAnyRunning(board: Board | undefined): boolean {
  return board !== undefined && (columnOf(board, "in_progress")?.count ?? 0) > 0;
}

type MoreCards = { isLoading: boolean; error: Error | null; load: () => void };

/** Loads the next page of a column into the board that `useBoard` shows. */
export function useColumn(repo: string, filter: BoardFilter, status: CardStatus): MoreCards {
  const client = useQueryClient();
  const isBusy = useRef(false);
  const [state, setState] = useState<{ isLoading: boolean; error: Error | null }>({ isLoading: false, error: null });
  const load = useCallback(async () => {
    const { queryKey } = boardQuery(client, repo, filter);
    const board = client.getQueryData(queryKey);
    const cursor = board && columnOf(board, status)?.next;
    if (!cursor || isBusy.current) return;
    isBusy.current = true;
    setState({ isLoading: true, error: null });
    try {
      const page = await cardApi.column(repo, status, { ...filter, cursor, limit: PAGE });
      client.setQueryData(queryKey, (now) => now && withPage(now, page, cursor));
      setState({ isLoading: false, error: null });
    } catch (error) {
      setState({ isLoading: false, error: error as Error });
    } finally {
      isBusy.current = false;
    }
  }, [client, repo, filter, status]);
  return { ...state, load: useCallback(() => void load(), [load]) };
}

/** Follow the cards of a repository. */
export function useBoardFeed(repo: string): Connection {
  const client = useQueryClient();
  return useFeed([`repo:${repo}`], (news) => refreshAfterNews(client, repo, news));
}

/** The key of mutations that change a board before the server has answered. */
export const movingKey = (repo: string) => ["moving", repo] as const;

/** Ask for the boards of a repository again. */
export function refreshBoards(client: QueryClient, repo: string): Promise<void> {
  return client.invalidateQueries({ queryKey: boardKey(repo) });
}

/** Bring the board that is shown up to date: with as few requests as possible, and not while cards are being moved. */
async function refreshAfterNews(client: QueryClient, repo: string, news: readonly News[]): Promise<void> {
  await movesOf(client, repo);
  const [queryKey, board] = client.getQueriesData<Board>({ queryKey: boardKey(repo), type: "active" })[0] ?? [];
  if (!queryKey || !board) return;
  const filter = queryKey[2] as BoardFilter;
  const refresh = refreshAfter(board, news);
  const mayNotMatch = Object.values(filter).some(Boolean) && news.some(({ kind }) => kind === "card.changed");
  if (refresh.kind === "everything" || mayNotMatch) return refreshBoards(client, repo);
  const { deleted, needsTop } = refresh;
  const [top, ...cards] = await Promise.all([
    needsTop ? cardApi.board(repo, filter) : null,
    ...refresh.cards.map((card) => cardApi.get(card).catch(() => null)),
  ]);
  await movesOf(client, repo);
  client.setQueryData<Board>(queryKey, (now) => {
    if (!now) return now;
    let next: Board = top ? withTop(now, top) : now;
    for (const card of deleted) next = withoutCard(next, card);
    for (const card of cards) next = (card && withCard(next, summaryOf(card))) ?? next;
    return next;
  });
}

/** Resolves when no card of a repository is being moved. */
function movesOf(client: QueryClient, repo: string): Promise<void> {
  const isMoving = () => client.isMutating({ mutationKey: movingKey(repo) }) > 0;
  if (!isMoving()) return Promise.resolve();
  return new Promise((resolve) => {
    const leave = client.getMutationCache().subscribe(() => {
      if (isMoving()) return;
      leave();
      resolve();
    });
  });
}

/** Of a card, what a board shows. */
export function summaryOf(card: CardInfo): CardSummary {
  const { description, work_details, base_sha, merged_sha, conflict, is_branch_gone, unresolved_notes, ...rest } = card;
  const { test, moves, ...summary } = rest;
  return summary;
}

/** What would be run for a card like this; null asks for nothing. */
export function useCardPreview(repo: string, form: NewCardForm | null) {
  return useQuery({
    queryKey: ["card-preview", repo, form],
    queryFn: ({ signal }) => cardApi.preview(repo, form ?? { title: "" }, signal),
    enabled: form !== null,
    placeholderData: (previous) => previous,
    gcTime: 0, // it depends on the files of the repository
  });
}

export function useCard(card: string) {
  return useQuery({ queryKey: [...cardKey(card), "detail"], queryFn: () => cardApi.get(card) });
}

export function useCardNotes(card: string) {
  return useQuery({ queryKey: [...cardKey(card), "notes"], queryFn: () => cardApi.notes(card) });
}

/** The newest first. */
export function useCardAttempts(card: string) {
  return useQuery({ queryKey: [...cardKey(card), "attempts", "list"], queryFn: () => cardApi.attempts(card) });
}

/** An attempt with its flow and its prompt; null asks for none. */
export function useAttempt(card: string, number: number | null) {
  return useQuery({
    queryKey: [...cardKey(card), "attempts", number],
    queryFn: () => cardApi.attempt(card, number ?? 0),
    enabled: number !== null,
  });
}

export function useCardDiff(card: string, range: CardRange = WHOLE_CARD, isWanted = true) {
  return useQuery({
    queryKey: [...cardKey(card), "diff", range],
    queryFn: () => cardApi.diff(card, range),
    enabled: isWanted,
    placeholderData: (previous, query) => (query?.queryKey[1] === card ? previous : undefined),
  });
}

/** What changes in a file between the two commits of a diff, which stay as they are. */
export function useCardPatch(
  card: string,
  range: CardRange,
  path: string,
  { base, head }: Pick<Diff, "base" | "head">,
) {
  return useQuery({
    queryKey: ["card-patch", card, range, path, base, head],
    queryFn: () => cardApi.patch(card, path, range),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Follow a card and its run. */
export function useCardFeed(card: string): Connection {
  const client = useQueryClient();
  return useFeed([`card:${card}`], (news) =>
    Promise.all(keysOfCardNews(card, news).map((queryKey) => client.invalidateQueries({ queryKey }))),
  );
}

/** What of a card to ask for again after some news; after none, all of it. */
export function keysOfCardNews(card: string, news: readonly News[]): QueryKey[] {
  const detail = [...cardKey(card), "detail"];
  const attempts = [...cardKey(card), "attempts"];
  const keys = new Map<string, QueryKey>();
  const add = (...added: QueryKey[]) => {
    for (const key of added) keys.set(key.join("/"), key);
  };
  for (const { kind } of news) {
    if (kind === "card.noted") add(detail, [...cardKey(card), "notes"]);
    else if (kind === "attempt.progress" || kind.startsWith("run.")) add(detail, attempts);
    else return [cardKey(card)];
  }
  return news.length === 0 ? [cardKey(card)] : [...keys.values()];
}
