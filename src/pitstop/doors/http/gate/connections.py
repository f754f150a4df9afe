"""The open connections of a server, and which of them are closed to make room for new ones."""

from itertools import chain
from typing import Protocol

from pitstop.errors import ServerBusy, TooMany


class Connection(Protocol):
    """A connection of a client."""

    def close(self) -> None: ...


class Connections:
    """Connections up to a limit, in all and per client address.

    A new one takes the place of the oldest that never sent a whole request, or else of the one that is idle longest.
    """

    def __init__(self, most: int, most_of_one: int) -> None:
        self._all = _Group(most)
        self._most_of_one = most_of_one
        self._by_address: dict[str, _Group] = {}
        self._addresses: dict[Connection, str] = {}

    def add(self, connection: Connection, address: str) -> None:
        """TooMany or ServerBusy when every other connection is in use."""
        own = self._by_address.get(address) or _Group(self._most_of_one)
        if not self._make_room(own):
            raise TooMany(f"{address} has reached its limit of {own.most} connections: close some")
        if not self._make_room(self._all):
            raise ServerBusy(f"the server has reached its limit of {self._all.most} connections: try again later")
        self._by_address[address] = own
        self._addresses[connection] = address
        for group in (self._all, own):
            group.size += 1
            group.unproven[connection] = None

    def set_busy(self, connection: Connection) -> None:
        """It has sent the head of a request, so it is not closed for another."""
        for group in self._groups(connection):
            group.stop_waiting(connection)

    def set_idle(self, connection: Connection) -> None:
        """Its request is answered."""
        for group in self._groups(connection):
            group.idle[connection] = None

    def remove(self, connection: Connection) -> None:
        for group in self._groups(connection):
            group.stop_waiting(connection)
            group.size -= 1
        address = self._addresses.pop(connection, None)
        if address is not None and not self._by_address[address].size:
            del self._by_address[address]

    def _groups(self, connection: Connection) -> "tuple[_Group, ...]":
        address = self._addresses.get(connection)
        return () if address is None else (self._all, self._by_address[address])

    def _make_room(self, group: "_Group") -> bool:
        if group.size < group.most:
            return True
        oldest = next(chain(group.unproven, group.idle), None)
        if oldest is None:
            return False
        self.remove(oldest)
        oldest.close()
        return True


class _Group:
    """Connections that share a limit, the oldest first."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.size = 0
        self.unproven: dict[Connection, None] = {}  # no whole head of a request yet
        self.idle: dict[Connection, None] = {}

    def stop_waiting(self, connection: Connection) -> None:
        self.unproven.pop(connection, None)
        self.idle.pop(connection, None)
