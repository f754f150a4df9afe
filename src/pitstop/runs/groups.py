"""Concurrency groups: runs that exclude each other, and newer ones that cancel older ones."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from msgspec import Struct

Cancel = Callable[[str], None]  # is told why


class Member(Struct, eq=False):
    """A run of a group. `go` is set when it need not wait any longer."""

    run: str
    cancel: Cancel
    go: asyncio.Event


class Groups:
    """Of each group one run works at a time, in the order in which they came."""

    def __init__(self) -> None:
        self._members: dict[str, list[Member]] = {}

    @asynccontextmanager
    async def turn(self, group: str | None, run: str, cancel: Cancel, *, cancels_others: bool) -> AsyncIterator[None]:
        """Wait until the runs of the group that came before have ended. With `cancels_others` they are cancelled."""
        if group is None:
            yield
            return
        members = self._members.setdefault(group, [])
        for each in list(members) if cancels_others else ():
            each.cancel(f"superseded by run {run}")
        own = Member(run, cancel, asyncio.Event())
        members.append(own)
        members[0].go.set()
        try:
            await own.go.wait()
            yield
        finally:
            members.remove(own)
            if members:
                members[0].go.set()
            else:
                del self._members[group]

    def let_in(self, run: str) -> None:
        """Let a run wait no longer: all that remains is to end it."""
        for members in self._members.values():
            for each in members:
                if each.run == run:
                    each.go.set()
