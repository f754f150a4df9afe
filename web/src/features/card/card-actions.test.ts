import { expect, test } from "vitest";
import { actionsOf } from "@/features/card/card-actions";

type Card = Parameters<typeof actionsOf>[0];

const card = (more: Partial<Card>): Card => ({
  status: "todo",
  work: "agent",
  attempt: 0,
  branch: null,
  is_branch_gone: false,
  moves: [],
  ...more,
});
const named = (more: Partial<Card>) =>
  actionsOf(card(more)).map((action) => (action.kind === "move" ? action.label : action.kind));

test("each status has its own actions, the likely one first", () => {
  const branch = "card/1-fix";
  expect(named({})).toEqual(["start", "debug", "edit", "delete"]);
  expect(named({ attempt: 1 })).toEqual(["retry", "debug", "edit", "delete"]);
  expect(named({ status: "in_progress", branch })).toEqual(["debug", "cancel", "edit"]);
  expect(named({ status: "in_review", branch, moves: ["todo"] })).toEqual([
    "approve",
    "retry",
    "update",
    "reject",
    "edit",
    "delete",
  ]);
  expect(named({ status: "failed", branch, moves: ["todo"] })).toEqual([
    "retry",
    "debug",
    "Move to todo",
    "edit",
    "delete",
  ]);
  expect(named({ status: "done", branch, moves: ["todo"] })).toEqual(["Reopen", "edit", "delete"]);
});

test("what people do is moved by them, and never started", () => {
  expect(named({ work: "none", moves: ["in_progress"] })).toEqual(["Move to in progress", "edit", "delete"]);
});

test("a branch that is gone cannot be merged or updated", () => {
  const gone = { status: "in_review", branch: "card/1-fix", is_branch_gone: true } as const;
  expect(named(gone)).toEqual(["retry", "reject", "edit", "delete"]);
});
