"""Who calls a desk, what they may do, and how the desk records what they did."""

from collections.abc import Awaitable, Callable
from typing import Any, Literal

from msgspec import Struct

from pitstop.errors import NotPermitted, OutOfScope

Role = Literal["viewer", "operator"]
Scope = Literal["all", "git:read", "git:write"]
Record = Callable[..., Awaitable[None]]  # `Audit.record`, which is called when an action has succeeded


class Caller(Struct, frozen=True):
    """The user or program that makes a call. A call that is repeated with the same `key` acts once.

    A token with another scope than `all` is only for git, and with `repo` only for that repository.
    """

    name: str
    role: Role
    key: str | None = None
    scope: Scope = "all"
    repo: str | None = None

    def require(self, role: Role) -> None:
        """NotPermitted without this role; an operator may do everything."""
        if self.role not in (role, "operator"):
            raise NotPermitted(self.role, role)

    def require_all(self) -> None:
        """OutOfScope for a token that is only for git."""
        if self.scope != "all":
            raise OutOfScope(self.scope, "the API")


LOCAL = Caller("local", "operator")  # the user of this process


async def record_nothing(*entry: Any, **more: Any) -> None:
    """The Record of a service without an audit log."""
