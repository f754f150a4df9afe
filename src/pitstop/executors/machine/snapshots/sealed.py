"""The content of a file with a secret in it, as a snapshot has it: encrypted, one chunk per line."""

import os
from collections.abc import Iterator
from typing import Protocol

from pitstop.engine.workspace_files import NewScan

CHUNK_BYTES = 1024 * 1024


class Sealing(Protocol):
    """Encrypts bytes with a key that is in no snapshot. What is sealed has no line break."""

    def seal(self, data: bytes) -> bytes: ...

    def unseal(self, sealed: bytes) -> bytes:
        """Raises SealBroken for what was sealed with another key."""
        ...


def has_secret(fd: int, new_scan: NewScan) -> bool:
    scan = new_scan()
    for chunk in _chunks(fd):
        scan.feed(chunk)
        if scan.found is not None:
            return True
    return False


def sealed_lines(fd: int, sealing: Sealing) -> Iterator[bytes]:
    for chunk in _chunks(fd):
        yield sealing.seal(chunk) + b"\n"


def unsealed(fd: int, sealing: Sealing) -> Iterator[bytes]:
    """The chunks that `sealed_lines` was given."""
    with os.fdopen(os.dup(fd), "rb") as file:
        for line in file:
            yield sealing.unseal(line.rstrip(b"\n"))


def _chunks(fd: int) -> Iterator[bytes]:
    offset = 0
    while chunk := os.pread(fd, CHUNK_BYTES, offset):
        yield chunk
        offset += len(chunk)
