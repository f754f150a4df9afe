"""The audit log: who did what, stored before the caller is answered."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol

from msgspec import Struct

from pitstop.errors import BadCursor
from pitstop.service.caller import Caller

RETRY_SECONDS = 1.0
PATIENCE_SECONDS = 5.0  # the action is done already, so its caller is answered even if the entry cannot be stored
LONGEST_DETAIL = 200

_FIELDS = (
    "all approved enabled file files_event files_run flow folder frame from_run from_step group kind layer line mode "
    "name now only path pinned point position priority reason role scope seconds status step stop use_file"
)
_LOGGED = frozenset(_FIELDS.split())
_NAMES_ONLY = ("inputs", "secrets", "outputs", "config")

log = logging.getLogger(__name__)


class Deed(Struct, frozen=True):
    """An action, `at` seconds since the epoch. `detail` has names and numbers, but no values given by users."""

    at: float
    who: str
    action: str
    run: str | None
    detail: Mapping[str, Any]


class AuditEntry(Struct, frozen=True):
    """Who did what to a run, and when, without secret values."""

    number: int
    at: float
    who: str
    action: str
    run: str | None
    detail: Mapping[str, Any]


class AuditPage(Struct, frozen=True):
    """A page of entries, newest first; `next` is the cursor of the next page."""

    entries: tuple[AuditEntry, ...]
    next: str | None = None


class AuditLog(Protocol):
    """Where entries are stored."""

    async def add(self, deed: Deed) -> None: ...

    async def newest(self, run: str | None, before: int | None, limit: int) -> list[AuditEntry]:
        """Entries of a run, or of all, with numbers below `before`, newest first."""
        ...


class Audit:
    """Records actions. An entry that cannot be stored is tried again while `open` lasts."""

    def __init__(self, audit_log: AuditLog) -> None:
        self._log = audit_log
        self._tasks = asyncio.TaskGroup()
        self._is_open = False

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        await self._tasks.__aenter__()
        self._is_open = True
        try:
            yield
        finally:
            self._is_open = False
            await self._tasks.__aexit__(None, None, None)  # what can be stored is stored, whatever ends the context

    async def record(
        self, caller: Caller, action: str, run: str | None, request: Any = None, names: Mapping[str, Any] | None = None
    ) -> None:
        """Store an entry with `names` and what may be logged of the request; waits PATIENCE_SECONDS at most."""
        deed = Deed(time.time(), caller.name, action, run, {**(names or {}), **detail_of(request)})
        storing = self._tasks.create_task(self._store(deed))
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await asyncio.shield(storing)  # it is stored even if the caller disconnects

    async def page(self, *, run: str | None = None, cursor: str | None = None, limit: int = 100) -> AuditPage:
        """The newest first; BadCursor."""
        if cursor is not None and not (cursor.isascii() and cursor.isdigit()):
            raise BadCursor(cursor)
        found = await self._log.newest(run, None if cursor is None else int(cursor), limit + 1)
        return AuditPage(tuple(found[:limit]), str(found[limit - 1].number) if len(found) > limit else None)

    async def _store(self, deed: Deed) -> None:
        while True:
            try:
                await self._log.add(deed)
            except Exception:
                log.exception("cannot write the audit log: %s", deed)
                if not self._is_open:
                    return
                await asyncio.sleep(RETRY_SECONDS)
            else:
                return


def detail_of(request: Any) -> dict[str, Any]:
    """What may be logged of a request: no secret, and no value that was given to a run."""
    detail: dict[str, Any] = {}
    for name, value in request.items() if isinstance(request, dict) else ():
        if name in _NAMES_ONLY and isinstance(value, dict):
            detail[name] = sorted(value)[:LONGEST_DETAIL]
        elif name in _LOGGED and isinstance(value, bool | int | float | str):
            detail[name] = value[:LONGEST_DETAIL] if isinstance(value, str) else value
    return detail
