"""Commands for breakpoints."""

from difflib import get_close_matches
from typing import Any

from pitstop.doors.cli.debug.arguments import BadCommand
from pitstop.doors.cli.debug.console import Action, Console
from pitstop.doors.cli.debug.listings import breakpoint_line, breakpoint_list


async def break_(console: Console, parts: dict[str, Any] | None) -> None:
    if parts is None:
        console.screen.say(*breakpoint_list(console.debugger.breakpoints))
    else:
        _add(console, parts)


async def break_once(console: Console, parts: dict[str, Any]) -> None:
    _add(console, {**parts, "once": True})


def _add(console: Console, parts: dict[str, Any]) -> None:
    """Add it, if the flow has the place: what is typed here is meant for this flow."""
    if parts.get("line") is not None:
        parts = {**parts, "file": _file_named(console, parts["file"])}
    breakpoint = console.debugger.add_breakpoint(**parts)
    if not breakpoint.is_found:
        console.debugger.remove_breakpoint(breakpoint.id)
        raise BadCommand(_not_found(console, parts))
    console.screen.say(breakpoint_line(breakpoint))


def _file_named(console: Console, name: str) -> str:
    """The file of the flow that ends like this; without a name the one that is being looked at."""
    if not name:
        step = console.steps.get(console.stopped().step)
        return step.file if step is not None and step.file is not None else console.run.flow.file
    files = {step.file for step in console.run.flow.steps if step.file is not None}
    return next((file for file in sorted(files) if file == name or file.endswith(f"/{name}")), name)


def _not_found(console: Console, parts: dict[str, Any]) -> str:
    if parts.get("line") is not None:
        return f"no step is written at {parts['file']}:{parts['line']}"
    if parts.get("kind") is not None:
        return f"the flow has no step of type {parts['kind']!r}"
    names = {name for step in console.run.flow.steps for name in (step.path, step.id) if name}
    nearest = get_close_matches(parts["step"], sorted(names), n=1)
    hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
    return f"the flow has no step {parts['step']!r}{hint}"


async def clear(console: Console, which: tuple[int, ...] | str) -> None:
    if isinstance(which, str):
        chosen = [each.id for each in console.debugger.breakpoints if which in ("all", each.group, each.step)]
        if not chosen:
            raise BadCommand(f"no breakpoint is at {which!r}, or in a group of that name")
        which = tuple(chosen)
    for number in which:
        console.debugger.remove_breakpoint(number)
    console.screen.say(*breakpoint_list(console.debugger.breakpoints))


async def enable(console: Console, which: tuple[int, ...] | str) -> None:
    _switch(console, which, enabled=True)


async def disable(console: Console, which: tuple[int, ...] | str) -> None:
    _switch(console, which, enabled=False)


def _switch(console: Console, which: tuple[int, ...] | str, *, enabled: bool) -> None:
    if isinstance(which, str):
        console.debugger.enable_group(which, enabled)
    else:
        for number in which:
            console.debugger.enable_breakpoint(number, enabled)
    console.screen.say(*breakpoint_list(console.debugger.breakpoints))


ACTIONS: dict[str, Action] = {
    "break": break_,
    "tbreak": break_once,
    "clear": clear,
    "enable": enable,
    "disable": disable,
}
