"""What the door asks of others, kept in this process: for a server whose memory may end with it."""

import time
from collections import OrderedDict
from collections.abc import Sequence

from pitstop.doors.http.gate.ports import Deed, Figures, Remembered
from pitstop.errors import BadCursor, Unknown
from pitstop.service.wire import AuditEntry, AuditPage, SecretInfo

MOST_ENTRIES = 10_000
MOST_ANSWERS = 10_000
REMEMBERED_SECONDS = 24 * 3600


class MemoryAudit:
    """An Audit that forgets the oldest."""

    def __init__(self) -> None:
        self._entries: list[AuditEntry] = []
        self._count = 0

    async def record(self, deeds: Sequence[Deed]) -> None:
        for deed in deeds:
            self._count += 1
            self._entries.append(AuditEntry(self._count, deed.at, deed.who, deed.action, deed.run, dict(deed.detail)))
        del self._entries[:-MOST_ENTRIES]

    async def page(self, *, run: str | None = None, cursor: str | None = None, limit: int = 100) -> AuditPage:
        if cursor is not None and not (cursor.isascii() and cursor.isdigit()):
            raise BadCursor(cursor)
        below = self._count + 1 if cursor is None else int(cursor)
        found = [each for each in reversed(self._entries) if each.number < below and run in (None, each.run)]
        more = str(found[limit - 1].number) if len(found) > limit else None
        return AuditPage(tuple(found[:limit]), more)


class MemoryIdempotency:
    """An Idempotency that forgets the oldest."""

    def __init__(self) -> None:
        self._answers: OrderedDict[str, tuple[float, Remembered]] = OrderedDict()

    async def recall(self, key: str) -> Remembered | None:
        at, answer = self._answers.get(key, (0.0, None))
        return answer if at > time.monotonic() - REMEMBERED_SECONDS else None

    async def reserve(self, key: str, answer: Remembered) -> Remembered:
        known = await self.recall(key)
        if known is None:
            await self.remember(key, answer)
        return known or answer

    async def remember(self, key: str, answer: Remembered) -> None:
        self._answers[key] = (time.monotonic(), answer)
        while len(self._answers) > MOST_ANSWERS:
            self._answers.popitem(last=False)

    async def forget(self, key: str) -> None:
        self._answers.pop(key, None)


class MemorySecrets:
    """Secrets that end with the process."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], SecretInfo] = {}  # and no values: nothing here runs with them

    async def all(self) -> tuple[SecretInfo, ...]:
        return tuple(self._kept[key] for key in sorted(self._kept))

    async def put(self, name: str, scope: str, value: str, repos: Sequence[str]) -> None:
        self._kept[name, scope] = SecretInfo(name, scope, tuple(repos), time.time())

    async def delete(self, name: str, scope: str) -> None:
        if self._kept.pop((name, scope), None) is None:
            raise Unknown("secret", name)


class AlwaysReady:
    """Operations of a server that has no queue to tell of."""

    async def figures(self) -> Figures:
        return Figures()

    async def trouble(self) -> str | None:
        return None
