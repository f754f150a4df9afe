"""Log chunks as text to show: whole characters and lines, progress bars folded, long lines cut."""

import codecs

from pitstop.engine.executor import LogChunk, Stream
from pitstop.lazy_dataclass import dataclass

LINE_LIMIT = 8192
ESCAPE = "\x1b"
RESET_COLOURS = ESCAPE + "[0m"


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line to show, without its newline; `ended` is False for a last one that has none."""

    stream: Stream
    time: float
    text: str
    ended: bool = True


class LogLines:
    """The lines of a command, stdout and stderr apart."""

    def __init__(self, line_limit: int = LINE_LIMIT) -> None:
        self._folders: dict[Stream, LineFolder] = {"stdout": LineFolder(line_limit), "stderr": LineFolder(line_limit)}

    def feed(self, chunk: LogChunk) -> list[LogLine]:
        """The lines that ended with this chunk; they have its time."""
        text = self._folders[chunk.stream].feed(chunk.data)
        return [LogLine(chunk.stream, chunk.time, line) for line in text.split("\n")[:-1]]

    def finish(self, time: float) -> list[LogLine]:
        """What the command left without a newline, when it has ended."""
        last_lines = [(stream, folder.finish()) for stream, folder in self._folders.items()]
        return [LogLine(stream, time, text, ended=False) for stream, text in last_lines if text]


class LineFolder:
    """The lines of one stream. Bytes in, text out; memory is bounded even where a line never ends.

    Escape sequences are kept. Bytes that are not UTF-8 become U+FFFD here, and stay as they are in the log itself. Of a
    line that was written over with CR the last state is kept.
    """

    def __init__(self, line_limit: int = LINE_LIMIT) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._limit = line_limit
        self._begun = ""  # as much as can be shown of the line that has not ended
        self._left_out = 0
        self._starts_over = False  # its last character was a CR

    @property
    def begun(self) -> str:
        """The line that has not ended, as it is to be shown now: a prompt, or a progress bar."""
        return self._begun + _note(self._begun, self._left_out)

    def feed(self, data: bytes) -> str:
        """The lines that these bytes have ended, each with its newline: many at once, as one text."""
        return self._fold(self._decoder.decode(data))

    def finish(self) -> str:
        """What is left at the end: a line without its newline, or nothing."""
        self._go_on(self._decoder.decode(b"", final=True))
        return self._take_begun()

    def _fold(self, text: str) -> str:
        first, newline, rest = text.partition("\n")
        self._go_on(first)
        if not newline:
            return ""
        ended, newline, begun = rest.rpartition("\n")
        lines = self._take_begun() + "\n" + _fold_lines(ended + newline, self._limit)
        self._go_on(begun)
        return lines

    def _go_on(self, text: str) -> None:
        """Add to the line that has not ended. Only what comes after its last CR is of interest."""
        written = text.rstrip("\r")
        if written:
            _, overwritten, last = written.rpartition("\r")
            if overwritten or self._starts_over:
                self._begun, self._left_out = "", 0
            room = self._limit - len(self._begun)
            self._begun += last[:room]
            self._left_out += max(0, len(last) - room)
        if text:
            self._starts_over = len(written) < len(text)

    def _take_begun(self) -> str:
        line = self.begun
        self._begun, self._left_out, self._starts_over = "", 0, False
        return line


def whole_characters(data: bytes) -> int:
    """How many of the bytes are whole UTF-8 characters: all, or up to three fewer if the last one is cut."""
    for length in range(1, min(4, len(data) + 1)):
        last = data[-length]
        if last & 0b1100_0000 != 0b1000_0000:  # not a byte that continues a character
            wanted = 4 if last >= 0xF0 else 3 if last >= 0xE0 else 2 if last >= 0xC0 else 1
            return len(data) - length if wanted > length else len(data)
    return len(data)


def _fold_lines(lines: str, limit: int) -> str:
    """The same lines, each folded and cut. Most often nothing is to be done, so that is found out first."""
    if "\r" in lines:
        lines = lines.replace("\r\n", "\n")
    if "\r" not in lines and not _has_line_above(limit, lines):
        return lines
    return "".join(_fold_line(line, limit) + "\n" for line in lines.split("\n")[:-1])


def _fold_line(line: str, limit: int) -> str:
    line = line.rstrip("\r").rpartition("\r")[2]
    return line[:limit] + _note(line[:limit], len(line) - limit)


def _has_line_above(limit: int, lines: str) -> bool:
    begin = 0
    while len(lines) - begin > limit:
        newline = lines.rfind("\n", begin, begin + limit + 1)
        if newline < 0:
            return True
        begin = newline + 1
    return False


def _note(shown: str, left_out: int) -> str:
    if left_out <= 0:
        return ""
    reset = RESET_COLOURS if ESCAPE in shown else ""
    return f"{reset} … and {left_out} more characters"
