"""What a step wrote, as blocks of lines.

A block is a list of pieces. A piece is whole lines of one stream that ended at one time, or a single line without a
newline: the last one, or a part of one that is too long.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from pitstop.engine.executor import LogChunk, Stream
from pitstop.store.port import LONGEST_LINE, OutputLine

BLOCK_BYTES = 256 * 1024


class Piece(NamedTuple):
    stream: Stream
    time: float
    data: bytes

    @property
    def lines(self) -> int:
        return self.data.count(b"\n") or 1


@dataclass(frozen=True, slots=True)
class Block:
    """Lines as they stand in a row."""

    lines: int
    size: int
    body: bytes


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


def blocks_of(pieces: Sequence[Piece]) -> Iterator[Block]:
    taken: list[Piece] = []
    size = 0
    for piece in pieces:
        taken.append(piece)
        size += len(piece.data)
        if size >= BLOCK_BYTES:
            yield _block(taken, size)
            taken, size = [], 0
    if taken:
        yield _block(taken, size)


def lines_in(body: bytes, first_line: int) -> list[OutputLine]:
    lines: list[OutputLine] = []
    number = first_line
    for stream, time, data in _decode(body):
        for line in data.removesuffix(b"\n").split(b"\n"):
            lines.append(OutputLine(number, stream, time, line))
            number += 1
    return lines


def bytes_in(body: bytes) -> bytes:
    return b"".join(piece.data for piece in _decode(body))


def has_text(data: bytes, folded: str) -> bool:
    """Whether the text, folded already, is in these bytes in any case."""
    return folded in data.decode("utf-8", "replace").casefold()


def _block(pieces: list[Piece], size: int) -> Block:
    return Block(sum(piece.lines for piece in pieces), size, _encoder.encode(pieces))


_encoder = msgspec.msgpack.Encoder()
_decode = msgspec.msgpack.Decoder(list[Piece]).decode
