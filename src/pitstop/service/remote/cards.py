"""The desk for cards, on a server."""

from typing import Any
from urllib.parse import quote

from msgspec.structs import asdict

from pitstop.service.caller import Caller
from pitstop.service.cards import (
    AS_USUAL,
    BY_MERGE,
    EVERY_CARD,
    WHOLE_WORK,
    Approval,
    AttemptDetail,
    AttemptInfo,
    Board,
    BoardFilter,
    CardChanges,
    CardInfo,
    CardMove,
    CardPreview,
    CardStatus,
    Column,
    Diff,
    DiffRange,
    NewCard,
    NewNote,
    NoteInfo,
    Patch,
    Rejection,
    StartCard,
    Updated,
)
from pitstop.service.remote.connection import Connection
from pitstop.service.remote.repos import repo_path


class RemoteCards:
    """The Cards of a server."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def board(self, caller: Caller, repo: str, filter: BoardFilter = EVERY_CARD) -> Board:
        return await self._connection.get(f"{repo_path(repo)}/cards", Board, **asdict(filter))

    async def column(
        self,
        caller: Caller,
        repo: str,
        status: CardStatus,
        filter: BoardFilter = EVERY_CARD,
        cursor: str | None = None,
        limit: int = 50,
    ) -> Column:
        asked = {**asdict(filter), "cursor": cursor, "limit": limit}
        return await self._connection.get(f"{repo_path(repo)}/columns/{status}", Column, **asked)

    async def create(self, caller: Caller, repo: str, request: NewCard) -> CardInfo:
        return await self._connection.post(f"{repo_path(repo)}/cards", request, CardInfo, caller)

    async def preview(self, caller: Caller, repo: str, request: NewCard) -> CardPreview:
        return await self._connection.post(f"{repo_path(repo)}/cards/preview", request, CardPreview)

    async def get(self, caller: Caller, card: str) -> CardInfo:
        return await self._connection.get(_path(card), CardInfo)

    async def update(self, caller: Caller, card: str, changes: CardChanges, version: int | None = None) -> CardInfo:
        given = {name: value for name, value in asdict(changes).items() if value is not None}
        return await self._change(caller, "PATCH", _path(card), given, version)

    async def move(self, caller: Caller, card: str, move: CardMove, version: int | None = None) -> CardInfo:
        return await self._change(caller, "POST", f"{_path(card)}/move", move, version)

    async def delete(self, caller: Caller, card: str, *, delete_branch: bool = False) -> None:
        await self._connection.ask("DELETE", _path(card), delete_branch=delete_branch)

    async def start(
        self, caller: Caller, card: str, options: StartCard = AS_USUAL, version: int | None = None
    ) -> CardInfo:
        return await self._change(caller, "POST", f"{_path(card)}/start", options, version)

    async def cancel(self, caller: Caller, card: str) -> CardInfo:
        return await self._change(caller, "POST", f"{_path(card)}/cancel")

    async def approve(
        self, caller: Caller, card: str, approval: Approval = BY_MERGE, version: int | None = None
    ) -> CardInfo:
        return await self._change(caller, "POST", f"{_path(card)}/approve", approval, version)

    async def update_branch(self, caller: Caller, card: str, *, by_hand: bool = False) -> Updated:
        return await self._connection.post(f"{_path(card)}/update-branch", {"by_hand": by_hand}, Updated, caller)

    async def reject(self, caller: Caller, card: str, rejection: Rejection, version: int | None = None) -> CardInfo:
        return await self._change(caller, "POST", f"{_path(card)}/reject", rejection, version)

    async def _change(
        self, caller: Caller, method: str, path: str, body: Any = None, version: int | None = None
    ) -> CardInfo:
        return self._connection.read(await self._connection.ask(method, path, body, caller, version), CardInfo)

    async def notes(self, caller: Caller, card: str) -> tuple[NoteInfo, ...]:
        return await self._connection.get(f"{_path(card)}/notes", tuple[NoteInfo, ...])

    async def note(self, caller: Caller, card: str, note: NewNote) -> NoteInfo:
        return await self._connection.post(f"{_path(card)}/notes", note, NoteInfo, caller)

    async def resolve_note(self, caller: Caller, card: str, note: int, *, resolved: bool = True) -> NoteInfo:
        path = f"{_path(card)}/notes/{note}/resolved"
        return self._connection.read(await self._connection.ask("PUT", path, {"resolved": resolved}), NoteInfo)

    async def attempts(self, caller: Caller, card: str) -> tuple[AttemptInfo, ...]:
        return await self._connection.get(f"{_path(card)}/attempts", tuple[AttemptInfo, ...])

    async def attempt(self, caller: Caller, card: str, number: int) -> AttemptDetail:
        return await self._connection.get(f"{_path(card)}/attempts/{number}", AttemptDetail)

    async def diff(self, caller: Caller, card: str, range: DiffRange = WHOLE_WORK) -> Diff:
        return await self._connection.get(f"{_path(card)}/diff", Diff, **asdict(range))

    async def patch(self, caller: Caller, card: str, path: str, range: DiffRange = WHOLE_WORK) -> Patch:
        return await self._connection.get(f"{_path(card)}/patch", Patch, path=path, **asdict(range))


def _path(card: str) -> str:
    return f"/cards/{quote(card, safe='')}"
