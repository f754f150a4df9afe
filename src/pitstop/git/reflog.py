"""The reflog of a ref: who moved it, from where to where."""

import os
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from pitstop.git.names import ZEROS

MOST_BYTES = 1024 * 1024

_LINE = re.compile(rb"([0-9a-f]{40,64}) ([0-9a-f]{40,64}) (.*) <[^<>\n]*> (\d+) [+-]\d{4}(?:\t(.*))?")


class RefMove(Struct, frozen=True, kw_only=True):
    """A move of a ref, in seconds since the epoch; zeros for `old` say that it did not exist.

    Of a move that git has no entry for, `who` and `message` are empty and `at` is 0.
    """

    old: str
    new: str
    who: str
    message: str
    at: int


def read_end(file: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """The last bytes of a file, from the beginning of a line on; nothing if there is no such file. It blocks."""
    try:
        with file.open("rb") as opened:
            start = max(0, opened.seek(0, os.SEEK_END) - most_bytes)
            opened.seek(start)
            content = opened.read(most_bytes)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return b""
    return content.partition(b"\n")[2] if start else content


def parse_reflog(content: bytes) -> list[RefMove]:
    """The entries of a reflog, oldest first; lines that a crash has left incomplete are skipped."""
    found = (_LINE.fullmatch(line) for line in content.split(b"\n"))
    return [
        RefMove(
            old=match[1].decode(),
            new=match[2].decode(),
            who=match[3].decode(errors="replace"),
            message=(match[5] or b"").decode(errors="replace"),
            at=int(match[4]),
        )
        for match in found
        if match
    ]


def chain_of(moves: Iterable[RefMove], known: str | None, current: str) -> list[RefMove]:
    """The moves that lead from one commit to the other, oldest first; one without a name if they are not all there.

    Entries of moves that never happened, because of a crash, are passed over.
    """
    start = known or ZEROS
    if start == current:
        return []
    chain: list[RefMove] = []
    for move in _backwards(moves, current):
        chain.append(move)
        if move.old == start:
            return chain[::-1]
    return [RefMove(old=start, new=current, who="", message="", at=0)]


def find_in_chain(moves: Iterable[RefMove], current: str, words: Collection[str]) -> RefMove | None:
    """The newest of the moves that led to a commit with all these words in its message."""
    wanted = set(words)
    return next((move for move in _backwards(moves, current) if wanted <= set(move.message.split())), None)


def _backwards(moves: Iterable[RefMove], current: str) -> Iterator[RefMove]:
    """The moves that led to a commit, newest first, without those that never happened."""
    wanted = current
    for move in reversed(list(moves)):
        if move.new == wanted and move.old != move.new:
            yield move
            wanted = move.old
