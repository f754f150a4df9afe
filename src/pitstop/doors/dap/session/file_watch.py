"""Files that are edited while their flow runs: steps move, and breakpoints move with them."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from pitstop.doors.dap.session.editor import Editor
from pitstop.doors.dap.session.outputs import Placed
from pitstop.errors import PitstopError
from pitstop.service.flows import FlowInfo

LOOK_SECONDS = 0.5

Stamps = dict[str, tuple[int, int]]


class Watched(Placed, Protocol):
    """What is debugged, as far as its files go."""

    @property
    def flow_file(self) -> str | None: ...

    @property
    def texts(self) -> Mapping[str, str]:
        """Each file as it was read when the run began."""
        ...

    async def read_again(self, flow: str) -> FlowInfo: ...

    def renew(self, flow: FlowInfo) -> None: ...


async def watch_files(editor: Editor, debuggee: Watched) -> None:
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
                told = await debuggee.read_again(flow)
                async with editor.turn:
                    debuggee.renew(told)
                    _move_breakpoints(editor, debuggee)


def _are_as_they_were_read(debuggee: Watched) -> bool:
    try:
        return all(Path(file).read_text(encoding="utf-8") == text for file, text in debuggee.texts.items())
    except (OSError, ValueError):
        return False


def _move_breakpoints(editor: Editor, debuggee: Watched) -> None:
    for name, (_, asked) in editor.asked_at_lines.items():
        marks = [mark for file, mark in editor.breakpoints.at_lines() if file == name]
        for mark, each in zip(marks, asked, strict=True):
            step = None if mark.step is None else debuggee.places.step(mark.step)
            if step is None:
                continue
            told = editor.sources.place(step, editor.client)
            told.id = mark.told.id
            if told != mark.told and told.line is not None:
                mark.told = told
                each.line = told.line
                editor.tell("breakpoint", {"reason": "changed", "breakpoint": told})


def _stamps(files: tuple[str, ...]) -> Stamps:
    found: Stamps = {}
    for file in files:
        with suppress(OSError):
            about = Path(file).stat()
            found[file] = (about.st_mtime_ns, about.st_size)
    return found
