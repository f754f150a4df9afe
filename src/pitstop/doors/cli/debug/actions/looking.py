"""Commands that only look."""

from functools import partial
from typing import Literal

from rich.text import Text

from pitstop.doors.cli.debug import render
from pitstop.doors.cli.debug.arguments import FilesWanted, LogPart
from pitstop.doors.cli.debug.console import Action, Console
from pitstop.doors.cli.debug.listings import call_stack, context_lines, frame_list, variable_list
from pitstop.doors.cli.debug.shell import open_shell
from pitstop.errors import BadCommand, NoFiles, UnknownFrame
from pitstop.service.debugging import verbs

LISTED_AROUND = 8
MOST_VARIABLES = 1000
MOST_FILES = 200
_NOTHING_CHANGED = Text("  nothing has changed", style="dim")


async def print_values(console: Console, expression: str, *, indent: int | None = None) -> None:
    for value in (await console.debugger.say(verbs.Evaluate(expression, console.stopped().id))).values:
        console.screen.say(render.json_text(value, indent=indent))


async def variables(console: Console, by_size: bool) -> None:
    sort: Literal["order", "bytes"] = "bytes" if by_size else "order"
    page = await console.debugger.say(verbs.Variables(console.stopped().id, limit=MOST_VARIABLES, sort=sort))
    console.screen.say(*variable_list(page))


async def where(console: Console, _: None) -> None:
    callers = console.trail.callers(console.stopped(), console.state.frames)
    console.screen.say(*call_stack(callers, console.frame_ids))


async def list_source(console: Console, line: int | None) -> None:
    step = console.steps.get(console.stopped().step)
    current = step.line if step is not None and step.line is not None else 0
    go_on = console.listed_to + LISTED_AROUND + 1 if console.listed_to else current
    centre = go_on if line is None else line or current
    lines = console.source_around(step, centre, LISTED_AROUND)
    if not lines:
        raise BadCommand("no more lines; `list .` shows the current line")
    console.listed_to = centre + LISTED_AROUND
    console.screen.say(*lines)


async def frames(console: Console, _: None) -> None:
    await console.look()
    console.screen.say(*frame_list(console.state.frames, console.state.stops, console.frame))


async def select_frame(console: Console, name: str) -> None:
    await console.look()
    frame = next((each for each in console.state.frames if name in (each.id, each.name)), None)
    if frame is None:
        raise UnknownFrame(name)
    await console.select(frame.id)
    if console.stop is None:
        console.screen.say(Text(f"frame {frame.id} is {frame.state}", style=console.style_of(frame.id)))


async def show_log(console: Console, part: LogPart) -> None:
    if part.step is None:
        occurrence: str | None = console.stopped().occurrence
    else:
        occurrence = console.trail.occurrence_of(part.step)
    if occurrence is None:
        raise BadCommand(f"no step {part.step!r} has run yet")
    lines = await console.run.log_tail(occurrence, part.lines)
    console.screen.say(*lines or [f"{occurrence} has no output"])


async def show_diff(console: Console, points: tuple[int, int] | None) -> None:
    if points is None:
        changes = await console.debugger.say(verbs.Diff(console.stopped().id))
    else:
        changes = await console.debugger.say(verbs.Diff(None, *points))
    console.screen.say(*(render.change_lines(changes) or [_NOTHING_CHANGED]))


async def show_files(console: Console, wanted: FilesWanted) -> None:
    before = wanted.before
    if before is None:
        stop = console.stopped()
        points = await console.debugger.say(verbs.History())
        earlier = [point.number for point in points if point.has_snapshot and point.number < stop.after_event]
        if not earlier:
            raise NoFiles("an earlier stop of this frame")
        before = earlier[-1]
    if wanted.path is not None:
        diff = await console.debugger.say(verbs.FilesDiff(wanted.path, before, wanted.after))
        console.screen.say(*render.file_diff_lines(diff))
    else:
        found = await console.debugger.say(verbs.Files(before, wanted.after, limit=MOST_FILES))
        console.screen.say(*(render.file_lines(found) or [Text("  no file has changed", style="dim")]))


async def show_context(console: Console, _: None) -> None:
    console.screen.say(*context_lines(await console.debugger.say(verbs.Context(console.stopped().id))))


async def watch(console: Console, expression: str) -> None:
    await console.debugger.say(verbs.Watch(expression))
    if console.stop is not None:
        values = await console.debugger.say(verbs.Watches(console.stop.id))
        console.screen.say(*render.watch_lines({expression: values[expression]}))


async def unwatch(console: Console, expression: str) -> None:
    await console.look()
    if expression not in console.state.watches:
        raise BadCommand(f"{expression!r} is not watched; `watches` lists all watches")
    await console.debugger.say(verbs.Unwatch(expression))


async def watches(console: Console, _: None) -> None:
    values = await console.debugger.say(verbs.Watches(console.stopped().id))
    console.screen.say(*(render.watch_lines(values) or [Text("no watches", style="dim")]))


ACTIONS: dict[str, Action] = {
    "p": print_values,
    "pp": partial(print_values, indent=2),
    "vars": variables,
    "where": where,
    "list": list_source,
    "frames": frames,
    "frame": select_frame,
    "log": show_log,
    "diff": show_diff,
    "files": show_files,
    "context": show_context,
    "sidecar": partial(open_shell, "sidecar"),
    "watch": watch,
    "unwatch": unwatch,
    "watches": watches,
}
