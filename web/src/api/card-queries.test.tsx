import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, renderHook, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, expect, test, vi } from "vitest";
import { cardApi } from "@/api/card-client";
import { isStaleCard, keysOfCardNews, refreshBoards, useBoard, useColumn } from "@/api/card-queries";
import type { News } from "@/api/feed";
import type { CardSummary } from "@/api/types";
import { STATUSES } from "@/core/board-view";

afterEach(cleanup);

const news = (kind: string): News => ({ id: 1, at: 0, topic: "card:shop-1", kind, body: {} });

test("news of a card ask for the parts of it that they concern", () => {
  expect(keysOfCardNews("shop-1", [])).toEqual([["card", "shop-1"]]);
  expect(keysOfCardNews("shop-1", [news("attempt.progress"), news("run.paused")])).toEqual([
    ["card", "shop-1", "detail"],
    ["card", "shop-1", "attempts"],
  ]);
  expect(keysOfCardNews("shop-1", [news("card.noted")])).toEqual([
    ["card", "shop-1", "detail"],
    ["card", "shop-1", "notes"],
  ]);
  expect(keysOfCardNews("shop-1", [news("attempt.progress"), news("attempt.ended")])).toEqual([["card", "shop-1"]]);
});

test("a change names the version that it is based on, and a refusal because of it is known", async () => {
  const asked: { url: string; method?: string; headers: Headers }[] = [];
  vi.stubGlobal("fetch", async (url: string, { method, headers }: RequestInit) => {
    asked.push({ url, method, headers: new Headers(headers) });
    return new Response(JSON.stringify({ status: 412, code: "request.changed.card", detail: "changed" }), {
      status: 412,
    });
  });
  const refusal = await cardApi.move("shop-1", { status: "todo", after: null }, 7).catch((error) => error);
  expect(isStaleCard(refusal)).toBe(true);
  expect(asked[0]?.headers.get("if-match")).toBe('"7"');
  await cardApi.reject("shop-1", { reason: "no" }).catch(() => undefined);
  expect(asked[1]?.headers.has("if-match")).toBe(false);
  await cardApi.remove("shop-1", { deleteBranch: true }).catch(() => undefined);
  expect([asked[2]?.method, asked[2]?.url]).toEqual(["DELETE", "/api/v1/cards/shop-1?delete_branch=true"]);
  await cardApi.diff("shop-1", { from_attempt: 0, to_attempt: 2 }).catch(() => undefined);
  expect(asked[3]?.url).toBe("/api/v1/cards/shop-1/diff?from_attempt=0&to_attempt=2");
});

/** A board with this many cards in todo, answered in pages; the result counts what was asked. */
function serveTodo(count: number): string[] {
  const asked: string[] = [];
  const cards = Array.from({ length: count }, (_, at) => ({ id: `shop-${at}`, position: at, status: "todo" }));
  const page = (from: number, size: number) => ({
    status: "todo",
    count,
    cards: cards.slice(from, from + size) as unknown as CardSummary[],
    next: from + size < count ? String(from + size) : null,
  });
  vi.stubGlobal("fetch", async (url: string) => {
    asked.push(url.replace("/api/v1/repos/shop", ""));
    const query = new URL(url, "http://x").searchParams;
    const others = STATUSES.slice(1).map((status) => ({ status, count: 0, cards: [], next: null }));
    const answer = url.includes("/columns/todo")
      ? page(Number(query.get("cursor")), Number(query.get("limit")))
      : { columns: [page(0, 50), ...others], labels: [], profiles: [] };
    return new Response(JSON.stringify(answer));
  });
  return asked;
}

test("a column is loaded page by page, and as far again when the board is asked for again", async () => {
  const asked = serveTodo(170);
  const client = new QueryClient();
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={client}>{children}</QueryClientProvider>
  );
  const filter = { label: "ui", search: "" };
  const { result } = renderHook(() => ({ board: useBoard("shop", filter), todo: useColumn("shop", filter, "todo") }), {
    wrapper,
  });
  const loaded = () => result.current.board.data?.columns[0]?.cards.length;
  await waitFor(() => expect(loaded()).toBe(50));
  act(() => {
    result.current.todo.load();
    result.current.todo.load(); // the first one is still loading
  });
  await waitFor(() => expect(loaded()).toBe(150));
  expect(asked).toEqual(["/cards?label=ui", "/columns/todo?label=ui&cursor=50&limit=100"]);
  await act(() => refreshBoards(client, "shop"));
  expect(asked.slice(2)).toEqual(["/cards?label=ui", "/columns/todo?label=ui&cursor=50&limit=100"]);
  expect(loaded()).toBe(150);
  act(() => result.current.todo.load());
  await waitFor(() => expect(loaded()).toBe(170));
  act(() => result.current.todo.load());
  expect(asked).toHaveLength(5); // there is no more
});
