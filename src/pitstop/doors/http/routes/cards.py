"""Cards: the board of a repository, and what is done with each card."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from pitstop.doors.http.answers import answer, problem_responses
from pitstop.doors.http.routes.parameters import PLAIN, Cursor, IdempotencyKey, IfMatch, Plain, RepoId, Who
from pitstop.doors.http.routes.repos import FilePath
from pitstop.doors.http.routes.route import API, api_router
from pitstop.service.card_forms import (
    ApprovalForm,
    CardChangesForm,
    CardMoveForm,
    NewCardForm,
    NewNoteForm,
    RejectionForm,
    ResolvedForm,
    StartCardForm,
    UpdateBranchForm,
)
from pitstop.service.cards import (
    AttemptDetail,
    AttemptInfo,
    Board,
    BoardFilter,
    CardInfo,
    CardPreview,
    Cards,
    CardStatus,
    Column,
    Diff,
    DiffRange,
    NoteInfo,
    Patch,
    Updated,
)

CardId = Annotated[str, Path(max_length=90, pattern=PLAIN, description="The card.", examples=["shop-1"])]
NoteId = Annotated[int, Path(ge=1, lt=2**53)]
AttemptNumber = Annotated[int, Path(ge=1, lt=2**31)]
AnyAttempt = Annotated[int | None, Query(ge=0, lt=2**31)]

_KNOWN = problem_responses(404)
_READ = problem_responses(404, 409)
_CHANGED = problem_responses(404, 409, 412)


def routes(cards: Cards) -> APIRouter:
    router = api_router("", "cards")
    _add_board(router, cards)
    _add_life(router, cards)
    _add_review(router, cards)
    return router


def _add_board(router: APIRouter, cards: Cards) -> None:
    @router.get("/repos/{repo}/cards", response_model=Board, responses=_KNOWN)
    async def get_board(
        caller: Who, repo: RepoId, label: Plain = None, profile: Plain = None, search: Plain = None
    ) -> Response:
        """Get the board: the size of each column, and its first 50 cards."""
        return answer(await cards.board(caller, repo, BoardFilter(label=label, profile=profile, search=search)))

    @router.get("/repos/{repo}/columns/{status}", response_model=Column, responses=_KNOWN)
    async def get_column(
        caller: Who,
        repo: RepoId,
        status: CardStatus,
        label: Plain = None,
        profile: Plain = None,
        search: Plain = None,
        cursor: Cursor = None,
        limit: Annotated[int, Query(ge=1, le=100)] = 50,
    ) -> Response:
        """List the cards of a column."""
        filter = BoardFilter(label=label, profile=profile, search=search)
        return answer(await cards.column(caller, repo, status, filter, cursor, limit))

    @router.post("/repos/{repo}/cards", status_code=201, response_model=CardInfo, responses=_READ)
    async def create_card(caller: Who, repo: RepoId, form: NewCardForm, key: IdempotencyKey = None) -> Response:
        """Create a card."""
        created = await cards.create(caller, repo, form.to_request())
        return answer(created, 201, Location=f"{API}/cards/{created.id}", ETag=_etag(created))

    @router.post("/repos/{repo}/cards/preview", response_model=CardPreview, responses=_READ)
    async def preview_card(caller: Who, repo: RepoId, form: NewCardForm) -> Response:
        """Show what would be run for a card, without creating it."""
        return answer(await cards.preview(caller, repo, form.to_request()))


def _add_life(router: APIRouter, cards: Cards) -> None:
    @router.get("/cards/{card}", response_model=CardInfo, responses=_READ)
    async def get_card(caller: Who, card: CardId) -> Response:
        """Get a card."""
        return _answer_card(await cards.get(caller, card))

    @router.patch("/cards/{card}", response_model=CardInfo, responses=_CHANGED)
    async def update_card(caller: Who, card: CardId, form: CardChangesForm, if_match: IfMatch = None) -> Response:
        """Change a card."""
        return _answer_card(await cards.update(caller, card, form.to_request(), version_in(if_match)))

    @router.delete("/cards/{card}", status_code=204, responses=_READ)
    async def delete_card(caller: Who, card: CardId, delete_branch: bool = False) -> Response:
        """Delete a card that is not in progress. Its runs are kept."""
        await cards.delete(caller, card, delete_branch=delete_branch)
        return Response(status_code=204)

    @router.post("/cards/{card}/move", response_model=CardInfo, responses=_CHANGED)
    async def move_card(caller: Who, card: CardId, form: CardMoveForm, if_match: IfMatch = None) -> Response:
        """Move a card within its column, or to another one."""
        return _answer_card(await cards.move(caller, card, form.to_request(), version_in(if_match)))

    @router.post("/cards/{card}/start", response_model=CardInfo, responses=_CHANGED)
    async def start_card(
        caller: Who, card: CardId, form: StartCardForm, if_match: IfMatch = None, key: IdempotencyKey = None
    ) -> Response:
        """Start the work of a card, or do it again."""
        return _answer_card(await cards.start(caller, card, form.to_request(), version_in(if_match)))

    @router.post("/cards/{card}/cancel", response_model=CardInfo, responses=_READ)
    async def cancel_card(caller: Who, card: CardId) -> Response:
        """End the run of a card, and move the card back to todo."""
        return _answer_card(await cards.cancel(caller, card))

    @router.get("/cards/{card}/attempts", response_model=list[AttemptInfo], responses=_KNOWN)
    async def list_attempts(caller: Who, card: CardId) -> Response:
        """List the attempts at a card, newest first."""
        return answer(await cards.attempts(caller, card))

    @router.get("/cards/{card}/attempts/{number}", response_model=AttemptDetail, responses=_KNOWN)
    async def get_attempt(caller: Who, card: CardId, number: AttemptNumber) -> Response:
        """Get an attempt, with its flow and its prompt."""
        return answer(await cards.attempt(caller, card, number))


def _add_review(router: APIRouter, cards: Cards) -> None:
    @router.post("/cards/{card}/approve", response_model=CardInfo, responses=_CHANGED)
    async def approve_card(
        caller: Who, card: CardId, form: ApprovalForm, if_match: IfMatch = None, key: IdempotencyKey = None
    ) -> Response:
        """Merge the branch of a card."""
        return _answer_card(await cards.approve(caller, card, form.to_request(), version_in(if_match)))

    @router.post("/cards/{card}/update-branch", response_model=Updated, responses=_READ)
    async def update_card_branch(
        caller: Who, card: CardId, form: UpdateBranchForm, key: IdempotencyKey = None
    ) -> Response:
        """Merge the base into the branch of a card; a run resolves the conflicts."""
        return answer(await cards.update_branch(caller, card, by_hand=form.by_hand))

    @router.post("/cards/{card}/reject", response_model=CardInfo, responses=_CHANGED)
    async def reject_card(caller: Who, card: CardId, form: RejectionForm, if_match: IfMatch = None) -> Response:
        """Move a card in review back to todo."""
        return _answer_card(await cards.reject(caller, card, form.to_request(), version_in(if_match)))

    @router.get("/cards/{card}/notes", response_model=list[NoteInfo], responses=_READ)
    async def list_notes(caller: Who, card: CardId) -> Response:
        """List the notes on a card, oldest first."""
        return answer(await cards.notes(caller, card))

    @router.post("/cards/{card}/notes", status_code=201, response_model=NoteInfo, responses=_READ)
    async def add_note(caller: Who, card: CardId, form: NewNoteForm, key: IdempotencyKey = None) -> Response:
        """Add a note to a card, or to a line of its diff."""
        return answer(await cards.note(caller, card, form.to_request()), 201)

    @router.put("/cards/{card}/notes/{note}/resolved", response_model=NoteInfo, responses=_READ)
    async def resolve_note(caller: Who, card: CardId, note: NoteId, form: ResolvedForm) -> Response:
        """Resolve a note, or open it again."""
        return answer(await cards.resolve_note(caller, card, note, resolved=form.resolved))

    @router.get("/cards/{card}/diff", response_model=Diff, responses=_READ)
    async def get_card_diff(
        caller: Who,
        card: CardId,
        attempt: AnyAttempt = None,
        from_attempt: AnyAttempt = None,
        to_attempt: AnyAttempt = None,
    ) -> Response:
        """List the files that a card changes, that one attempt changed, or that differ between two attempts."""
        return answer(await cards.diff(caller, card, _range(attempt, from_attempt, to_attempt)))

    @router.get("/cards/{card}/patch", response_model=Patch, responses=_READ)
    async def get_card_patch(
        caller: Who,
        card: CardId,
        path: FilePath,
        attempt: AnyAttempt = None,
        from_attempt: AnyAttempt = None,
        to_attempt: AnyAttempt = None,
    ) -> Response:
        """Get what changes in a file."""
        return answer(await cards.patch(caller, card, path, _range(attempt, from_attempt, to_attempt)))


def _range(attempt: int | None, from_attempt: int | None, to_attempt: int | None) -> DiffRange:
    return DiffRange(attempt=attempt, from_attempt=from_attempt, to_attempt=to_attempt)


def _answer_card(card: CardInfo) -> Response:
    return answer(card, ETag=_etag(card))


def _etag(card: CardInfo) -> str:
    return f'"{card.version}"'


def version_in(etag: str | None) -> int | None:
    """The version that a client has read; one that no card can have matches none."""
    if etag is None:
        return None
    text = etag.removeprefix("W/").strip('"')
    return int(text) if text.isascii() and text.isdigit() and len(text) < 18 else 0
