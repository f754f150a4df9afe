"""Commands for breakpoints."""

from difflib import get_close_matches
from functools import partial

import msgspec

from pitstop.doors.cli.debug.console import Action, Console
from pitstop.doors.cli.debug.listings import breakpoint_line, breakpoint_list, is_found
from pitstop.errors import BadCommand
from pitstop.service.debugging import verbs
from pitstop.service.runs import BreakpointRequest


async def break_(console: Console, wanted: BreakpointRequest | None) -> None:
    if wanted is None:
        await _list(console)
    else:
        await _add(console, wanted)


async def break_once(console: Console, wanted: BreakpointRequest) -> None:
    await _add(console, msgspec.structs.replace(wanted, once=True))


async def _list(console: Console) -> None:
    await console.look()
    console.screen.say(*breakpoint_list(console.state.breakpoints, is_muted=console.state.is_muted))


async def _add(console: Console, wanted: BreakpointRequest) -> None:
    """Add it, if the flow has the place: what is typed here is meant for this flow."""
    if wanted.line is not None:
        wanted = msgspec.structs.replace(wanted, file=_file_named(console, wanted.file or ""))
    breakpoint = await console.debugger.say(wanted)
    if not is_found(breakpoint):
        await console.debugger.say(verbs.RemoveBreakpoint(breakpoint.id))
        raise BadCommand(_not_found(console, wanted))
    console.screen.say(breakpoint_line(breakpoint))


def _file_named(console: Console, name: str) -> str:
    """The file of the flow that ends like this; without a name the one that is being looked at."""
    if not name:
        step = console.steps.get(console.stopped().step)
        return step.file if step is not None and step.file is not None else console.run.flow.file
    files = {step.file for step in console.run.flow.steps if step.file is not None}
    return next((file for file in sorted(files) if file == name or file.endswith(f"/{name}")), name)


def _not_found(console: Console, wanted: BreakpointRequest) -> str:
    if wanted.line is not None:
        return f"there is no step at {wanted.file}:{wanted.line}"
    if wanted.kind is not None:
        return f"the flow has no step of type {wanted.kind!r}"
    names = {name for step in console.run.flow.steps for name in (step.path, step.id) if name}
    nearest = get_close_matches(wanted.step or "", sorted(names), n=1)
    hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
    return f"the flow has no step {wanted.step!r}{hint}"


async def clear(console: Console, which: tuple[int, ...] | str) -> None:
    if which == "all":
        await console.debugger.say(verbs.ClearBreakpoints())
        await _list(console)
        return
    await console.look()
    if isinstance(which, str):
        known = console.state.breakpoints
        chosen = [each.id for each in known if which in (each.request.group, each.request.step)]
        if not chosen:
            raise BadCommand(f"there is no breakpoint at {which!r}, and no group with that name")
        which = tuple(chosen)
    for number in which:
        await console.debugger.say(verbs.RemoveBreakpoint(number))
    await _list(console)


async def switch(console: Console, which: tuple[int, ...] | str, *, enabled: bool) -> None:
    if isinstance(which, str):
        await console.debugger.say(verbs.EnableBreakpointGroup(which, enabled))
    else:
        for number in which:
            await console.debugger.say(verbs.ChangeBreakpoint(number, enabled=enabled))
    await _list(console)


async def mute(console: Console, _: None, *, muted: bool) -> None:
    await console.debugger.say(verbs.Mute(muted))
    await _list(console)


ACTIONS: dict[str, Action] = {
    "break": break_,
    "tbreak": break_once,
    "clear": clear,
    "mute": partial(mute, muted=True),
    "unmute": partial(mute, muted=False),
    "enable": partial(switch, enabled=True),
    "disable": partial(switch, enabled=False),
}
