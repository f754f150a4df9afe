"""The events of a run in a file, one per line: written by the process that the run is in, followed by any."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from pitstop.errors import BadLog
from pitstop.events.log import events_from_json, events_to_json
from pitstop.events.types import AnyEvent, RunEnded
from pitstop.store.folder_output import write_all

SCHEMA = 1
LOOK_AGAIN_SECONDS = 0.1  # at a log that another process writes


class FolderLog:
    """A RunLog. Events are written as soon as the event loop comes round, those of one round together."""

    def __init__(
        self,
        file: Path,
        *,
        carried_over: int,
        events: Iterable[AnyEvent],
        is_own: bool,
        attempt: Callable[[Callable[[], object]], None],
        is_alive: Callable[[], bool],
    ) -> None:
        self.carried_over = carried_over
        self._file = file
        self._is_own = is_own
        self._attempt = attempt
        self._is_alive = is_alive
        self._events: list[AnyEvent] = list(events)
        self._followers: list[asyncio.Event] = []
        self._kept = 0  # how many of the events are in the file
        self._is_writing = False  # whether a round is on its way
        self._fd = -1
        self._read_to = 0  # where the file was read to, if it is another's
        if is_own and self._events:
            self.write()

    def take_over(self) -> None:
        """Continue the log of a process that is gone, without the event that it had not written whole. BadLog."""
        self._refresh()
        os.truncate(self._file, self._read_to)
        self._is_own = True

    def append(self, event: AnyEvent) -> None:
        self._events.append(event)
        if not self._is_writing:
            self._is_writing = True
            asyncio.get_running_loop().call_soon(self.write)

    def read(self, after: int = 0) -> Sequence[AnyEvent]:
        """BadLog for one that is damaged."""
        self._refresh()
        return self._events[after:]

    def __len__(self) -> int:
        self._refresh()
        return len(self._events)

    async def settled(self) -> None:
        self.write()

    async def page(self, after: int = 0, limit: int = 1000) -> Sequence[tuple[int, AnyEvent]]:
        self._refresh()
        return list(enumerate(self._events[after : min(after + limit, self._kept)], after + 1))

    async def follow(self, after: int = 0) -> AsyncIterator[tuple[int, AnyEvent]]:
        news = asyncio.Event()
        self._followers.append(news)
        try:
            while True:
                news.clear()
                is_alive = self._is_alive()
                self._refresh()
                while after < self._kept:
                    event = self._events[after]
                    after += 1
                    yield after, event
                    if isinstance(event, RunEnded):
                        return
                if not is_alive:
                    return
                if self._is_own:
                    await news.wait()
                else:
                    await asyncio.sleep(LOOK_AGAIN_SECONDS)
        finally:
            self._followers.remove(news)

    def write(self) -> None:
        """Write what is not written yet, and tell those who follow."""
        self._is_writing = False
        if not self._is_own:
            return
        first, new = self._kept + 1, self._events[self._kept :]
        if new:
            lines = b"".join(_line(number, event) for number, event in enumerate(new, first))
            self._attempt(lambda: self._write(lines))
            self._kept += len(new)
        for follower in self._followers:
            follower.set()

    def close(self) -> None:
        self.write()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _write(self, lines: bytes) -> None:
        if self._fd < 0:
            self._fd = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        write_all(self._fd, lines)

    def _refresh(self) -> None:
        """Take what another process has written since; the last line of one that was killed may be cut."""
        if self._is_own:
            return
        try:
            with self._file.open("rb") as file:
                file.seek(self._read_to)
                data = file.read()
        except FileNotFoundError:
            return
        end = data.rfind(b"\n") + 1
        if not end:
            return
        try:
            self._events += events_from_json([json.loads(line) for line in data[:end].splitlines()])
        except ValueError as error:
            raise BadLog(f"the log of run {self._file.parent.name} is damaged: {error}") from error
        self._read_to += end
        self._kept = len(self._events)


def _line(number: int, event: AnyEvent) -> bytes:
    try:
        told = msgspec.json.encode(event)
    except (TypeError, ValueError):  # a value in it is of a class, or has half a surrogate pair, that JSON cannot say
        (fields,) = events_to_json([event])
        told = msgspec.json.encode(fields)
    return b'{"schema":%d,"number":%d,' % (SCHEMA, number) + told[1:] + b"\n"
