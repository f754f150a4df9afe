"""The log of a run that is kept in its folder as it grows, and told to doors as plain values without secrets."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import msgspec

from pitstop.events.log import MemoryLog, events_to_json
from pitstop.events.types import AnyEvent, RunStarted
from pitstop.service.api import EventInfo
from pitstop.service.run_folder import RunFolder

MASK = "***"

MaskText = Callable[[str], str]


class KeptLog(MemoryLog):
    """A log whose events are written down as soon as the event loop comes round, those of one round together.

    `carried_over` is how many events it began with: those of the run that this one goes on from.
    """

    __slots__ = ("_folder", "_mask", "_written", "carried_over")

    def __init__(self, folder: RunFolder, mask: MaskText | None = None, events: Iterable[AnyEvent] = ()) -> None:
        super().__init__(events)
        self.carried_over = len(self)
        self._folder = folder
        self._mask = mask
        self._written = 0

    def append(self, event: AnyEvent) -> None:
        super().append(event)
        if self._written >= 0:
            self._written = -1 - self._written  # negative: a round is on its way
            asyncio.get_running_loop().call_soon(self.write)

    def write(self) -> None:
        """Write down what is not written yet."""
        if self._written < 0:
            self._written = -1 - self._written
        new = self.told(self._written)
        if new:
            self._folder.append_events(b"".join(msgspec.json.encode(each.as_json()) + b"\n" for each in new))
            self._written = len(self)

    def told(self, after: int = 0) -> list[EventInfo]:
        """The events above `after`, as doors are told of them."""
        return [tell_event(number, event, self._mask) for number, event in enumerate(self.read(after), after + 1)]

    async def follow_told(self, after: int = 0) -> AsyncIterator[EventInfo]:
        async for event in self.follow(after):
            after += 1
            yield tell_event(after, event, self._mask)


def tell_event(number: int, event: AnyEvent, mask: MaskText | None) -> EventInfo:
    """An event as plain values. The secrets that a run began with are never in it, whatever their length."""
    try:
        fields: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(event))
    except (TypeError, ValueError):  # a value in it is of a class, or has half a surrogate pair, that only we can show
        (fields,) = events_to_json([event])
    kind, at = fields.pop("kind"), fields.pop("at")
    if isinstance(event, RunStarted) and isinstance(event.inputs.get("secrets"), dict):
        fields["inputs"] = {**fields["inputs"], "secrets": dict.fromkeys(event.inputs["secrets"], MASK)}
    if mask is not None:
        fields = {name: masked(value, mask) for name, value in fields.items()}
    return EventInfo(number, kind, at, fields)


def masked(value: Any, mask: MaskText) -> Any:
    """JSON with the secrets taken out of its texts, keys and numbers."""
    match value:
        case str():
            return mask(value)
        case bool() | None:
            return value
        case int() | float():
            text = str(value)
            return value if mask(text) == text else mask(text)
        case dict():
            return {mask(key): masked(child, mask) for key, child in value.items()}
        case list():
            return [masked(child, mask) for child in value]
    return value
