"""Breakpoints that are kept with a flow, and added to its runs that are debugged."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from pitstop.errors import CommandRefused
from pitstop.plan.addresses import occurrence_in
from pitstop.plan.plan import Plan
from pitstop.runs.requests import breakpoints_of
from pitstop.runs.run_request import BreakpointRequest, DebugRequest
from pitstop.store.port import RunStore

NAME = "breakpoints"


async def read_flow_breakpoints(store: RunStore, file: str) -> tuple[BreakpointRequest, ...]:
    return breakpoints_of(await store.read_flow_setting(file, NAME))


async def write_flow_breakpoints(store: RunStore, file: str, breakpoints: Sequence[BreakpointRequest]) -> None:
    await store.write_flow_setting(file, NAME, msgspec.to_builtins(list(breakpoints)))


async def with_flow_breakpoints(debug: DebugRequest, store: RunStore, file: str, plan: Plan) -> DebugRequest:
    """The request with those that are kept with the flow, if it asks for them; a text alone has none."""
    if not debug.flow_breakpoints or not Path(file).is_absolute():
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
