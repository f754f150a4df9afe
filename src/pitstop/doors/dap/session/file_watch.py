"""Files that are edited while their flow runs: steps move, and breakpoints move with them."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pitstop.doors.dap.protocol.bodies import BreakpointEvent
from pitstop.doors.dap.session.adapter import Adapter
from pitstop.doors.dap.session.placing import tell_place
from pitstop.errors import PitstopError

if TYPE_CHECKING:
    from pitstop.doors.dap.session.debuggee import Debuggee

LOOK_SECONDS = 0.5

Stamps = dict[str, tuple[int, int]]


async def watch_files(adapter: Adapter, debuggee: "Debuggee") -> None:
    """Look at the files of a flow that was launched here, again and again."""
    flow = debuggee.flow_file
    if flow is None:
        return
    stamps = _stamps(debuggee.places.files)
    seen = stamps if _are_as_they_were_read(debuggee) else {}  # it may be edited before this looks for the first time
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        now = _stamps(debuggee.places.files)
        if now != seen:
            seen = now
            with suppress(PitstopError):  # it is being edited: until it is a flow again, steps are where they were
                told = await debuggee.origin.service.check(flow)
                async with adapter.turn:
                    debuggee.renew(told)
                    _move_breakpoints(adapter, debuggee)


def _are_as_they_were_read(debuggee: "Debuggee") -> bool:
    texts = {} if debuggee.run is None else debuggee.run.texts
    try:
        return all(Path(file).read_text(encoding="utf-8") == text for file, text in texts.items())
    except (OSError, ValueError):
        return False


def _move_breakpoints(adapter: Adapter, debuggee: "Debuggee") -> None:
    for name, (_, asked) in adapter.asked_at_lines.items():
        marks = [mark for file, mark in adapter.breakpoints.at_lines() if file == name]
        for mark, each in zip(marks, asked, strict=True):
            step = None if mark.step is None else debuggee.places.step(mark.step)
            if step is None:
                continue
            told = tell_place(adapter, step)
            told.id = mark.told.id
            if told != mark.told and told.line is not None:
                mark.told = told
                each.line = told.line
                adapter.tell("breakpoint", BreakpointEvent(reason="changed", breakpoint=told))


def _stamps(files: tuple[str, ...]) -> Stamps:
    found: Stamps = {}
    for file in files:
        with suppress(OSError):
            about = Path(file).stat()
            found[file] = (about.st_mtime_ns, about.st_size)
    return found
