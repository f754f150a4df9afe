"""Folders in folders, more of them than a path can name and than Python functions can call each other."""

import os
from pathlib import Path

LEVELS = 1200
NAME = "a-folder"


def make_deep(folder: Path, levels: int = LEVELS) -> None:
    """Make folders in folders in it, and a file in the last one."""
    fd = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(NAME, dir_fd=fd)
        inner = os.open(NAME, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = inner
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.close(fd)
