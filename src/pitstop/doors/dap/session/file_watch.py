"""Files that are edited while their flow runs: steps move, and breakpoints move with them."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path

from pitstop.doors.dap.session.editor import Editor
from pitstop.doors.dap.session.places import Places
from pitstop.errors import PitstopError
from pitstop.service.flows import FlowInfo

LOOK_SECONDS = 0.5

Stamps = dict[str, tuple[int, int]]


async def watch_files(
    editor: Editor, places: Places, texts: Mapping[str, str], read: Callable[[], Awaitable[FlowInfo]]
) -> None:
    """Read a flow again whenever its files change, from what they were in `texts` on."""
    stamps = _stamps(places.files)
    seen = stamps if _are_as_they_were_read(texts) else {}  # it may be edited before this looks for the first time
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        now = _stamps(places.files)
        if now != seen:
            seen = now
            with suppress(PitstopError):  # it is being edited: until it is a flow again, steps are where they were
                flow = await read()
                async with editor.turn:
                    places.renew(flow)
                    editor.sources.forget_lines()
                    _move_breakpoints(editor, places)


def _are_as_they_were_read(texts: Mapping[str, str]) -> bool:
    try:
        return all(Path(file).read_text(encoding="utf-8") == text for file, text in texts.items())
    except (OSError, ValueError):
        return False


def _move_breakpoints(editor: Editor, places: Places) -> None:
    for name, (_, asked) in editor.asked_at_lines.items():
        marks = [mark for file, mark in editor.breakpoints.at_lines() if file == name]
        for mark, each in zip(marks, asked, strict=True):
            step = None if mark.step is None else places.step(mark.step)
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
