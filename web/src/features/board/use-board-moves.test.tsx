import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, render, renderHook, screen, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, expect, test, vi } from "vitest";
import { boardKey } from "@/api/card-queries";
import type { Board, CardSummary } from "@/api/types";
import { boardWith, cardOf, infoOf } from "@/features/board/example-cards";
import { useBoardMoves } from "@/features/board/use-board-moves";
import { Toasts } from "@/ui/toast";

afterEach(cleanup);

const FILTER = { label: "", profile: "", search: "" };
type Sent = { path: string; body: unknown; version: string | null; answer: (status: number, body: unknown) => void };

/** A board, and a server that answers when it is told to. */
function stage(...cards: CardSummary[]) {
  const sent: Sent[] = [];
  vi.stubGlobal("fetch", (url: string, { method, headers, body }: RequestInit) => {
    if (method !== "POST") return Promise.resolve(new Response(JSON.stringify(boardWith(...cards))));
    return new Promise((resolve) => {
      sent.push({
        path: url.replace("/api/v1/cards/", ""),
        body: JSON.parse(String(body)),
        version: new Headers(headers).get("if-match"),
        answer: (status, answer) => resolve(new Response(JSON.stringify(answer), { status })),
      });
    });
  });
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } });
  const key = [...boardKey("shop"), FILTER];
  client.setQueryData<Board>(key, boardWith(...cards));
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={client}>{children}</QueryClientProvider>
  );
  const { result } = renderHook(() => useBoardMoves("shop", FILTER), { wrapper });
  render(<Toasts />);
  const shown = (status: CardSummary["status"]) =>
    client.getQueryData<Board>(key)?.columns.find((column) => column.status === status);
  return {
    moves: result.current,
    sent,
    shown,
    numbers: (status: CardSummary["status"]) => shown(status)?.cards.map((card) => card.number),
  };
}

test("a move is shown at once, and stays when the server has accepted it", async () => {
  const [one, two] = [cardOf(1, { version: 4 }), cardOf(2)];
  const { moves, sent, numbers, shown } = stage(one, two);
  const moved = moves.move(one, { status: "todo", after: "shop-2" });
  expect(numbers("todo")).toEqual([2, 1]);
  await waitFor(() => expect(sent).toHaveLength(1));
  expect(sent[0]).toMatchObject({ path: "shop-1/move", body: { status: "todo", after: "shop-2" }, version: '"4"' });
  sent[0]?.answer(200, infoOf({ ...one, version: 5, position: 3 }));
  await moved;
  expect(shown("todo")?.cards.at(-1)).toEqual({ ...one, version: 5, position: 3 });
});

test("a move of a card that another user has changed is taken back, and said", async () => {
  const [one, two] = [cardOf(1), cardOf(2)];
  const { moves, sent, numbers } = stage(one, two);
  const moved = moves.move(one, { status: "todo", after: "shop-2" });
  await waitFor(() => expect(sent).toHaveLength(1));
  sent[0]?.answer(412, { status: 412, code: "request.changed.card", detail: "changed" });
  await act(() => moved);
  expect(numbers("todo")).toEqual([1, 2]);
  await screen.findByText("Card #1 was changed by another user. Look at it and try again.");
});

test("a card that is started is shown as queued, and goes back when it cannot be", async () => {
  const one = cardOf(1, { reason: "rejected" });
  const { moves, sent, numbers, shown } = stage(one);
  const started = moves.start(one);
  expect(shown("in_progress")?.cards[0]).toMatchObject({ number: 1, run_status: "pending", reason: null });
  await waitFor(() => expect(sent).toHaveLength(1));
  sent[0]?.answer(409, { status: 409, code: "refused.move", detail: "card shop-1 cannot be started: no agent" });
  await act(() => started);
  expect(numbers("in_progress")).toEqual([]);
  expect(shown("todo")?.cards[0]).toEqual(one);
  await screen.findByText("card shop-1 cannot be started: no agent");
});

test("two moves of a card are sent one after the other, the second with the version of the first", async () => {
  const [one, two, three] = [cardOf(1), cardOf(2), cardOf(3)];
  const { moves, sent, numbers } = stage(one, two, three);
  const first = moves.move(one, { status: "todo", after: "shop-2" });
  const second = moves.move(one, { status: "todo", after: "shop-3" });
  expect(numbers("todo")).toEqual([2, 3, 1]);
  await waitFor(() => expect(sent).toHaveLength(1));
  sent[0]?.answer(200, infoOf({ ...one, version: 2 }));
  await first;
  await waitFor(() => expect(sent).toHaveLength(2));
  expect(sent[1]?.version).toBe('"2"');
  sent[1]?.answer(200, infoOf({ ...one, version: 3 }));
  await second;
  expect(numbers("todo")).toEqual([2, 3, 1]);
});

test("an approval that is refused says why, and the card stays", async () => {
  const one = cardOf(1, { status: "in_review", head_sha: "abc", branch: "card/1" });
  const { moves, sent, numbers } = stage(one);
  const approved = moves.approve(one, { expect: "abc", method: "squash" });
  await waitFor(() => expect(sent).toHaveLength(1));
  expect(sent[0]?.body).toEqual({ expect: "abc", method: "squash" });
  sent[0]?.answer(409, { status: 409, code: "refused.merge_conflict", detail: "cannot merge" });
  expect(await approved).toContain("conflicts with its base");
  expect(numbers("in_review")).toEqual([1]);
});
