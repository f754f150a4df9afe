"""The debugger of a run in this process: requests become calls of its session."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, TypeVar

import msgspec

from pitstop.debugger.session import Session
from pitstop.engine.ports import Evaluator
from pitstop.errors import StoreUnavailable, UnknownBreakpoint
from pitstop.runs.flow_breakpoints import Setup
from pitstop.runs.inspection import Debugged, Inspection
from pitstop.runs.jq_checks import check_breakpoints
from pitstop.runs.run_request import BreakpointInfo, BreakpointRequest, Request
from pitstop.runs.sessions import parts_of
from pitstop.runs.stop_formats import as_request, format_way
from pitstop.runs.stop_info import InjectedState, WayInfo
from pitstop.runs.telling import MaskText, masked
from pitstop.runs.verb_table import VERB_OF

STORE_SECONDS = 10.0  # how long the answer to a command waits for the store

A = TypeVar("A")
Save = Callable[[Setup, Setup], Awaitable[None]]  # what is to be stored of a session, before and after a change

_SETTING_UP = (
    "add_breakpoint",
    "change_breakpoint",
    "remove_breakpoint",
    "clear_breakpoints",
    "enable_breakpoint_group",
    "watch",
    "unwatch",
)
_DEFAULTS = {each.name: each.default for each in msgspec.structs.fields(BreakpointRequest)}


class LocalDebugger:
    """A Debugger. A run that was not started for debugging gets a session with the first command.

    `save` stores changes of breakpoints and watches for later runs.
    """

    def __init__(self, run: Debugged, new_evaluator: Callable[[], Evaluator], save: Save | None = None) -> None:
        self._run = run
        self._new_evaluator = new_evaluator
        self._save = save
        self._inspection = Inspection(run, new_evaluator)
        self._translated: Mapping[str, Callable[..., Any]] = {
            "continue": _continue,
            "step": _step,
            "config": Session.override_config,
            "restart": Session.restart_frame,
            "forward": _forward,
            "inject": self._inject,
            "add_breakpoint": self._add_breakpoint,
            "change_breakpoint": self._change_breakpoint,
            "enable_breakpoint_group": self._enable_breakpoint_group,
        }

    async def say(self, request: Request[A]) -> A:
        """Execute a verb; StoreUnavailable when one that changes something was accepted, but could not be stored yet.

        The inspection has a method for each verb that only looks, the session for most of the others.
        """
        verb, given = VERB_OF[type(request)], msgspec.structs.asdict(request)
        if not verb.changes:
            return await getattr(self._inspection, verb.name)(**given)  # type: ignore[no-any-return]
        session = self._inspection.session
        act = self._translated.get(verb.name)
        save = self._save if verb.name in _SETTING_UP else None
        before = Setup() if save is None else _setup_of(session, self._run.mask_text)
        answer = getattr(session, verb.name)(**given) if act is None else act(session, **given)
        if isinstance(answer, Awaitable):
            answer = await answer
        if save is not None:
            await save(before, _setup_of(session, self._run.mask_text))
        await self._wait_stored()
        return answer  # type: ignore[no-any-return]

    async def _wait_stored(self) -> None:
        try:
            async with asyncio.timeout(STORE_SECONDS):
                await self._run.settled()
        except TimeoutError as error:
            raise StoreUnavailable("the command was accepted, but is not stored yet") from error

    async def _inject(
        self, session: Session, stop: int, step: dict[str, Any], position: Literal["before", "after"]
    ) -> InjectedState:
        path = await session.inject(stop, step, position)
        state = await self._inspection.state()
        return InjectedState(**msgspec.structs.asdict(state), path=path)

    async def _add_breakpoint(self, session: Session, **given: Any) -> BreakpointInfo:
        request = BreakpointRequest(**given)
        await check_breakpoints([request], self._new_evaluator)
        return self._inspection.breakpoint(session.add_breakpoint(**parts_of(request)))

    async def _change_breakpoint(self, session: Session, breakpoint: int, **given: Any) -> BreakpointInfo:
        found = next((each for each in session.breakpoints if each.id == breakpoint), None)
        if found is None:
            raise UnknownBreakpoint(breakpoint)
        changes = {name: value for name, value in given.items() if _is_change(name, value)}
        if changes.keys() == {"enabled"}:
            session.enable_breakpoint(breakpoint, changes["enabled"])
        else:
            request = msgspec.structs.replace(as_request(found), **changes)
            await check_breakpoints([request], self._new_evaluator)
            found = session.change_breakpoint(breakpoint, **parts_of(request))
        return self._inspection.breakpoint(found)

    async def _enable_breakpoint_group(self, session: Session, group: str, enabled: bool) -> tuple[BreakpointInfo, ...]:
        session.enable_group(group, enabled)
        return await self._inspection.breakpoints()


def _setup_of(session: Session, mask: MaskText) -> Setup:
    """The breakpoints that JSON can express and that are for more than one stop, and the watches."""
    stored = [
        as_request(each)
        for each in session.breakpoints
        if not each.once and each.group != "default" and not callable(each.condition)
    ]
    return msgspec.convert(masked(msgspec.to_builtins(Setup(tuple(stored), session.watches)), mask), Setup)


async def _continue(session: Session, stop: int | None, all: bool, keeps_step: bool) -> None:
    if stop is None:
        await session.continue_all()
    else:
        await session.continue_(stop, keeps_step=keeps_step)


async def _step(session: Session, stop: int, kind: str, step: str | None, external: bool, code: bool) -> None:
    match kind:
        case "into":
            await session.step_into(stop, code=code)
        case "over":
            await session.step_over(stop)
        case "out":
            await session.step_out(stop)
        case "to":
            await session.run_to(stop, step or "")
        case "back":
            await session.step_back(stop, external=external)


async def _forward(session: Session, stop: int) -> WayInfo:
    return format_way(await session.forward(stop))


def _is_change(name: str, value: Any) -> bool:
    """Whether a field was given; null changes nothing in a field that must have a value."""
    return value is not msgspec.UNSET and (value is not None or _DEFAULTS[name] is None)
