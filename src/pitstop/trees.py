"""Folders with all that is in them."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

OWNER_MAY_ALL = 0o700
A_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def remove_tree(folder: Path | bytes, at: int | None = None) -> None:
    """Remove a folder, which may be in an open one, with all that is in it. No link is followed.

    However deep it is: what is in one of its folders comes up to the top before that one is removed. A folder that may
    not be written is changed so that it may. And without `shutil`, which takes longer to load than what a short run
    leaves takes to remove.
    """
    with suppress(FileNotFoundError):  # somebody else was quicker
        if os.lstat(folder, dir_fd=at).st_mode & OWNER_MAY_ALL != OWNER_MAY_ALL:
            os.chmod(folder, OWNER_MAY_ALL, dir_fd=at)
        top = os.open(folder, A_FOLDER, dir_fd=at)
        try:
            _empty(top)
        finally:
            os.close(top)
        os.rmdir(folder, dir_fd=at)


def entries_in(folder: Path | str, refused: list[OSError] | None = None) -> Iterator["os.DirEntry[str]"]:
    """Everything in a folder and in the folders in it, however deep they are. No link is followed.

    What is in a folder that cannot be read is left out, and `refused` gets the reason.
    """
    folders = [str(folder)]
    while folders:
        try:
            with os.scandir(folders.pop()) as found:
                entries = list(found)
        except OSError as error:
            if refused is not None:
                refused.append(error)
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            yield entry


def is_small(folder: Path, most_files: int, most_bytes: int) -> bool:
    """Whether there are no more files and folders in it than that, and no more bytes in the files."""
    refused: list[OSError] = []
    size = 0
    for count, entry in enumerate(entries_in(folder, refused), 1):
        if not entry.is_dir(follow_symlinks=False):
            size += entry.stat(follow_symlinks=False).st_size
        if count > most_files or size > most_bytes:
            return False
    return not refused


def _empty(top: int) -> None:
    mark, raised = os.urandom(8).hex(), 0
    folders = _remove_files(top)
    while folders:
        name = folders.pop()
        inner = os.open(name, A_FOLDER, dir_fd=top)
        try:
            for each in _remove_files(inner):
                raised += 1
                folders.append(f"{mark}-{raised}")
                os.rename(each, folders[-1], src_dir_fd=inner, dst_dir_fd=top)
        finally:
            os.close(inner)
        os.rmdir(name, dir_fd=top)


def _remove_files(folder: int) -> list[str]:
    """Remove what is in a folder but for its own folders, and return their names. They can be changed from now on."""
    with os.scandir(folder) as found:
        entries = list(found)
    folders = []
    for entry in entries:
        if not entry.is_dir(follow_symlinks=False):
            os.unlink(entry.name, dir_fd=folder)
            continue
        if entry.stat(follow_symlinks=False).st_mode & OWNER_MAY_ALL != OWNER_MAY_ALL:
            os.chmod(entry.name, OWNER_MAY_ALL, dir_fd=folder)
        folders.append(entry.name)
    return folders
