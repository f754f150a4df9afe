"""Recorded calls of models: a file of JSON lines without secrets, from which a conversation can be replayed."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from pitstop.steps.agents.any_json import Object, read_json
from pitstop.steps.agents.relay.server import Answer

RECORDING_BYTES = 200 * 1024 * 1024
_PARTS = ("type", "index", "item_id", "output_index", "content_index")  # of which part of a response an event is
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC

Mask = Callable[[str], str]


class Exchange(Struct, frozen=True, omit_defaults=True):
    """One call of a model, without secrets. `response` has the value of each event if it was streamed, and else one."""

    number: int
    path: str
    request: Object
    status: int
    content_type: str
    response: list[Any]
    is_whole: bool = True
    is_replayed: bool = False


class Recorder:
    """Appends exchanges to a file that only its owner can read, up to a size. `problem` is why it stopped."""

    def __init__(self, path: Path, mask: Mask, *, limit_bytes: int = RECORDING_BYTES) -> None:
        self._path = path
        self._mask = mask
        self._limit_bytes = limit_bytes
        self.problem: str | None = None

    def add(self, exchange: Exchange) -> None:
        """Append it; what cannot be written is left out, and so is all that follows."""
        try:
            if self.problem is None:
                line = self._mask(msgspec.json.encode(exchange).decode())  # a name or a number may be a secret as well
                self._append(line.encode(), exchange.number)
        except (OSError, RecursionError) as error:
            self.problem = f"recording stopped at call {exchange.number}: {error}"

    def _append(self, line: bytes, number: int) -> None:
        with os.fdopen(os.open(self._path, _FLAGS, 0o600), "ab") as file:
            os.fchmod(file.fileno(), 0o600)  # it may have been there
            if os.fstat(file.fileno()).st_size + len(line) > self._limit_bytes:
                self.problem = f"recording stopped at call {number}: its limit is {self._limit_bytes:,} bytes"
                line = msgspec.json.encode({"note": self.problem})
            file.write(line + b"\n")


def read_recording(recorded: bytes) -> tuple[Exchange, ...]:
    """The exchanges of a recording, by number. Those that were cut off are left out, and so is half a line."""
    lines = [value for line in recorded.splitlines() if isinstance(value := read_json(line), dict)]
    found = (msgspec.convert(line, Exchange) for line in lines if "response" in line and line.get("is_whole", True))
    return tuple(sorted(found, key=lambda exchange: exchange.number))


def values_of(answer: Answer) -> list[Any]:
    """What an answer says, as `Exchange.response` has it; what is not JSON is text."""
    return [text.decode(errors="replace") if (value := read_json(text)) is None else value for text in answer.texts]


def pieces_of(exchange: Exchange) -> Iterator[bytes]:
    """The answer of an exchange again."""
    is_streamed = exchange.content_type.startswith("text/event-stream")
    for value in exchange.response:
        text = value.encode() if isinstance(value, str) else msgspec.json.encode(value)
        name = f"event: {value['type']}\n" if isinstance(value, dict) and "type" in value else ""
        yield b"%bdata: %b\n\n" % (name.encode(), text) if is_streamed else text


def mask_texts(values: list[Any], mask: Mask) -> None:
    """Take secrets out of JSON values, in place, also one that is spread over the deltas of several events.

    Texts at one place in events of one kind belong together; if they contain a secret, the first gets them all.
    """
    together: dict[tuple[object, ...], list[tuple[Any, Any]]] = {}
    for (number, *path), holder, key in texts_in(values):
        event = values[number]
        part = [str(event.get(name)) for name in _PARTS] if isinstance(event, dict) else [number]
        together.setdefault((*part, *path), []).append((holder, key))
    wholes = ["".join(holder[key] for holder, key in places) for places in together.values()]
    joined = "\0".join(wholes)
    if mask(joined) == joined:  # as most are
        return
    for ((first, name), *others), whole in zip(together.values(), wholes, strict=True):
        if (shown := mask(whole)) != whole:
            first[name] = shown
            for holder, key in others:
                holder[key] = ""


def texts_in(values: list[Any]) -> Iterator[tuple[tuple[Any, ...], Any, Any]]:
    """Each text in JSON values: its path, what holds it, and under which key."""
    waiting: list[tuple[tuple[Any, ...], Any]] = [((), values)]
    for path, value in waiting:  # which grows
        children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, child in children:
            if isinstance(child, str):
                yield (*path, key), value, key
            else:
                waiting.append(((*path, key), child))
