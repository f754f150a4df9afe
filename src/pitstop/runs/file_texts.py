"""The texts that flows are read from: regular files of a limited size, and what errors may show of them."""

import os
import stat
from collections.abc import Callable, Iterable, Mapping
from errno import EFBIG, EINVAL, ENOENT

from pitstop.errors import Mistake
from pitstop.limits import FLOW_BYTES, too_large

ReadFile = Callable[[str], bytes]

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def read_file(path: str) -> bytes:
    """The bytes of a regular file; OSError for any other, and for one that is larger than a flow may be."""
    opened = os.open(path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)  # without which a FIFO waits for a writer
    try:
        status = os.fstat(opened)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(EINVAL, f"it is {_KINDS[stat.S_IFMT(status.st_mode)]}, not a regular file", path)
        if status.st_size > FLOW_BYTES:
            raise OSError(EFBIG, too_large(status.st_size), path)
        with os.fdopen(opened, "rb", closefd=False) as file:
            data = file.read(FLOW_BYTES + 1)
    finally:
        os.close(opened)
    if len(data) > FLOW_BYTES:  # it grows, or its size is unknown, as in /proc
        raise OSError(EFBIG, too_large(len(data)), path)
    return data


def read_from(texts: Mapping[str, str], otherwise: ReadFile | None = None) -> ReadFile:
    """What reads a file from texts; one that is not among them from elsewhere, if that may be."""

    def read(path: str) -> bytes:
        if path in texts:
            return texts[path].encode("utf-8", "surrogatepass")
        if otherwise is None:
            raise FileNotFoundError(ENOENT, "it was not part of the flow", path)
        return otherwise(path)

    return read


def without_quotes(found: Iterable[Mistake], may_quote: Callable[[str], bool]) -> list[Mistake]:
    """The mistakes, but for a file that may not be quoted only the lines that have some."""
    shown: list[Mistake] = []
    hidden: dict[str, list[Mistake]] = {}
    for each in found:
        if may_quote(each.file):
            shown.append(each)
        else:
            hidden.setdefault(each.file, []).append(each)
    return [*shown, *(_hidden(mistakes) for mistakes in hidden.values())]


def _hidden(mistakes: list[Mistake]) -> Mistake:
    first = mistakes[0]
    message = (
        f"the file has errors ({len(mistakes):,}, the first on this line), which are not shown because it is "
        "outside the server's flow folders: run `pitstop check` on it, or send its text"
    )
    return Mistake(first.file, first.line, first.column, message)
