"""What one occurrence wrote, in a file as it came, with an index beside it that knows streams and times.

Pieces follow each other in the file; the index has one entry for each. Lines are counted by the reader: a flood costs
little more than to write it.
"""

import os
import struct
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from pitstop.engine.executor import LogChunk, Stream
from pitstop.store.output_pieces import LineSplitter, Piece
from pitstop.store.port import OutputLine

STREAMS: tuple[Stream, Stream] = ("stdout", "stderr")
_ENTRY = struct.Struct("<QdIB")
_READ_ENTRIES = 64


class _Entry(Struct, frozen=True):
    """A piece: where it begins, when it came, its size, and its stream."""

    offset: int
    time: float
    size: int
    stream: int


class FolderOutput:
    """Writes. What has not ended a line yet is held back, for the other stream may come between."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._splitter = LineSplitter()
        self._data_fd = self._index_fd = -1
        self._offset = 0

    @property
    def begun(self) -> bytes:
        """The lines that have not ended."""
        return self._splitter.begun

    def append(self, chunk: LogChunk) -> None:
        for piece in self._splitter.feed(chunk):
            self._write(piece)

    def end(self) -> None:
        """Write what is left, and close the files."""
        try:
            for piece in self._splitter.end():
                self._write(piece)
        finally:
            self.rest()

    def rest(self) -> None:
        """Close the files until there is more to write."""
        for fd in (self._data_fd, self._index_fd):
            if fd >= 0:
                os.close(fd)
        self._data_fd = self._index_fd = -1

    def _write(self, piece: Piece) -> None:
        if self._data_fd < 0:
            self._open()
        size = len(piece.data)
        write_all(self._data_fd, piece.data)
        write_all(self._index_fd, _ENTRY.pack(self._offset, piece.time, size, STREAMS.index(piece.stream)))
        self._offset += size

    def _open(self) -> None:
        """Open the files; those of an occurrence that is run again, because somebody went back, are added to."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._data_fd = os.open(self._file, flags, 0o600)
        self._index_fd = os.open(_index_of(self._file), flags, 0o600)
        self._offset = os.fstat(self._data_fd).st_size


def read_lines(file: Path, after: int, search: str | None, counts: list[int]) -> Iterator[list[OutputLine]]:
    """The lines above `after`, a piece at a time; pieces without any that fit are left out.

    `counts` has how many lines are before each piece, as far as anybody has read: it begins as `[0]`, and grows.
    """
    with suppress(FileNotFoundError), file.open("rb") as data, _index_of(file).open("rb") as index:
        count = os.fstat(index.fileno()).st_size // _ENTRY.size
        first = bisect_right(counts, after) - 1
        for number, entry in enumerate(_entries(index.fileno(), first, count), first):
            piece = Piece(STREAMS[entry.stream], entry.time, os.pread(data.fileno(), entry.size, entry.offset))
            before = counts[number]
            counts[number + 1 : number + 2] = [before + piece.line_count]
            if counts[number + 1] > after and (lines := piece.lines(before + 1, after, search)):
                yield lines


def read_sizes(file: Path, since: float) -> Mapping[Stream, int]:
    """How many bytes of each stream came since then."""
    sizes: Counter[Stream] = Counter()
    with suppress(FileNotFoundError), _index_of(file).open("rb") as index:
        count = os.fstat(index.fileno()).st_size // _ENTRY.size
        for entry in _entries(index.fileno(), 0, count):
            if entry.time >= since:
                sizes[STREAMS[entry.stream]] += entry.size
    return sizes


def read_end(file: Path, most_bytes: int) -> bytes:
    try:
        with file.open("rb") as data:
            data.seek(max(0, data.seek(0, os.SEEK_END) - most_bytes))
            return data.read()
    except FileNotFoundError:
        return b""


def read_bytes(file: Path, block_bytes: int) -> Iterator[bytes]:
    with suppress(FileNotFoundError), file.open("rb") as data:
        while block := data.read(block_bytes):
            yield block


def _index_of(file: Path) -> Path:
    return file.with_suffix(".index")


def _entries(fd: int, first: int, count: int) -> Iterator[_Entry]:
    while first < count:
        some = min(_READ_ENTRIES, count - first)
        for fields in _ENTRY.iter_unpack(os.pread(fd, some * _ENTRY.size, first * _ENTRY.size)):
            yield _Entry(*fields)
        first += some


def write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]
