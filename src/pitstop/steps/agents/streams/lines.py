"""Bytes in chunks of any size, split into lines of bounded length."""

LARGEST_LINE_BYTES = 16 * 1024 * 1024
_MEGABYTE = 1024 * 1024
DROPPED_LINE = b"pitstop: dropped a line of "


class LineSplitter:
    """Splits a stream into lines without their ends, and holds at most one line of the largest size.

    A longer line is dropped while it arrives; a notice that begins with `DROPPED_LINE` takes its place.
    """

    def __init__(self) -> None:
        self._half = bytearray()
        self._half_bytes = 0  # with those that were dropped

    def feed(self, data: bytes) -> list[bytes]:
        *ended, half = data.split(b"\n")
        if ended and self._half_bytes:
            self._add(ended[0])
            ended[0] = self._take()
        if len(data) > LARGEST_LINE_BYTES:
            ended = [_notice(len(line)) if len(line) > LARGEST_LINE_BYTES else line for line in ended]
        self._add(half)
        return [line.removesuffix(b"\r") for line in ended]

    def finish(self) -> list[bytes]:
        """The half line at the end, if there is one."""
        return [self._take().removesuffix(b"\r")] if self._half_bytes else []

    def _add(self, piece: bytes) -> None:
        self._half_bytes += len(piece)
        if self._half_bytes <= LARGEST_LINE_BYTES:
            self._half += piece
        else:
            self._half = bytearray()

    def _take(self) -> bytes:
        line = bytes(self._half) if self._half_bytes <= LARGEST_LINE_BYTES else _notice(self._half_bytes)
        self._half, self._half_bytes = bytearray(), 0
        return line


def _notice(size: int) -> bytes:
    return DROPPED_LINE + b"%.1f MB, because the limit is %d MB" % (size / _MEGABYTE, LARGEST_LINE_BYTES // _MEGABYTE)
