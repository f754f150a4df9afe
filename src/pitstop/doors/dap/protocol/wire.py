"""Frames on the wire: a header that counts bytes, and JSON after it."""

import asyncio
import re

MOST_BYTES = 64 * 1024 * 1024
LONGEST_LINE = 64 * 1024

# Anywhere in a line, so that whatever was written between two frames does not hide the second one.
_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*(\d{1,18})[ \t]*\r?\n?$", re.IGNORECASE)


class BadFrame(Exception):
    """What came is no frame. The next one may be."""


async def read_frame(reader: asyncio.StreamReader) -> bytes | None:
    """The next message; None when there will be no more. BadFrame, after which it can be called again."""
    length: int | None = None
    has_header = False
    while line := await _read_line(reader):
        if line.strip():
            has_header = True
            found = _LENGTH.search(line)
            length = int(found[1]) if found is not None else length
        elif length is not None:
            return await _read_body(reader, length)
        elif has_header:
            raise BadFrame("a header without Content-Length")
    return None


def to_frame(message: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(message), message)


async def _read_line(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readline()
    except ValueError as error:  # which has thrown away what it had read of the line
        raise BadFrame(f"expected a header, but got a line of more than {LONGEST_LINE} bytes") from error


async def _read_body(reader: asyncio.StreamReader, length: int) -> bytes | None:
    try:
        if length <= MOST_BYTES:
            return await reader.readexactly(length)
        while length:
            length -= len(await reader.readexactly(min(length, LONGEST_LINE)))
    except asyncio.IncompleteReadError:  # it ended in the middle
        return None
    raise BadFrame(f"a message of more than {MOST_BYTES} bytes")
