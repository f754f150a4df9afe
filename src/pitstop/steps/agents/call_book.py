"""The tool calls of one agent: numbered as they come, and matched between its gate and its stream."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from pitstop.engine.calls import Call
from pitstop.steps.agents.reports import Called

TITLE_CHARACTERS = 120


class KnownCall(Struct):
    """A call. `is_gated` once the gate was asked, `is_allowed` once it may run, `is_streamed` once it was shown."""

    number: str
    called: Called
    title: str
    edited: Called | None = None  # as a user changed it
    is_gated: bool = False
    is_allowed: bool = False
    is_streamed: bool = False
    is_refused: bool = False  # it was not made
    is_returned: bool = False

    @property
    def is_one_sided(self) -> bool:
        """Whether it is open, and only the gate or only the stream knows it yet."""
        return self.is_gated != self.is_streamed and not self.is_returned and not self.is_refused

    def shown(self, *, guarantee: bool) -> dict[str, Any]:
        """What the scope has as `.tool`."""
        called = self.called
        return {
            "call": self.number,
            "name": called.name,
            "tool": called.tool,
            "input": dict(called.input),
            "paths": list(called.paths),
            "command": called.command,
            "parent": self.number.rpartition("/")[0] or None,
            "guarantee": guarantee,
        }

    def as_call(self, *, guarantee: bool) -> Call:
        return Call(self.number, self.title, self.shown(guarantee=guarantee))


class CallBook:
    """Every call that the stream or the gate told of. `mask` takes secrets out of their titles."""

    def __init__(self, mask: Callable[[str], str] = str) -> None:
        self._mask = mask
        self._by_id: dict[str, KnownCall] = {}
        self._one_sided: dict[bool, list[KnownCall]] = {True: [], False: []}  # by whether the gate told of them first
        self._counts: Counter[str] = Counter()

    def find(self, call: str) -> KnownCall | None:
        return self._by_id.get(call)

    def enter(self, called: Called, *, by_gate: bool) -> tuple[KnownCall, bool]:
        """The call, and whether it is new. Gate and stream may know the same call by different ids."""
        known = self._by_id.get(called.call) or self._alike(called, by_gate)
        is_new = known is None
        if known is None:
            parent = self._by_id.get(called.parent or "")
            prefix = "" if parent is None else f"{parent.number}/"
            self._counts[prefix] += 1
            known = KnownCall(f"{prefix}{self._counts[prefix]}", called, title_of(called, self._mask))
            self._one_sided[by_gate].append(known)
        self._by_id[called.call] = known
        known.is_gated = known.is_gated or by_gate
        known.is_streamed = known.is_streamed or not by_gate
        return known, is_new

    def _alike(self, called: Called, by_gate: bool) -> KnownCall | None:
        """An open call about the same thing, which only the other side knows yet."""
        others = self._one_sided[not by_gate] = [known for known in self._one_sided[not by_gate] if known.is_one_sided]
        for known in others:
            if _is_same(known.called, called) or _is_same(known.edited, called):
                return known
        return None


def _is_same(one: Called | None, other: Called) -> bool:
    """Whether two descriptions are of the same call, although their ids differ."""
    if one is None:
        return False
    if (one.name, one.input) == (other.name, other.input):
        return True
    if one.tool != other.tool:
        return False
    if one.command is not None and other.command is not None:
        return one.command == other.command
    return bool(one.paths) and set(one.paths) == set(other.paths)


def title_of(called: Called, mask: Callable[[str], str]) -> str:
    """A call in one line: what it does, and to what. It is masked before it is cut: half a secret is not found."""
    about = called.command or ", ".join(called.paths) or _first_text(called.input)
    line = " ".join(mask(about).split())
    title = f"{called.tool if called.tool != 'other' else called.name}: {line}" if line else called.name
    return title if len(title) <= TITLE_CHARACTERS else f"{title[: TITLE_CHARACTERS - 1]}…"


def _first_text(given: Mapping[str, Any]) -> str:
    return next((value for value in given.values() if isinstance(value, str)), "")
