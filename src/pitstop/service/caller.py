"""Who calls a desk, and what they may do."""

from typing import Literal

from msgspec import Struct

from pitstop.errors import NotPermitted

Role = Literal["viewer", "operator"]


class Caller(Struct, frozen=True):
    """The user or program that makes a call. A call that is repeated with the same `key` acts once."""

    name: str
    role: Role
    key: str | None = None

    def require(self, role: Role) -> None:
        """NotPermitted without this role; an operator may do everything."""
        if self.role not in (role, "operator"):
            raise NotPermitted(self.role, role)


LOCAL = Caller("local", "operator")  # the user of this process
