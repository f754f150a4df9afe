"""What a command wrote, on disk: its bytes as they came in one file, and beside it an index of stream, time and length.

The supervisor of the command writes, any number of readers in Pitstop read. A chunk exists when its index record does,
which is written last; so a reader needs no lock. Neither file exists before the first byte.
"""

import os
import struct

RECORD = struct.Struct("<QdII")  # offset, time, length, stream
STDOUT, STDERR = 0, 1
JOINED_BYTES = 256 * 1024
JOINED_SECONDS = 0.05
RECORDS_AT_ONCE = 4096


class SpillWriter:
    """Appends to what is there. Raises OSError when the disk does, and has then written no record of the chunk."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._bytes_fd = -1
        self._index_fd = -1
        self.size = 0

    def append(self, stream: int, time: float, chunk: bytes | memoryview) -> None:
        if self._bytes_fd < 0:
            self._bytes_fd = _open_end(self._path)
            self._index_fd = _open_end(self._path + ".index")
            self.size = os.fstat(self._bytes_fd).st_size
        write_all(self._bytes_fd, chunk)
        write_all(self._index_fd, RECORD.pack(self.size, time, len(chunk), stream))
        self.size += len(chunk)

    def close(self) -> None:
        for fd in (self._bytes_fd, self._index_fd):
            if fd >= 0:
                os.close(fd)
        self._bytes_fd = self._index_fd = -1


class SpillReader:
    """Reads from an offset on, at its own pace. Small chunks that came close together are joined."""

    def __init__(self, path: str, offset: int = 0) -> None:
        self._path = path
        self._bytes_fd = -1
        self._index_fd = -1
        self._next_record = 0
        self._records: list[tuple[int, float, int, int]] = []
        self.offset = offset

    def read(self) -> tuple[int, int, float, bytes] | None:
        """The next (number of the stream, offset, time, bytes); None when nothing more is there yet."""
        record = self._next()
        if record is None:
            return None
        begin, time, length, stream = record
        end = begin + length
        while self._records and self._joins(begin, time, stream):
            end += self._records.pop()[2]
        offset = self.offset
        self.offset = end
        return stream, offset, time, os.pread(self._bytes_fd, end - offset, offset)

    def close(self) -> None:
        for fd in (self._bytes_fd, self._index_fd):
            if fd >= 0:
                os.close(fd)
        self._bytes_fd = self._index_fd = -1

    def _next(self) -> tuple[int, float, int, int] | None:
        while self._records or self._load_records():
            record = self._records.pop()
            if record[0] + record[2] > self.offset:
                return record
        return None

    def _joins(self, begin: int, time: float, stream: int) -> bool:
        next_begin, next_time, next_length, next_stream = self._records[-1]
        return (
            next_stream == stream
            and next_time - time <= JOINED_SECONDS
            and next_begin + next_length - begin <= JOINED_BYTES
        )

    def _load_records(self) -> bool:
        """Take the next records from the index, the last one first; False if there is none."""
        if self._index_fd < 0 and not self._open():
            return False
        packed = os.pread(self._index_fd, RECORD.size * RECORDS_AT_ONCE, self._next_record * RECORD.size)
        whole = len(packed) // RECORD.size * RECORD.size  # a record may be half written at this moment
        self._records = list(RECORD.iter_unpack(packed[:whole]))
        self._records.reverse()
        self._next_record += len(self._records)
        return bool(self._records)

    def _open(self) -> bool:
        try:
            self._index_fd = os.open(self._path + ".index", os.O_RDONLY)
            self._bytes_fd = os.open(self._path, os.O_RDONLY)
        except FileNotFoundError:
            return False
        self._next_record = self._find_record(self.offset)
        return True

    def _find_record(self, offset: int) -> int:
        """The number of the record that holds the offset."""
        low, high = 0, os.fstat(self._index_fd).st_size // RECORD.size
        while low < high:
            middle = (low + high) // 2
            begin, _, length, _ = RECORD.unpack(os.pread(self._index_fd, RECORD.size, middle * RECORD.size))
            if begin + length <= offset:
                low = middle + 1
            else:
                high = middle
        return low


def size_of(path: str) -> int:
    """How many bytes can be read."""
    try:
        fd = os.open(path + ".index", os.O_RDONLY)
    except FileNotFoundError:
        return 0
    try:
        count = os.fstat(fd).st_size // RECORD.size
        begin, _, length, _ = RECORD.unpack(os.pread(fd, RECORD.size, (count - 1) * RECORD.size)) if count else (0,) * 4
    finally:
        os.close(fd)
    return int(begin + length)


def _open_end(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)


def write_all(fd: int, chunk: bytes | memoryview) -> None:
    rest = memoryview(chunk)
    while rest:
        rest = rest[os.write(fd, rest) :]
