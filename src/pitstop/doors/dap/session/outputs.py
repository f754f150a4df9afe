"""What steps write, as lines in the console of the client, each with the place of its step."""

import codecs
import re
from typing import NamedTuple, Protocol

from pitstop.doors.dap.protocol.messages import OutputEvent
from pitstop.doors.dap.session.editor import Editor
from pitstop.doors.dap.session.places import Places
from pitstop.service.runs import Output, Stream, without_escapes

LONGEST_PART = 16 * 1024  # of a line that does not end

_INDICES = re.compile(r"[@#]\d+|\[\d+\]")


class Placed(Protocol):
    """What knows where its steps are written."""

    @property
    def places(self) -> Places: ...


class _Pending(NamedTuple):
    decoder: codecs.IncrementalDecoder
    parts: list[str]


class Outputs:
    """Lines are told whole: what has no end yet waits until the step is over or somebody looks at a stop."""

    def __init__(self, editor: Editor, placed: Placed) -> None:
        self._editor = editor
        self._placed = placed
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
        client = self._editor.client
        shown = text if client.shows_colours else without_escapes(text)
        step = self._placed.places.step(_INDICES.sub("", occurrence))
        source = None if step is None or step.file is None else self._editor.sources.tell(step.file, client)
        line = None if step is None or step.line is None else client.line_out(step.line)
        self._editor.tell(
            "output",
            OutputEvent(category=stream, output=shown.replace("\r\n", "\n") + "\n", source=source, line=line),
        )
