/** The board of a repository: what a drop means, what a move changes, and what to ask for again after news. */

export const STATUSES = ["todo", "in_progress", "in_review", "done", "failed"] as const;

export type CardStatus = (typeof STATUSES)[number];
export type WorkKind = "agent" | "run" | "flow" | "none";

/** What the board has to know of a card; whatever else a card has is kept. */
export type BoardCard = {
  id: string;
  status: CardStatus;
  position: number;
  version: number;
  work: WorkKind;
  run: string | null;
  judges: readonly string[];
};

export type BoardColumn<Card extends BoardCard> = {
  status: CardStatus;
  count: number;
  cards: Card[];
  next: string | null;
};

export type BoardOf<Card extends BoardCard> = { columns: BoardColumn<Card>[]; labels: string[]; profiles: string[] };

const TITLES: Record<CardStatus, string> = {
  todo: "Todo",
  in_progress: "In progress",
  in_review: "In review",
  done: "Done",
  failed: "Failed",
};

/** The heading of a column. */
export function columnTitle(status: CardStatus): string {
  return TITLES[status];
}

/** What is done when a card is dropped on a column. */
export type DropMeaning =
  | { kind: "move" }
  | { kind: "start" }
  | { kind: "approve" }
  | { kind: "reject" }
  | { kind: "cancel" }
  | { kind: "refused"; reason: string };

const refused = (reason: string): DropMeaning => ({ kind: "refused", reason });

/** What it means to drop a card on a column. Runs move the cards that they work on; users move those without work. */
export function dropMeaning({ status: from, work }: Pick<BoardCard, "status" | "work">, to: CardStatus): DropMeaning {
  if (from === to) return { kind: "move" };
  const isByHand = work === "none";
  if (from === "done" && to !== "todo") return refused("Move a done card to todo first.");
  switch (to) {
    case "todo":
      if (from === "in_review") return { kind: "reject" };
      return from === "in_progress" && !isByHand ? { kind: "cancel" } : { kind: "move" };
    case "in_progress":
      if (isByHand) return { kind: "move" };
      return from === "in_review" ? refused("Open the card to start another attempt.") : { kind: "start" };
    case "in_review":
      if (from !== "in_progress")
        return refused(isByHand ? "Move the card to in progress first." : "Start the card first.");
      return isByHand ? { kind: "move" } : refused("The card moves to in review when its run passes.");
    case "done":
      return from === "in_review" ? { kind: "approve" } : refused("Only a card in review can be approved.");
    case "failed":
      if (!isByHand) return refused("A card fails when its run fails.");
      return from === "todo" ? refused("Move the card to in progress first.") : { kind: "move" };
  }
}

export function canDrop(card: Pick<BoardCard, "status" | "work">, to: CardStatus): boolean {
  return dropMeaning(card, to).kind !== "refused";
}

/** Another card that the arrow keys lead to: above, below, or about as far down in the next column that has any. */
export function neighborOf(board: BoardOf<BoardCard>, card: string, key: string): string | null {
  const from = board.columns.findIndex(({ cards }) => cards.some(({ id }) => id === card));
  const cards = board.columns[from]?.cards ?? [];
  const at = cards.findIndex(({ id }) => id === card);
  if (at === -1) return null;
  const rows: Record<string, number> = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: cards.length - 1 };
  const row = rows[key];
  if (row !== undefined) return cards[row]?.id ?? null;
  const beyond =
    key === "ArrowRight"
      ? board.columns.slice(from + 1)
      : key === "ArrowLeft"
        ? board.columns.slice(0, from).reverse()
        : [];
  const next = beyond.find((column) => column.cards.length > 0)?.cards ?? [];
  return next[Math.min(at, next.length - 1)]?.id ?? null;
}

/** The first card of the board, from its first column. */
export function firstCard(board: BoardOf<BoardCard>): string | null {
  return board.columns.find(({ cards }) => cards.length > 0)?.cards[0]?.id ?? null;
}

/** A gap of a column that a card can be dropped in: 0 is in front of the first card. */
export type Gap = { status: CardStatus; index: number };

/** The gap that an arrow key leads to while a card is dragged. Columns that refuse it are passed over. */
export function nextGap(
  board: BoardOf<BoardCard>,
  card: Pick<BoardCard, "id" | "status" | "work">,
  gap: Gap,
  key: string,
): Gap | null {
  const lengthOf = (status: CardStatus) => columnOf(board, status)?.cards.length ?? 0;
  if (key === "ArrowUp" || key === "ArrowDown") {
    const step = key === "ArrowUp" ? -1 : 1;
    const own = columnOf(board, gap.status)?.cards.findIndex(({ id }) => id === card.id) ?? -1;
    let index = gap.index + step;
    if (own !== -1 && index === own + 1) index += step; // behind itself is where it is
    return index < 0 || index > lengthOf(gap.status) ? null : { ...gap, index };
  }
  const at = STATUSES.indexOf(gap.status);
  const beyond =
    key === "ArrowRight" ? STATUSES.slice(at + 1) : key === "ArrowLeft" ? STATUSES.slice(0, at).reverse() : [];
  const status = beyond.find((each) => canDrop(card, each));
  return status === undefined ? null : { status, index: Math.min(gap.index, lengthOf(status)) };
}

/** What dropping a card in a gap would do, as a screen reader says it. */
export function gapWords(board: BoardOf<BoardCard>, card: BoardCard, { status, index }: Gap): string {
  const cards = columnOf(board, status)?.cards ?? [];
  const own = cards.findIndex(({ id }) => id === card.id);
  const position = own !== -1 && own < index ? index : index + 1;
  const total = own === -1 ? cards.length + 1 : cards.length;
  const meaning = dropMeaning(card, status);
  switch (meaning.kind) {
    case "move":
      return `${columnTitle(status)}, position ${position} of ${total}.`;
    case "start":
      return "In progress. Dropping the card starts its work.";
    case "approve":
      return "Done. Dropping the card asks how to merge it.";
    case "reject":
      return "Todo. Dropping the card asks for the reason to reject it.";
    case "cancel":
      return "Todo. Dropping the card asks whether to cancel its run.";
    case "refused":
      return `${columnTitle(status)} does not accept the card. ${meaning.reason}`;
  }
}

/** Where a card is put: behind another one, or first in the column. */
export type Place = { status: CardStatus; after: string | null };

/** The place at an index of a column, counted as if the dragged card were not there. */
export function placeAt(cards: readonly Pick<BoardCard, "id">[], status: CardStatus, index: number, dragged: string) {
  const others = cards.slice(0, index).filter(({ id }) => id !== dragged);
  return { status, after: others.at(-1)?.id ?? null } satisfies Place;
}

/** The end of a column, as far as it is loaded: the server puts cards there that get another status. */
export function endOf(board: BoardOf<BoardCard>, status: CardStatus): Place {
  return { status, after: columnOf(board, status)?.cards.at(-1)?.id ?? null };
}

/** Where a card is now. */
export function placeOf(board: BoardOf<BoardCard>, card: string): Place | null {
  for (const { status, cards } of board.columns) {
    const at = cards.findIndex(({ id }) => id === card);
    if (at !== -1) return { status, after: cards[at - 1]?.id ?? null };
  }
  return null;
}

export function columnOf<Card extends BoardCard>(
  board: BoardOf<Card>,
  status: CardStatus,
): BoardColumn<Card> | undefined {
  return board.columns.find((column) => column.status === status);
}

export function findCard<Card extends BoardCard>(board: BoardOf<Card>, id: string): Card | undefined {
  for (const { cards } of board.columns) {
    const found = cards.find((card) => card.id === id);
    if (found) return found;
  }
  return undefined;
}

/** The board without a card. */
export function withoutCard<Card extends BoardCard>(board: BoardOf<Card>, id: string): BoardOf<Card> {
  return changeColumns(board, (column) => {
    const cards = column.cards.filter((card) => card.id !== id);
    return cards.length === column.cards.length ? column : { ...column, cards, count: Math.max(0, column.count - 1) };
  });
}

/** The board with a card at another place, changed as the move changes it. It stays as it is without that card. */
export function withMove<Card extends BoardCard>(
  board: BoardOf<Card>,
  id: string,
  { status, after }: Place,
  changes: Partial<Card> = {},
): BoardOf<Card> {
  const card = findCard(board, id);
  if (!card) return board;
  const moved: Card = { ...card, ...changes, status };
  return changeColumns(withoutCard(board, id), (column) => {
    if (column.status !== status) return column;
    const at = after === null ? 0 : column.cards.findIndex((each) => each.id === after) + 1;
    return { ...column, count: column.count + 1, cards: column.cards.toSpliced(at, 0, moved) };
  });
}

/** The board with a newer state of a card it has, at its place. Null if it does not have the card. */
export function withCard<Card extends BoardCard>(board: BoardOf<Card>, card: Card): BoardOf<Card> | null {
  const known = findCard(board, card.id);
  if (!known) return null;
  if (known.version > card.version) return board;
  const isThere = known.status === card.status && known.position === card.position;
  return changeColumns(isThere ? board : withoutCard(board, card.id), (column) => {
    if (column.status !== card.status) return column;
    if (isThere) return { ...column, cards: column.cards.map((each) => (each.id === card.id ? card : each)) };
    const after = column.cards.findIndex(({ position }) => position > card.position);
    const isLoaded = after !== -1 || column.next === null;
    const cards = isLoaded ? column.cards.toSpliced(after === -1 ? column.cards.length : after, 0, card) : column.cards;
    return { ...column, count: column.count + 1, cards };
  });
}

/** The board with the first cards of each column as they are now; the pages that were loaded behind them stay. */
export function withTop<Card extends BoardCard>(board: BoardOf<Card>, top: BoardOf<Card>): BoardOf<Card> {
  const first = new Set(top.columns.flatMap(({ cards }) => cards.map(({ id }) => id)));
  return changeColumns(top, (column) => {
    const before = columnOf(board, column.status);
    const last = column.cards.at(-1);
    if (!before || !last || column.next === null) return column;
    const behind = before.cards.filter(({ id, position }) => position > last.position && !first.has(id));
    return behind.length === 0 ? column : { ...column, cards: [...column.cards, ...behind], next: before.next };
  });
}

/** A column with its next page: a card that moved meanwhile may be on both. */
export function withPage<Card extends BoardCard>(
  board: BoardOf<Card>,
  page: BoardColumn<Card>,
  cursor: string,
): BoardOf<Card> {
  return changeColumns(board, (column) =>
    column.status === page.status && column.next === cursor ? joinPages(column, page) : column,
  );
}

export function joinPages<Card extends BoardCard>(
  column: BoardColumn<Card>,
  page: BoardColumn<Card>,
): BoardColumn<Card> {
  const known = new Set(column.cards.map(({ id }) => id));
  const cards = [...column.cards, ...page.cards.filter(({ id }) => !known.has(id))];
  return { ...column, cards, count: page.count, next: page.next };
}

function changeColumns<Card extends BoardCard>(
  board: BoardOf<Card>,
  change: (column: BoardColumn<Card>) => BoardColumn<Card>,
): BoardOf<Card> {
  return { ...board, columns: board.columns.map(change) };
}

type News = { kind: string; body: Readonly<Record<string, unknown>> };

/** What to ask for again: some cards and the first ones of each column, or everything that is loaded. */
export type Refresh = { kind: "parts"; cards: string[]; deleted: string[]; needsTop: boolean } | { kind: "everything" };

const MOST_CARDS = 5; // that are asked for one by one
const OF_CARDS = new Set([
  "card.changed",
  "card.moved",
  "attempt.started",
  "attempt.progress",
  "attempt.ended",
  "merge.done",
  "merge.conflicted",
]);
const IS_MOVE = new Set(["card.moved", "merge.done"]);

/** What some news of a repository make stale. After none, which is what a new connection tells, it is everything. */
export function refreshAfter(board: BoardOf<BoardCard>, news: readonly News[]): Refresh {
  if (news.length === 0) return { kind: "everything" };
  const cards = new Set<string>();
  const deleted = new Set<string>();
  let needsTop = false;
  for (const { kind, body } of news) {
    const card = typeof body.card === "string" ? findCard(board, body.card) : undefined;
    if (kind === "land.done") return { kind: "everything" }; // any number of cards may have landed
    if (kind === "card.created") needsTop = true;
    else if (kind === "card.deleted" && card) deleted.add(card.id);
    else if (kind === "card.deleted" || (IS_MOVE.has(kind) && !card)) needsTop = true;
    else if (kind === "run.created") needsTop ||= isAwaitingJudge(board);
    else if (kind.startsWith("run.")) for (const each of cardsOfRun(board, body.run)) cards.add(each);
    else if (OF_CARDS.has(kind) && card && !isSeen(card, kind, body.version)) cards.add(card.id);
  }
  const wanted = [...cards].filter((card) => !deleted.has(card));
  if (wanted.length > MOST_CARDS) return { kind: "everything" };
  return { kind: "parts", cards: wanted, deleted: [...deleted], needsTop };
}

/** Whether the board shows what a change has made. An attempt changes while the version of its card does not. */
function isSeen(card: BoardCard, kind: string, version: unknown): boolean {
  return !kind.startsWith("attempt.") && typeof version === "number" && version <= card.version;
}

/** A run may judge any card in review: which one is known only to the server. */
function isAwaitingJudge(board: BoardOf<BoardCard>): boolean {
  return board.columns.some(({ status, count }) => count > 0 && (status === "in_review" || status === "done"));
}

function cardsOfRun(board: BoardOf<BoardCard>, run: unknown): string[] {
  return board.columns.flatMap(({ cards }) =>
    cards.filter((card) => card.run === run || card.judges.some((judge) => judge === run)).map(({ id }) => id),
  );
}
