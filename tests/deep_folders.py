"""Folders in folders, more of them than a path can name and than Python functions can call each other."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pitstop.trees import remove_tree

LEVELS = 1200
NAME = "a-folder"


@contextmanager
def deep_in(folder: Path) -> Iterator[Path]:
    """The first of them, with a file in the last. They are removed, which pytest could not do."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        for _ in range(LEVELS):
            os.mkdir(NAME, dir_fd=fd)
            inner = os.open(NAME, os.O_RDONLY, dir_fd=fd)
            os.close(fd)
            fd = inner
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
        yield folder / NAME
    finally:
        os.close(fd)
        remove_tree(folder / NAME)
