"""What one occurrence wrote, in a file as it came, with an index beside it that knows streams and times.

Blocks of whole lines follow each other in the file; the index has one entry for each. Lines are counted by whoever
reads: a flood costs little more than to write it. Of a line that is longer than LONGEST_LINE each part counts as one.
"""

import os
import struct
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pitstop.engine.executor import LogChunk, Stream
from pitstop.store.port import LONGEST_LINE, OutputLine

STREAMS: tuple[Stream, Stream] = ("stdout", "stderr")
_ENTRY = struct.Struct("<QdIB")
_READ_ENTRIES = 64


class _Entry(NamedTuple):
    """A block: where it begins, when it came, its size, and its stream."""

    offset: int
    time: float
    size: int
    stream: int


class FolderOutput:
    """Writes. What has not ended a line yet is held back, for the other stream may come between."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._begun: dict[Stream, bytes] = {}
        self._last_time = 0.0
        self._data_fd = self._index_fd = -1
        self._offset = 0

    @property
    def begun(self) -> bytes:
        """The lines that have not ended."""
        return b"".join(self._begun.values())

    def append(self, chunk: LogChunk) -> None:
        begun = self._begun.pop(chunk.stream, b"")
        data = chunk.data
        self._last_time = chunk.time
        end = data.rfind(b"\n") + 1
        if end:
            self._write(begun, data, end, chunk.stream, chunk.time)
            begun, data = b"", data[end:]
        left = begun + data
        while len(left) > LONGEST_LINE:
            self._write(left[:LONGEST_LINE], b"", 0, chunk.stream, chunk.time)
            left = left[LONGEST_LINE:]
        if left:
            self._begun[chunk.stream] = left

    def end(self) -> None:
        """Write what is left, and close the files."""
        try:
            for stream, left in self._begun.items():
                self._write(left, b"", 0, stream, self._last_time)
            self._begun.clear()
        finally:
            self.rest()

    def rest(self) -> None:
        """Close the files until there is more to write."""
        for fd in (self._data_fd, self._index_fd):
            if fd >= 0:
                os.close(fd)
        self._data_fd = self._index_fd = -1

    def _write(self, begun: bytes, data: bytes, end: int, stream: Stream, time: float) -> None:
        """Write `begun`, and `data` up to `end`."""
        if self._data_fd < 0:
            self._open()
        size = len(begun) + end
        _write_all(self._data_fd, memoryview(begun))
        _write_all(self._data_fd, memoryview(data)[:end])
        entry = _ENTRY.pack(self._offset, time, size, STREAMS.index(stream))
        _write_all(self._index_fd, memoryview(entry))
        self._offset += size

    def _open(self) -> None:
        """Open the files; those of an occurrence that is run again, because somebody went back, are added to."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._data_fd = os.open(self._file, flags, 0o600)
        self._index_fd = os.open(_index_of(self._file), flags, 0o600)
        self._offset = os.fstat(self._data_fd).st_size


def read_lines(file: Path, after: int, search: str | None, counts: list[int]) -> Iterator[list[OutputLine]]:
    """The lines above `after`, a block at a time; blocks without any that fit are left out.

    `counts` has how many lines are before each block, as far as anybody has read: it begins as `[0]`, and grows.
    """
    with suppress(FileNotFoundError), file.open("rb") as data, _index_of(file).open("rb") as index:
        count = os.fstat(index.fileno()).st_size // _ENTRY.size
        first = bisect_right(counts, after) - 1
        for number, entry in enumerate(_entries(index.fileno(), first, count), first):
            block = os.pread(data.fileno(), entry.size, entry.offset)
            before = counts[number]
            counts[number + 1 : number + 2] = [before + _count_lines(block)]
            if counts[number + 1] <= after or (search is not None and not _has(block, search)):
                continue
            lines = [
                OutputLine(place, STREAMS[entry.stream], entry.time, line)
                for place, line in enumerate(_lines_in(block), before + 1)
                if place > after and (search is None or _has(line, search))
            ]
            if lines:
                yield lines


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


def _lines_in(block: bytes) -> Iterator[bytes]:
    for line in block.removesuffix(b"\n").split(b"\n"):
        if len(line) <= LONGEST_LINE:
            yield line
        else:
            yield from (line[begin : begin + LONGEST_LINE] for begin in range(0, len(line), LONGEST_LINE))


def _count_lines(block: bytes) -> int:
    """How many lines `_lines_in` gives. Nothing is cut up for that: most blocks have no line longer than allowed."""
    block = block if block.endswith(b"\n") else block + b"\n"
    count, line_end, end = block.count(b"\n"), -1, len(block)
    while end - line_end > LONGEST_LINE:
        begin = line_end + 1
        line_end = block.rfind(b"\n", begin, min(end, begin + LONGEST_LINE + 1))
        if line_end < 0:
            line_end = block.find(b"\n", begin, end)
            count += _parts(line_end - begin) - 1
    return count


def _parts(length: int) -> int:
    return max(1, -(-length // LONGEST_LINE))


def _has(data: bytes, text: str) -> bool:
    if text.isascii():
        return text.lower().encode() in data.lower()
    return text.casefold() in data.decode(errors="replace").casefold()


def _write_all(fd: int, data: memoryview) -> None:
    while data:
        data = data[os.write(fd, data) :]
