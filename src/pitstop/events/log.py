"""The event log: a run's only memory."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any, Protocol, get_args

import msgspec

from pitstop.errors import BadLog
from pitstop.events.types import AnyEvent, RunEnded
from pitstop.plan.values import as_json


class EventLog(Protocol):
    """What the engine needs of a log. Appending never waits; events are numbered from 1 in the order they came."""

    def append(self, event: AnyEvent) -> None: ...

    def read(self, after: int = 0) -> Sequence[AnyEvent]:
        """The events with a number above `after`."""
        ...

    def __len__(self) -> int: ...


class MemoryLog:
    """An event log in memory, for runs that need not outlive their process. It stores values without copying them."""

    __slots__ = ("_events", "_followers")

    def __init__(self, events: Iterable[AnyEvent] = ()) -> None:
        self._events: list[AnyEvent] = list(events)
        self._followers: list[asyncio.Event] = []

    def append(self, event: AnyEvent) -> None:
        """Add an event at the end."""
        self._events.append(event)
        if self._followers:
            for follower in self._followers:
                follower.set()

    def read(self, after: int = 0) -> Sequence[AnyEvent]:
        """The events with a number above `after`."""
        return self._events[after:]

    def __len__(self) -> int:
        return len(self._events)

    async def follow(self, after: int = 0) -> AsyncIterator[AnyEvent]:
        """Yield every event with a number above `after`, and new ones as they happen, until the run ends."""
        news = asyncio.Event()
        self._followers.append(news)
        try:
            while True:
                news.clear()
                while after < len(self._events):
                    event = self._events[after]
                    after += 1
                    yield event
                    if isinstance(event, RunEnded):
                        return
                await news.wait()
        finally:
            self._followers.remove(news)


_known_kinds = {each.__struct_config__.tag for each in get_args(AnyEvent)}


def events_to_json(events: Iterable[AnyEvent]) -> list[dict[str, object]]:
    """Events as plain JSON values; what JSON cannot say is shown as `as_json` shows it."""
    shown: list[dict[str, object]] = []
    for event in events:
        fields: dict[str, object] = {"kind": type(event).__struct_config__.tag}
        for name in event.__struct_fields__:
            fields[name] = as_json(getattr(event, name))
        shown.append(fields)
    return shown


def events_from_json(data: object) -> list[AnyEvent]:
    """The events that `events_to_json` gave; BadLog when they are none."""
    if not isinstance(data, list) or not all(isinstance(each, dict) and "kind" in each for each in data):
        raise BadLog("not an event log: expected a list of events, each with its kind")
    known = [each if each["kind"] in _known_kinds else _unknown(each) for each in data]
    try:
        return msgspec.convert(known, list[AnyEvent])
    except msgspec.ValidationError as error:
        raise BadLog(f"not an event log: {error}") from error


def _unknown(event: dict[str, Any]) -> dict[str, Any]:
    """A kind that this version does not know keeps its place, for events are counted."""
    return {"kind": "unknown", "at": event.get("at", 0.0), "was": str(event["kind"])}
