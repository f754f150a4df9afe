"""What a step wrote, cut into pieces that can be stored: a line stands in one of them."""

from collections.abc import Iterator

from msgspec import Struct

from pitstop.engine.executor import LogChunk, Stream
from pitstop.store.port import LONGEST_LINE, OutputLine


class Piece(Struct, frozen=True, array_like=True):
    """Whole lines of one stream that ended at one time, or a single line without a newline.

    The latter is the last one, or a part of one that is longer than LONGEST_LINE.
    """

    stream: Stream
    time: float
    data: bytes

    @property
    def line_count(self) -> int:
        return self.data.count(b"\n") or 1

    def lines(self, first: int, after: int, search: str | None) -> list[OutputLine]:
        """Its lines above `after`, numbered from `first`; with `search`, those with this text, in any case."""
        if search is not None and not _has(self.data, search):
            return []
        numbered = enumerate(self.data.removesuffix(b"\n").split(b"\n"), first)
        return [
            OutputLine(number, self.stream, self.time, line)
            for number, line in numbered
            if number > after and (search is None or _has(line, search))
        ]


class LineSplitter:
    """The pieces of one occurrence, from chunks as they come."""

    def __init__(self) -> None:
        self._begun: dict[Stream, bytes] = {}
        self._begun_at: dict[Stream, float] = {}

    @property
    def begun(self) -> bytes:
        """The lines that have not ended."""
        return b"".join(self._begun.values())

    def feed(self, chunk: LogChunk) -> Iterator[Piece]:
        """What these bytes have ended."""
        stream, data = chunk.stream, self._begun.pop(chunk.stream, b"") + chunk.data
        begin = 0
        while len(data) - begin > LONGEST_LINE:
            cut = data.rfind(b"\n", begin, begin + LONGEST_LINE + 1) + 1 or begin + LONGEST_LINE
            yield Piece(stream, chunk.time, data[begin:cut])
            begin = cut
        cut = data.rfind(b"\n", begin) + 1 or begin
        if cut > begin:
            yield Piece(stream, chunk.time, data[begin:cut])
        if cut < len(data):
            self._begun[stream], self._begun_at[stream] = data[cut:], chunk.time

    def end(self) -> Iterator[Piece]:
        """The lines that have begun, without a newline."""
        for stream, data in self._begun.items():
            yield Piece(stream, self._begun_at[stream], data)
        self._begun = {}


def _has(data: bytes, text: str) -> bool:
    if text.isascii() and data.isascii():
        return text.lower().encode() in data.lower()
    return text.casefold() in data.decode(errors="replace").casefold()
