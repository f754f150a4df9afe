"""A shell recorded as an asciicast, version 2: each line what it showed, and when. Secrets are not in it."""

import codecs
import json
import re
import time
from collections.abc import Callable
from pathlib import Path

from pitstop.runs.run_request import ShellMode
from pitstop.steps.workplace import MaskedStream

FOLDER = "shells"
MOST_BYTES = 50 * 1024 * 1024
TOO_MUCH = "the recording ends here: it may not be larger"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class ShellRecording:
    """Writes what happens into a file, until that is as large as it may be. `keys` keeps what is typed, too."""

    def __init__(
        self,
        file: Path,
        *,
        rows: int,
        cols: int,
        title: str,
        keys: bool = False,
        new_stream: Callable[[], MaskedStream] | None = None,
    ) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._file = file.open("xb")
        self._began = time.monotonic()
        self._size = 0
        self._has_keys = keys
        self._shown = _Text(None if new_stream is None else new_stream())
        self._typed = _Text(None if new_stream is None else new_stream())
        header = {"version": 2, "width": cols, "height": rows, "timestamp": int(time.time()), "title": title}
        self._write({**header, "env": {"TERM": "xterm-256color"}})

    def show(self, data: bytes) -> None:
        self._tell("o", self._shown.feed(data))

    def type(self, data: bytes) -> None:
        if self._has_keys:
            self._tell("i", self._typed.feed(data))

    def resize(self, rows: int, cols: int) -> None:
        self._tell("r", f"{cols}x{rows}")

    def mark(self, what: str) -> None:
        self._tell("m", what)

    def close(self) -> None:
        if not self._file.closed:
            self._tell("o", self._shown.finish())
            self._tell("i", self._typed.finish())
            self._file.close()

    def _tell(self, kind: str, text: str) -> None:
        if not text or self._file.closed:
            return
        if self._size > MOST_BYTES:
            kind, text = "m", TOO_MUCH
        self._write([round(time.monotonic() - self._began, 6), kind, text])
        if text is TOO_MUCH:
            self._file.close()

    def _write(self, line: object) -> None:
        self._size += self._file.write(json.dumps(line, ensure_ascii=False).encode(errors="replace") + b"\n")
        self._file.flush()  # what was seen last before a crash is what one wants to know


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
