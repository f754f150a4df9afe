"""A shell recorded as an asciicast, version 2: each line what it showed, and when. Secrets are not in it."""

import asyncio
import codecs
import json
import re
import time
from collections.abc import Callable
from contextlib import suppress

from pitstop.engine.workspace_files import WorkspaceFiles
from pitstop.errors import WorkspaceLost
from pitstop.runs.run_request import ShellMode
from pitstop.steps.workplace import MaskedStream

FOLDER = "shells"
MOST_BYTES = 50 * 1024 * 1024
TOO_MUCH = "the recording ends here: its size limit is reached"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class ShellRecording:
    """Writes what happens into a control file of a workspace, up to MOST_BYTES. `keys` adds what is typed."""

    def __init__(
        self,
        files: WorkspaceFiles,
        path: str,
        *,
        rows: int,
        cols: int,
        title: str,
        keys: bool = False,
        new_stream: Callable[[], MaskedStream] | None = None,
    ) -> None:
        self._files = files
        self._path = path
        self._unwritten = bytearray()
        self._writing = asyncio.Lock()
        self._is_closed = False
        self._began = time.monotonic()
        self._size = 0
        self._has_keys = keys
        self._shown = _Text(None if new_stream is None else new_stream())
        self._typed = _Text(None if new_stream is None else new_stream())
        header = {"version": 2, "width": cols, "height": rows, "timestamp": int(time.time()), "title": title}
        self._add({**header, "env": {"TERM": "xterm-256color"}})

    async def show(self, data: bytes) -> None:
        self._tell("o", self._shown.feed(data))
        await self._write()

    async def type(self, data: bytes) -> None:
        if self._has_keys:
            self._tell("i", self._typed.feed(data))
            await self._write()

    def resize(self, rows: int, cols: int) -> None:
        """Written with what comes next."""
        self._tell("r", f"{cols}x{rows}")

    async def mark(self, what: str) -> None:
        self._tell("m", what)
        await self._write()

    async def close(self) -> None:
        self._tell("o", self._shown.finish())
        self._tell("i", self._typed.finish())
        self._is_closed = True
        await self._write()

    def _tell(self, kind: str, text: str) -> None:
        if not text or self._is_closed:
            return
        if self._size > MOST_BYTES:
            kind, text = "m", TOO_MUCH
        self._add([round(time.monotonic() - self._began, 6), kind, text])
        self._is_closed = text is TOO_MUCH

    def _add(self, line: object) -> None:
        added = json.dumps(line, ensure_ascii=False).encode(errors="replace") + b"\n"
        self._size += len(added)
        self._unwritten += added

    async def _write(self) -> None:
        """At once: what was seen last before a crash is what one wants to know."""
        async with self._writing:
            data = bytes(self._unwritten)
            self._unwritten.clear()
            if data:
                with suppress(WorkspaceLost):  # the run has ended, and what was recorded is kept with it
                    await self._files.write("control", self._path, data, append=True)


def recording_name(mode: ShellMode, occurrence: str) -> str:
    """A name of its own that tells when and where it was; they sort by time."""
    moment = time.time()
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(moment)) + f"-{int(moment % 1 * 1e6):06}"
    return f"{stamp}-{mode}-{_UNSAFE.sub('-', occurrence)[:100]}.cast"


class _Text:
    """A stream of bytes as text, without secrets, never cut inside a character."""

    def __init__(self, masked: MaskedStream | None) -> None:
        self._masked = masked
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes) -> str:
        return self._decoder.decode(data if self._masked is None else self._masked.feed(data))

    def finish(self) -> str:
        return self._decoder.decode(b"" if self._masked is None else self._masked.finish(), True)
