"""What the HTTP door asks of others beside the service: who did what, answers to repeat, secrets, and figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pitstop.service.wire import AuditPage, SecretInfo


@dataclass(frozen=True, slots=True)
class Deed:
    """Somebody did something, `at` seconds since the epoch. `detail` has names and numbers, no values of people."""

    at: float
    who: str
    action: str
    run: str | None
    detail: Mapping[str, Any]


class Audit(Protocol):
    """Who did what."""

    async def record(self, deeds: Sequence[Deed]) -> None:
        """Keep all of them, in this order, or none."""
        ...

    async def page(self, *, run: str | None = None, cursor: str | None = None, limit: int = 100) -> AuditPage:
        """The newest first; BadCursor."""
        ...


@dataclass(frozen=True, slots=True)
class Remembered:
    """An answer that was given, and the digest of the request that it was given to."""

    request: str
    status: int
    headers: Mapping[str, str]
    body: bytes


class Idempotency(Protocol):
    """Answers to requests that came with an idempotency key, for at least a day."""

    async def recall(self, key: str) -> Remembered | None: ...

    async def reserve(self, key: str, answer: Remembered) -> Remembered:
        """Remember it unless something is, whoever comes first, of any server; gives what is remembered."""
        ...

    async def remember(self, key: str, answer: Remembered) -> None:
        """In place of what was remembered."""
        ...

    async def forget(self, key: str) -> None: ...


class Secrets(Protocol):
    """Secrets that runs are given, by name and scope. They can be written and never be read here."""

    async def all(self) -> tuple[SecretInfo, ...]: ...

    async def put(self, name: str, scope: str, value: str, repos: Sequence[str]) -> None: ...

    async def delete(self, name: str, scope: str) -> None:
        """Unknown when there is none of that name and scope."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """How a server is doing."""

    runs: Mapping[str, int] = field(default_factory=dict)  # by status
    waiting: int = 0  # runs that wait for a slot
    slots: int = 0
    slots_taken: int = 0
    stops: int = 0  # that wait for somebody
    events: int = 0  # appended since the server started


class Operations(Protocol):
    """The server itself, as those who run it see it."""

    async def figures(self) -> Figures: ...

    async def trouble(self) -> str | None:
        """Why it cannot take requests now; None when it can."""
        ...
