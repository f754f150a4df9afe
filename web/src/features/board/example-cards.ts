/** Cards as the server answers them, for the tests of the board. */

import type { Board, CardInfo, CardSummary } from "@/api/types";
import { STATUSES } from "@/core/board-view";

export function cardOf(number: number, changes: Partial<CardSummary> = {}): CardSummary {
  return {
    id: `shop-${number}`,
    repo: "shop",
    number,
    title: `Card ${number}`,
    status: "todo",
    position: number,
    work: "agent",
    profile: "claude",
    base: "main",
    by: "ada",
    created_at: 1,
    updated_at: 1,
    version: 1,
    labels: [],
    branch: null,
    head_sha: null,
    attempt: 0,
    run: null,
    reason: null,
    has_conflict: false,
    landed_at: null,
    run_status: null,
    live: null,
    judges: [],
    ...changes,
  };
}

export function infoOf(card: CardSummary, changes: Partial<CardInfo> = {}): CardInfo {
  return {
    ...card,
    description: "What to do",
    work_details: {
      agent: "claude",
      prompt: "",
      cli: null,
      model: null,
      budget: {},
      run: null,
      image: null,
      flow: null,
      inputs: {},
    },
    base_sha: null,
    merged_sha: null,
    conflict: null,
    is_branch_gone: false,
    unresolved_notes: 0,
    test: null,
    moves: [],
    ...changes,
  };
}

export function boardWith(...cards: CardSummary[]): Board {
  const columns = STATUSES.map((status) => {
    const own = cards.filter((card) => card.status === status);
    return { status, count: own.length, cards: own, next: null };
  });
  return { columns, labels: [], profiles: [] };
}
