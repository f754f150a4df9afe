"""Two attempts of agents beside each other: their calls in order, and the first in which they differ."""

from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from pitstop.service.agent_calls import Attempt, MadeCall, attempt_named, attempts_in
from pitstop.service.caller import Caller

if TYPE_CHECKING:
    from pitstop.service.desks import Service


class Side(Struct, frozen=True):
    """What one attempt came to. `tests` are those of its run: how many ran, and how many of them failed."""

    run: str
    occurrence: str
    profile: str
    model: str | None
    status: str
    calls: int
    turns: int | None = None
    cost: float | None = None
    tokens: dict[str, int] | None = None
    tests: tuple[int, int] | None = None


class Pair(Struct, frozen=True):
    """Calls at the same place of both attempts. One is None where the other attempt did something more."""

    left: MadeCall | None
    right: MadeCall | None

    @property
    def is_same(self) -> bool:
        """Whether both called the same tool with the same input, and it ended the same way."""
        left, right = self.left, self.right
        if left is None or right is None:
            return False
        return (left.tool, left.input, left.state) == (right.tool, right.input, right.state)


class Comparison(Struct, frozen=True):
    """Two attempts. `first_difference` is the index of the first pair that is not the same; None if all are."""

    left: Side
    right: Side
    pairs: tuple[Pair, ...]
    first_difference: int | None


async def compare(
    service: "Service", caller: Caller, left: tuple[str, str | None], right: tuple[str, str | None]
) -> Comparison:
    """Compare two attempts, each given as a run and a step. CommandRefused if one of them has no such agent step."""
    (one, first), (other, second) = await _read(service, caller, *left), await _read(service, caller, *right)
    pairs = align([*first.calls.values()], [*second.calls.values()])
    difference = next((index for index, pair in enumerate(pairs) if not pair.is_same), None)
    return Comparison(one, other, pairs, difference)


async def _read(service: "Service", caller: Caller, run: str, step: str | None) -> tuple[Side, Attempt]:
    active = await service.runs.get(caller, run)
    attempt = attempt_named(await attempts_in(active.events()), run, step)
    tested = next(iter(await active.test_history(1)), None)
    ended: dict[str, Any] = {name: attempt.ended.get(name) for name in ("turns", "cost", "tokens")}
    tests = None if tested is None or tested.run != run else (tested.total, tested.failed)
    status, calls = str(attempt.ended.get("status", "interrupted")), len(attempt.calls)
    return Side(run, attempt.occurrence, attempt.profile, attempt.model, status, calls, **ended, tests=tests), attempt


def align(left: list[MadeCall], right: list[MadeCall]) -> tuple[Pair, ...]:
    """Put calls beside each other that do the same; what is between them is paired in order."""
    matcher = SequenceMatcher(None, [each.title for each in left], [each.title for each in right], autojunk=False)
    pairs: list[Pair] = []
    for _, begin, end, other_begin, other_end in matcher.get_opcodes():
        for offset in range(max(end - begin, other_end - other_begin)):
            one = left[begin + offset] if begin + offset < end else None
            other = right[other_begin + offset] if other_begin + offset < other_end else None
            pairs.append(Pair(one, other))
    return tuple(pairs)
