import { expect, test } from "vitest";
import {
  type BoardCard,
  type BoardOf,
  type CardStatus,
  dropMeaning,
  endOf,
  firstCard,
  gapWords,
  neighborOf,
  nextGap,
  placeAt,
  placeOf,
  refreshAfter,
  STATUSES,
  type WorkKind,
  withCard,
  withMove,
  withoutCard,
  withPage,
  withTop,
} from "@/core/board-view";

function card(id: string, changes: Partial<BoardCard> = {}): BoardCard {
  return { id, status: "todo", position: 0, version: 1, work: "agent", run: null, judges: [], ...changes };
}

/** A board by the ids of its cards: `{ todo: "a b", done: "c" }`. */
function boardOf(ids: Partial<Record<CardStatus, string>>, changes: Partial<BoardCard> = {}): BoardOf<BoardCard> {
  const columns = STATUSES.map((status) => {
    const cards = (ids[status] ?? "").split(" ").filter(Boolean);
    const made = cards.map((id, position) => card(id, { status, position, ...changes }));
    return { status, count: cards.length, cards: made, next: null };
  });
  return { columns, labels: [], profiles: [] };
}

function idsOf(board: BoardOf<BoardCard>): Record<string, string> {
  const shown = board.columns.filter(({ count, cards }) => count > 0 || cards.length > 0);
  return Object.fromEntries(
    shown.map(({ status, cards, count }) => [status, `${cards.map(({ id }) => id).join(" ")} (${count})`]),
  );
}

/** What each drop means for a card, in the order of the columns. */
function kinds(work: WorkKind, from: CardStatus): string[] {
  return STATUSES.map((to) => dropMeaning({ status: from, work }, to).kind);
}

test("a drop means what gets a card there; a column that cannot be reached refuses it with a reason", () => {
  expect(kinds("agent", "todo")).toEqual(["move", "start", "refused", "refused", "refused"]);
  expect(kinds("agent", "in_progress")).toEqual(["cancel", "move", "refused", "refused", "refused"]);
  expect(kinds("agent", "in_review")).toEqual(["reject", "refused", "move", "approve", "refused"]);
  expect(kinds("agent", "done")).toEqual(["move", "refused", "refused", "move", "refused"]);
  expect(kinds("agent", "failed")).toEqual(["move", "start", "refused", "refused", "move"]);
  for (const status of STATUSES) expect(kinds("flow", status)).toEqual(kinds("agent", status));

  expect(kinds("none", "todo")).toEqual(["move", "move", "refused", "refused", "refused"]);
  expect(kinds("none", "in_progress")).toEqual(["move", "move", "move", "refused", "move"]);
  expect(kinds("none", "in_review")).toEqual(["reject", "move", "move", "approve", "move"]);
  expect(kinds("none", "failed")).toEqual(["move", "move", "refused", "refused", "move"]);

  for (const work of ["agent", "none"] as const) {
    for (const status of STATUSES) {
      for (const to of STATUSES) {
        const meaning = dropMeaning({ status, work }, to);
        if (meaning.kind === "refused") expect(meaning.reason).toMatch(/^[A-Z][^.]{10,60}\.$/);
      }
    }
  }
});

test("a move puts a card behind another one, first, or in another column, and counts follow", () => {
  const board = boardOf({ todo: "a b c", done: "d" });
  expect(idsOf(withMove(board, "a", { status: "todo", after: "b" }))).toEqual({ todo: "b a c (3)", done: "d (1)" });
  expect(idsOf(withMove(board, "c", { status: "todo", after: null })).todo).toBe("c a b (3)");
  const moved = withMove(board, "b", { status: "in_progress", after: null }, { run: "r1" });
  expect(idsOf(moved)).toEqual({ todo: "a c (2)", in_progress: "b (1)", done: "d (1)" });
  expect(moved.columns[1]?.cards[0]).toMatchObject({ id: "b", status: "in_progress", run: "r1" });
  expect(withMove(board, "unknown", { status: "done", after: null })).toBe(board);
  expect(withMove(moved, "b", placeOf(board, "b") ?? { status: "done", after: null }, { run: null })).toEqual(board);
});

test("a column that a move does not concern stays the same object, so that it is not drawn again", () => {
  const board = boardOf({ todo: "a b", in_review: "c", done: "d" });
  const moved = withMove(board, "a", { status: "done", after: "d" });
  expect(moved.columns[2]).toBe(board.columns[2]);
  expect(idsOf(withoutCard(board, "c"))).toEqual({ todo: "a b (2)", done: "d (1)" });
});

test("a place is told by the card before it, which is never the dragged one", () => {
  const cards = [card("a"), card("b"), card("c")];
  expect(placeAt(cards, "todo", 0, "c")).toEqual({ status: "todo", after: null });
  expect(placeAt(cards, "todo", 2, "b")).toEqual({ status: "todo", after: "a" }); // behind itself is where it is
  expect(placeAt(cards, "todo", 3, "b")).toEqual({ status: "todo", after: "c" });
  expect(endOf(boardOf({ todo: "a b" }), "todo")).toEqual({ status: "todo", after: "b" });
  expect(endOf(boardOf({}), "done")).toEqual({ status: "done", after: null });
});

test("a newer state of a card is shown where it is now; an older one is ignored", () => {
  const board = boardOf({ todo: "a b", done: "c d" }, { version: 4 });
  const changed = withCard(board, card("b", { version: 5, position: 1, run: "r1" }));
  expect(changed?.columns[0]?.cards.map(({ run }) => run)).toEqual([null, "r1"]);
  expect(changed?.columns[3]).toBe(board.columns[3]);
  expect(withCard(board, card("a", { version: 3, run: "r0" }))).toBe(board);
  expect(withCard(board, card("new", { version: 5 }))).toBeNull();

  const shown = (changes: Partial<BoardCard>) => {
    const next = withCard(board, card("a", { version: 5, ...changes }));
    return next && idsOf(next);
  };
  expect(shown({ position: 1.5 })).toEqual({ todo: "b a (2)", done: "c d (2)" });
  expect(shown({ position: 0.5, status: "done" })).toEqual({ todo: "b (1)", done: "c a d (3)" });
  expect(shown({ position: 9, status: "done" })).toEqual({ todo: "b (1)", done: "c d a (3)" });
  for (const column of board.columns) column.next = "more";
  expect(shown({ position: 9, status: "done" })).toEqual({ todo: "b (1)", done: "c d (3)" }); // on a page not loaded
});

test("the first cards of each column are replaced, and the pages behind them stay", () => {
  const board = boardOf({ todo: "a b c d e", done: "f" });
  const top = boardOf({ todo: "b x", done: "a" });
  const [todo, , , done] = top.columns;
  Object.assign(todo ?? {}, { count: 6, next: "after x" });
  Object.assign(board.columns[0] ?? {}, { next: "after e" });
  Object.assign(done ?? {}, { next: null });
  const merged = withTop(board, top);
  expect(idsOf(merged)).toEqual({ todo: "b x c d e (6)", done: "a (1)" });
  expect(merged.columns[0]?.next).toBe("after e");
  expect(withTop(boardOf({ todo: "a" }), top).columns[0]?.next).toBe("after x");
});

test("a page is added once, without the cards that the column has already", () => {
  const board = boardOf({ todo: "a b" });
  const first = { ...board, columns: board.columns.map((each) => ({ ...each, next: each.count > 0 ? "2" : null })) };
  const page = { status: "todo" as const, count: 4, cards: [card("b"), card("c"), card("d")], next: null };
  const whole = withPage(first, page, "2");
  expect(idsOf(whole)).toEqual({ todo: "a b c d (4)" });
  expect(whole.columns[0]?.next).toBeNull();
  expect(withPage(whole, page, "2")).toEqual(whole);
});

test("arrow keys lead up and down a column, and to the next one that has cards", () => {
  const board = boardOf({ todo: "a b c", in_review: "d e" });
  const lead = (from: string, ...keys: string[]) => keys.map((key) => neighborOf(board, from, key));
  expect(lead("b", "ArrowUp", "ArrowDown", "Home", "End")).toEqual(["a", "c", "a", "c"]);
  expect(lead("c", "ArrowDown", "ArrowRight", "ArrowLeft", "x")).toEqual([null, "e", null, null]);
  expect(lead("d", "ArrowLeft", "ArrowRight")).toEqual(["a", null]);
  expect(neighborOf(board, "unknown", "ArrowUp")).toBeNull();
  expect(firstCard(board)).toBe("a");
  expect(firstCard(boardOf({}))).toBeNull();
});

test("while a card is dragged, arrow keys lead from gap to gap, and only to columns that accept it", () => {
  const board = boardOf({ todo: "a b c", in_progress: "d", failed: "e" });
  const dragged = board.columns[0]?.cards[1] ?? card("b");
  const from = { status: "todo", index: 1 } as const;
  expect(nextGap(board, dragged, from, "ArrowDown")).toEqual({ status: "todo", index: 3 });
  expect(nextGap(board, dragged, { status: "todo", index: 3 }, "ArrowUp")).toEqual({ status: "todo", index: 1 });
  expect(nextGap(board, dragged, { status: "todo", index: 3 }, "ArrowDown")).toBeNull();
  expect(nextGap(board, dragged, from, "ArrowUp")).toEqual({ status: "todo", index: 0 });
  expect(nextGap(board, dragged, { status: "todo", index: 3 }, "ArrowRight")).toEqual({
    status: "in_progress",
    index: 1,
  });
  expect(nextGap(board, dragged, { status: "in_progress", index: 0 }, "ArrowRight")).toBeNull();
  expect(nextGap(board, dragged, { status: "in_progress", index: 0 }, "ArrowLeft")).toEqual({
    status: "todo",
    index: 0,
  });
});

test("a gap is told in words, by its position or by what a drop there does", () => {
  const board = boardOf({ todo: "a b c", in_review: "d" });
  const [a = card("a")] = board.columns[0]?.cards ?? [];
  const words = (status: CardStatus, index: number, dragged = a) => gapWords(board, dragged, { status, index });
  expect(words("todo", 0)).toBe("Todo, position 1 of 3.");
  expect(words("todo", 2)).toBe("Todo, position 2 of 3.");
  expect(words("todo", 3)).toBe("Todo, position 3 of 3.");
  expect(words("in_progress", 0)).toBe("In progress. Dropping the card starts its work.");
  expect(words("done", 0)).toBe("Done does not accept the card. Only a card in review can be approved.");
  expect(words("todo", 0, card("d", { status: "in_review" }))).toBe(
    "Todo. Dropping the card asks for the reason to reject it.",
  );
  expect(words("in_progress", 0, card("a", { work: "none" }))).toBe("In progress, position 1 of 1.");
});

const news = (kind: string, body: Record<string, unknown> = {}) => ({ kind, body });

const parts = (changes: { cards?: string[]; deleted?: string[]; needsTop?: boolean } = {}) => ({
  kind: "parts",
  cards: [],
  deleted: [],
  needsTop: false,
  ...changes,
});

test("news ask only for what they make stale", () => {
  const board = boardOf({ todo: "a b" }, { version: 3, run: "r1" });
  const after = (...told: ReturnType<typeof news>[]) => refreshAfter(board, told);
  expect(after()).toEqual({ kind: "everything" });
  expect(after(news("attempt.progress", { card: "b" }), news("attempt.progress", { card: "b" }))).toEqual(
    parts({ cards: ["b"] }),
  );
  for (const kind of ["card.changed", "card.moved", "merge.done", "attempt.ended"]) {
    expect(after(news(kind, { card: "a", version: 4 }))).toEqual(parts({ cards: ["a"] }));
  }
  expect(after(news("attempt.progress", { card: "unknown" }), news("card.noted", { card: "a" }))).toEqual(parts());
  expect(after(news("push.received"))).toEqual(parts());
  expect(after(news("card.deleted", { card: "a" }), news("card.changed", { card: "a", version: 4 }))).toEqual(
    parts({ deleted: ["a"] }),
  );
  for (const kind of ["card.created", "card.moved", "card.deleted"]) {
    expect(after(news(kind, { card: "on a page that is not loaded" }))).toEqual(parts({ needsTop: true }));
  }
  expect(after(news("card.noted"), news("land.done"))).toEqual({ kind: "everything" });
});

test("what this page has changed itself is not asked for again", () => {
  const board = boardOf({ todo: "a" }, { version: 3 });
  expect(refreshAfter(board, [news("card.moved", { card: "a", version: 3 })])).toEqual(parts());
  expect(refreshAfter(board, [news("card.changed", { card: "a", version: 2 })])).toEqual(parts());
  expect(refreshAfter(board, [news("attempt.progress", { card: "a", version: 3 })])).toEqual(parts({ cards: ["a"] }));
});

test("news of a run concern the cards that it works on, or judges", () => {
  const board = boardOf({ in_progress: "a", in_review: "b c" });
  const [, progress, review] = board.columns;
  Object.assign(progress?.cards[0] ?? {}, { run: "r1" });
  Object.assign(review?.cards[1] ?? {}, { judges: ["r2"] });
  expect(refreshAfter(board, [news("run.paused", { run: "r1" })])).toEqual(parts({ cards: ["a"] }));
  expect(refreshAfter(board, [news("run.ended", { run: "r2" })])).toEqual(parts({ cards: ["c"] }));
  expect(refreshAfter(board, [news("run.ended", { run: "r3" })])).toEqual(parts());
  expect(refreshAfter(board, [news("run.created", { run: "r3" })])).toEqual(parts({ needsTop: true })); // it may judge
  expect(refreshAfter(boardOf({ todo: "a" }), [news("run.created", { run: "r3" })])).toEqual(parts());
});

test("news of many cards ask for the board once", () => {
  const board = boardOf({ todo: "a b c d e f g" });
  const many = ["a", "b", "c", "d", "e", "f"].map((id) => news("attempt.progress", { card: id }));
  expect(refreshAfter(board, many)).toEqual({ kind: "everything" });
});
