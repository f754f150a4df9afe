"""The breakpoints that a client has asked for, and those of the debugger that they became."""

from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from pitstop.doors.dap.protocol.messages import Breakpoint
from pitstop.errors import CommandRefused
from pitstop.service.debugging import BreakpointInfo, Debugger, verbs
from pitstop.service.runs import BreakpointRequest

Kind = Literal["line", "function", "exception", "data"]
Key = tuple[Kind, str]  # the kind, and the file of those that are at lines


class Draft(Struct, frozen=True):
    """What the client wants. A line may be that of several steps, so there may be several requests, or none.

    `log` is a log message as it was written.
    """

    requests: tuple[BreakpointRequest, ...]
    told: Breakpoint
    step: str | None = None
    log: str | None = None


class Mark(Struct):
    """A breakpoint as the client knows it, under a number that is never used again."""

    kind: Kind
    told: Breakpoint
    requests: tuple[BreakpointRequest, ...]
    step: str | None = None
    log: str | None = None
    numbers: list[int] = field(default_factory=list)  # those of the debugger


class BreakpointBook:
    """All breakpoints of a session, over all of its runs."""

    def __init__(self) -> None:
        self._sets: dict[Key, list[Mark]] = {}
        self._by_number: dict[int, Mark] = {}
        self._last_id = 0

    def requests(self) -> tuple[BreakpointRequest, ...]:
        return tuple(request for mark in self._marks() for request in mark.requests)

    def at_lines(self) -> Iterable[tuple[str, Mark]]:
        """Those at lines, each with its file."""
        return ((file, mark) for (kind, file), marks in self._sets.items() if kind == "line" for mark in marks)

    def hit(self, numbers: Iterable[int]) -> list[Mark]:
        """The ones that these of the debugger are; others may have set some of their own."""
        return list({id(mark): mark for each in numbers if (mark := self._by_number.get(each)) is not None}.values())

    def as_written(self, number: int, message: str) -> str:
        """A log message that could not be made begins with its template: the client knows what it wrote."""
        for mark in self.hit((number,)):
            template = mark.requests[0].log if mark.requests else None
            if template is not None and mark.log is not None and message.startswith(f"{template} ("):
                return mark.log + message.removeprefix(template)
        return message

    async def replace(
        self, key: Key, drafts: Sequence[Draft], debugger: Debugger | None, *, is_same: bool = False
    ) -> list[Breakpoint]:
        """Put these in the place of those of the same kind and file. One that was there already stays, with its hits.

        With `is_same` they are those that were there, looked up anew: each keeps its number.
        """
        before = self._sets.get(key, [])
        old: dict[tuple[BreakpointRequest, ...], list[Mark]] = {}
        for mark in before:
            old.setdefault(mark.requests, []).append(mark)
        marks = []
        for index, draft in enumerate(drafts):
            known = old.get(draft.requests) if draft.requests else None
            mark = known.pop(0) if known else await self._add(key[0], draft, debugger)
            number = before[index].told.id if is_same and index < len(before) else mark.told.id
            mark.step, mark.log = draft.step, draft.log
            mark.told = replace(draft.told if mark.requests else mark.told, id=number)
            marks.append(mark)
        for left in (mark for same in old.values() for mark in same):
            await self._remove(left, debugger)
        self._sets[key] = marks
        return [mark.told for mark in marks]

    def bind(self, infos: Iterable[BreakpointInfo]) -> None:
        """A run has begun with `requests`: find out what their numbers are."""
        numbers: dict[BreakpointRequest, list[int]] = {}
        for info in infos:
            numbers.setdefault(info.request, []).append(info.id)
        self._by_number.clear()
        for mark in self._marks():
            mark.numbers = [numbers[request].pop(0) for request in mark.requests if numbers.get(request)]
            self._by_number.update(dict.fromkeys(mark.numbers, mark))

    async def set_all(self, debugger: Debugger) -> None:
        """Set them in a run that others have begun."""
        for mark in self._marks():
            mark.numbers = [(await debugger.say(request)).id for request in mark.requests]
            self._by_number.update(dict.fromkeys(mark.numbers, mark))

    async def withdraw(self, debugger: Debugger) -> None:
        """Take them all out of a run that goes on without us."""
        for mark in self._marks():
            await self._remove(mark, debugger)

    def _marks(self) -> Iterable[Mark]:
        return (mark for marks in self._sets.values() for mark in marks)

    async def _add(self, kind: Kind, draft: Draft, debugger: Debugger | None) -> Mark:
        self._last_id += 1
        mark = Mark(kind, replace(draft.told, id=self._last_id), draft.requests)
        if debugger is None:
            return mark
        try:
            for request in draft.requests:
                mark.numbers.append((await debugger.say(request)).id)
        except CommandRefused as error:
            await self._remove(mark, debugger)
            mark.requests = ()
            mark.told = replace(mark.told, verified=False, message=str(error), reason="failed")
        self._by_number.update(dict.fromkeys(mark.numbers, mark))
        return mark

    async def _remove(self, mark: Mark, debugger: Debugger | None) -> None:
        for number in mark.numbers:
            self._by_number.pop(number, None)
            if debugger is not None:
                try:
                    await debugger.say(verbs.RemoveBreakpoint(number))
                except CommandRefused:  # somebody else was quicker
                    continue
        mark.numbers = []
