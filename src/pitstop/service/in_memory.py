"""What a server gives to its desks, in memory: for a run that others attach to, and for tests."""

import secrets
import time
from collections.abc import Sequence

from cryptography.fernet import Fernet

from pitstop.service.access import OWNER, TokenRecord, digest_of
from pitstop.service.audit import AuditEntry, Deed
from pitstop.service.idempotency import REMEMBERED_SECONDS, Answer
from pitstop.service.operations import Figures
from pitstop.service.sealing import Seal
from pitstop.service.secret_scopes import SecretRecord


def new_seal() -> Seal:
    """A seal with a new key."""
    return Seal(Fernet.generate_key())


class MemoryTokens:
    """A TokenStore; `token` is the one of the owner."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(32)
        self._others: dict[str, TokenRecord] = {}
        self._key = secrets.token_bytes(32)
        self._logged_out: set[str] = set()

    async def all(self) -> tuple[TokenRecord, ...]:
        return (TokenRecord(OWNER, "operator", digest_of(self.token), 0.0), *self._others.values())

    async def add(self, token: TokenRecord) -> None:
        self._others[token.name] = token

    async def remove(self, name: str) -> None:
        if name == OWNER:
            self.token = secrets.token_urlsafe(32)
        self._others.pop(name, None)

    async def session_key(self) -> bytes:
        return self._key

    async def log_out(self, session: str, until: float) -> None:
        self._logged_out.add(session)

    async def logged_out(self) -> frozenset[str]:
        return frozenset(self._logged_out)


class MemoryAudit:
    """An AuditLog."""

    def __init__(self) -> None:
        self._entries: list[AuditEntry] = []
        self._count = 0

    async def add(self, deed: Deed) -> None:
        self._count += 1
        self._entries.append(AuditEntry(self._count, deed.at, deed.who, deed.action, deed.run, dict(deed.detail)))

    async def newest(self, run: str | None, before: int | None, limit: int) -> list[AuditEntry]:
        below = self._count + 1 if before is None else before
        found = (each for each in reversed(self._entries) if each.number < below and run in (None, each.run))
        return [entry for entry, _ in zip(found, range(limit), strict=False)]


class MemorySecrets:
    """A SecretStore."""

    def __init__(self) -> None:
        self._stored: dict[tuple[str, str], SecretRecord] = {}

    async def all(self) -> Sequence[SecretRecord]:
        return [self._stored[key] for key in sorted(self._stored)]

    async def put(self, name: str, scope: str, sealed: bytes, repos: Sequence[str]) -> None:
        self._stored[name, scope] = SecretRecord(name, scope, tuple(repos), time.time(), sealed)

    async def delete(self, name: str, scope: str) -> bool:
        return self._stored.pop((name, scope), None) is not None


class MemoryAnswers:
    """Answers."""

    def __init__(self) -> None:
        self._answers: dict[str, tuple[float, Answer]] = {}

    async def recall(self, key: str) -> Answer | None:
        at, answer = self._answers.get(key, (0.0, None))
        return answer if at > time.monotonic() - REMEMBERED_SECONDS else None

    async def reserve(self, key: str, answer: Answer) -> Answer:
        known = await self.recall(key)
        if known is None:
            await self.remember(key, answer)
        return known or answer

    async def remember(self, key: str, answer: Answer) -> None:
        self._answers[key] = (time.monotonic(), answer)

    async def forget(self, key: str) -> None:
        self._answers.pop(key, None)


class AlwaysReady:
    """Operations of a server that has no figures."""

    async def figures(self) -> Figures:
        return Figures()

    async def trouble(self) -> str | None:
        return None
