/** The routes of cards: the board of a repository, and what can be done with a card. */

import { ask, post } from "@/api/client";
import type {
  ApprovalForm,
  AttemptDetail,
  AttemptInfo,
  Board,
  CardChangesForm,
  CardInfo,
  CardMoveForm,
  CardPreview,
  Column,
  Diff,
  NewCardForm,
  NewNoteForm,
  NoteInfo,
  Patch,
  RejectionForm,
  StartCardForm,
  UpdateBranchForm,
  Updated,
} from "@/api/types";
import { repoPath, urlOf } from "@/api/url";

/** Which cards of a board are shown; an empty text filters nothing. */
export type BoardFilter = { label?: string; profile?: string; search?: string };

/** What of a card's work is compared: all of it, one attempt, or two attempts; attempt 0 is the base. */
export type CardRange =
  | { attempt?: undefined; from_attempt?: undefined; to_attempt?: undefined }
  | { attempt: number; from_attempt?: undefined; to_attempt?: undefined }
  | { attempt?: undefined; from_attempt: number; to_attempt: number };

export const WHOLE_CARD: CardRange = {};

type Paging = { cursor?: string | null; limit?: number };

const cardPath = (card: string, rest = "") => `/cards/${encodeURIComponent(card)}${rest}`;

/** With the version that was read, a card that another user has changed meanwhile is refused: `isStaleCard`. */
const ifMatch = (version: number | undefined): Record<string, string> =>
  version === undefined ? {} : { "if-match": `"${version}"` };

const idempotency = (key: string | undefined): Record<string, string> =>
  key === undefined ? {} : { "idempotency-key": key };

export const cardApi = {
  board: (repo: string, filter: BoardFilter = {}, signal?: AbortSignal) =>
    ask<Board>(urlOf(repoPath(repo, "/cards"), filter), { signal }),
  column: (repo: string, status: Column["status"], query: BoardFilter & Paging = {}, signal?: AbortSignal) =>
    ask<Column>(urlOf(repoPath(repo, `/columns/${status}`), query), { signal }),
  create: (repo: string, request: NewCardForm, key?: string) =>
    post<CardInfo>(urlOf(repoPath(repo, "/cards")), request, idempotency(key)),
  preview: (repo: string, request: NewCardForm, signal?: AbortSignal) =>
    ask<CardPreview>(urlOf(repoPath(repo, "/cards/preview")), { method: "POST", body: request, signal }),

  get: (card: string) => ask<CardInfo>(urlOf(cardPath(card))),
  update: (card: string, changes: CardChangesForm, version?: number) =>
    ask<CardInfo>(urlOf(cardPath(card)), { method: "PATCH", body: changes, headers: ifMatch(version) }),
  remove: (card: string, { deleteBranch = false }: { deleteBranch?: boolean } = {}) =>
    ask<void>(urlOf(cardPath(card), deleteBranch ? { delete_branch: "true" } : {}), { method: "DELETE" }),

  move: (card: string, move: CardMoveForm, version?: number) =>
    post<CardInfo>(urlOf(cardPath(card, "/move")), move, ifMatch(version)),
  start: (card: string, options: StartCardForm = {}, version?: number, key?: string) =>
    post<CardInfo>(urlOf(cardPath(card, "/start")), options, { ...ifMatch(version), ...idempotency(key) }),
  cancel: (card: string) => post<CardInfo>(urlOf(cardPath(card, "/cancel"))),

  approve: (card: string, approval: ApprovalForm = {}, version?: number, key?: string) =>
    post<CardInfo>(urlOf(cardPath(card, "/approve")), approval, { ...ifMatch(version), ...idempotency(key) }),
  updateBranch: (card: string, request: UpdateBranchForm = {}, key?: string) =>
    post<Updated>(urlOf(cardPath(card, "/update-branch")), request, idempotency(key)),
  reject: (card: string, rejection: RejectionForm = {}, version?: number) =>
    post<CardInfo>(urlOf(cardPath(card, "/reject")), rejection, ifMatch(version)),

  notes: (card: string) => ask<NoteInfo[]>(urlOf(cardPath(card, "/notes"))),
  note: (card: string, note: NewNoteForm, key?: string) =>
    post<NoteInfo>(urlOf(cardPath(card, "/notes")), note, idempotency(key)),
  resolveNote: (card: string, note: number, resolved: boolean) =>
    ask<NoteInfo>(urlOf(cardPath(card, `/notes/${note}/resolved`)), { method: "PUT", body: { resolved } }),

  attempts: (card: string) => ask<AttemptInfo[]>(urlOf(cardPath(card, "/attempts"))),
  attempt: (card: string, number: number) => ask<AttemptDetail>(urlOf(cardPath(card, `/attempts/${number}`))),
  diff: (card: string, range: CardRange = WHOLE_CARD) => ask<Diff>(urlOf(cardPath(card, "/diff"), range)),
  patch: (card: string, path: string, range: CardRange = WHOLE_CARD) =>
    ask<Patch>(urlOf(cardPath(card, "/patch"), { path, ...range })),
};
