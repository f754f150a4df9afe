"""How a server is doing, for those who operate it."""

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct, field


class Figures(Struct, frozen=True, kw_only=True):
    """How a server is doing."""

    runs: Mapping[str, int] = field(default_factory=dict)  # by status
    waiting: int = 0  # runs that wait for a slot
    slots: int = 0
    slots_taken: int = 0
    stops: int = 0  # that wait for a user
    events: int = 0  # appended since the server started


class Operations(Protocol):
    """The server itself."""

    async def figures(self) -> Figures: ...

    async def trouble(self) -> str | None:
        """Why it cannot take requests now; None if it can."""
        ...
