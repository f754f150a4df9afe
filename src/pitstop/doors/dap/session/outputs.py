"""What steps write, as lines in the console of the client, each with the place of its step."""

import codecs
import re
from typing import NamedTuple

from pitstop.doors.dap.session.editor import Editor
from pitstop.doors.dap.session.places import Places
from pitstop.service.runs import Output, Stream, without_escapes

LONGEST_PART = 16 * 1024  # of a line that does not end

_INDICES = re.compile(r"[@#]\d+|\[\d+\]")


class _Pending(NamedTuple):
    decoder: codecs.IncrementalDecoder
    parts: list[str]


class Outputs:
    """Lines are told whole: what has no end yet waits until the step is over or somebody looks at a stop."""

    def __init__(self, editor: Editor, places: Places) -> None:
        self._editor = editor
        self._places = places
        self._pending: dict[tuple[str, Stream], _Pending] = {}

    def hear(self, output: Output) -> None:
        key = (output.occurrence, output.stream)
        pending = self._pending.get(key)
        if pending is None:
            pending = self._pending[key] = _Pending(codecs.getincrementaldecoder("utf-8")("replace"), [])
        text = pending.decoder.decode(output.data)
        whole, newline, rest = text.rpartition("\n")
        if newline:
            self._tell(*key, "".join(pending.parts) + whole)
            pending.parts.clear()
        if rest:
            pending.parts.append(rest)
            if sum(map(len, pending.parts)) > LONGEST_PART:
                self._tell(*key, "".join(pending.parts))
                pending.parts.clear()

    def end(self, occurrence: str) -> None:
        """The step is over: nothing will be added to its last line."""
        for stream in ("stdout", "stderr"):
            pending = self._pending.pop((occurrence, stream), None)
            if pending is not None:
                self._flush(occurrence, stream, pending, is_over=True)

    def flush(self) -> None:
        for (occurrence, stream), pending in self._pending.items():
            self._flush(occurrence, stream, pending, is_over=False)

    def _flush(self, occurrence: str, stream: Stream, pending: _Pending, *, is_over: bool) -> None:
        text = "".join(pending.parts) + (pending.decoder.decode(b"", final=True) if is_over else "")
        pending.parts.clear()
        if text:
            self._tell(occurrence, stream, text)

    def _tell(self, occurrence: str, stream: Stream, text: str) -> None:
        shown = text if self._editor.client.shows_colours else without_escapes(text)
        self._editor.say_at(self._places.step(_INDICES.sub("", occurrence)), shown.replace("\r\n", "\n"), stream)
