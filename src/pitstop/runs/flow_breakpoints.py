"""Breakpoints and watches that are stored with a flow or graph, and used in its next runs that are debugged."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from pitstop.errors import CommandRefused
from pitstop.plan.addresses import occurrence_in
from pitstop.plan.plan import Plan
from pitstop.runs.requests import breakpoints_of
from pitstop.runs.run_request import BreakpointRequest, DebugRequest
from pitstop.store.port import RunStore

T = TypeVar("T")
NAME = "breakpoints"
WATCHES = "watches"


class Setup(msgspec.Struct, frozen=True):
    """What of a session is worth storing with its flow."""

    breakpoints: tuple[BreakpointRequest, ...] = ()
    watches: tuple[str, ...] = ()


async def save_changes(store: RunStore, file: str, before: Setup, after: Setup) -> None:
    """Change what is stored with the flow as a session was changed. What it did not touch stays; a text has nothing."""
    if not Path(file).is_absolute():
        return
    if before.breakpoints != after.breakpoints:
        kept = await read_flow_breakpoints(store, file)
        await write_flow_breakpoints(store, file, _changed(kept, before.breakpoints, after.breakpoints))
    if before.watches != after.watches:
        watches = _changed(await read_flow_watches(store, file), before.watches, after.watches)
        await store.write_flow_setting(file, WATCHES, watches)


def _changed(kept: Sequence[T], before: Sequence[T], after: Sequence[T]) -> list[T]:
    removed = [each for each in before if each not in after]
    left = [each for each in kept if each not in removed]
    return left + [each for each in after if each not in before and each not in left]


async def read_flow_breakpoints(store: RunStore, file: str) -> tuple[BreakpointRequest, ...]:
    return breakpoints_of(await store.read_flow_setting(file, NAME))


async def write_flow_breakpoints(store: RunStore, file: str, breakpoints: Sequence[BreakpointRequest]) -> None:
    await store.write_flow_setting(file, NAME, msgspec.to_builtins(list(breakpoints)))


async def read_flow_watches(store: RunStore, file: str) -> tuple[str, ...]:
    return tuple(await store.read_flow_setting(file, WATCHES) or ())


async def with_flow_breakpoints(debug: DebugRequest, store: RunStore, file: str, plan: Plan) -> DebugRequest:
    """The request with what is stored with the flow, as far as it asks for it; a text alone has nothing."""
    if not Path(file).is_absolute():
        return debug
    if debug.remembers:
        watches = tuple(dict.fromkeys((*debug.watches, *await read_flow_watches(store, file))))
        debug = msgspec.structs.replace(debug, watches=watches)
    if not debug.flow_breakpoints:
        return debug
    kept = await read_flow_breakpoints(store, file)
    return msgspec.structs.replace(debug, breakpoints=(*debug.breakpoints, *_missing(kept, debug.breakpoints, plan)))


def _missing(
    kept: Iterable[BreakpointRequest], asked: Iterable[BreakpointRequest], plan: Plan
) -> list[BreakpointRequest]:
    """Those that were not asked for, and whose step the flow still has: it may have changed since they were kept."""
    known = [msgspec.structs.replace(each, enabled=True) for each in asked]
    missing = [each for each in kept if msgspec.structs.replace(each, enabled=True) not in known]
    return [each for each in missing if each.step is None or _is_in(plan, each.step)]


def _is_in(plan: Plan, step: str) -> bool:
    try:
        return occurrence_in(plan, step) is not None or bool(plan.paths_named(step))
    except CommandRefused:
        return False
