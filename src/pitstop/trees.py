"""Folders with all that is in them."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

OWNER_ALL = 0o700
OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def remove_tree(folder: Path | bytes, at: int | None = None) -> None:
    """Remove a folder, by its path or by its name in the open folder `at`, and all its contents. No link is followed.

    This works at any depth: subfolders are moved to the top before they are emptied. Folders without write permission
    are made writable. It does not use `shutil`, which takes longer to load than a short run's files take to remove.
    """
    with suppress(FileNotFoundError):  # it is gone already
        if os.lstat(folder, dir_fd=at).st_mode & OWNER_ALL != OWNER_ALL:
            os.chmod(folder, OWNER_ALL, dir_fd=at)
        top = os.open(folder, OPEN_FOLDER, dir_fd=at)
        try:
            _empty(top)
        finally:
            os.close(top)
        os.rmdir(folder, dir_fd=at)


def entries_in(folder: Path | str, refused: list[OSError] | None = None) -> Iterator["os.DirEntry[str]"]:
    """Everything in a folder and its subfolders, at any depth. Links are not followed.

    Folders that cannot be read are skipped, and their errors are added to `refused`.
    """
    folders = [str(folder)]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    yield entry
        except OSError as error:
            if refused is not None:
                refused.append(error)


def is_small(folder: Path, most_files: int, most_bytes: int) -> bool:
    """Whether it has at most so many files and folders, and bytes in files. It looks no further than that."""
    refused: list[OSError] = []
    size = 0
    for count, entry in enumerate(entries_in(folder, refused), 1):
        if not entry.is_dir(follow_symlinks=False):
            size += entry.stat(follow_symlinks=False).st_size
        if count > most_files or size > most_bytes:
            return False
    return not refused


def _empty(top: int) -> None:
    mark, moved = os.urandom(8).hex(), 0
    folders = _remove_files(top)
    while folders:
        name = folders.pop()
        inner = os.open(name, OPEN_FOLDER, dir_fd=top)
        try:
            for each in _remove_files(inner):
                moved += 1
                folders.append(f"{mark}-{moved}")
                os.rename(each, folders[-1], src_dir_fd=inner, dst_dir_fd=top)
        finally:
            os.close(inner)
        os.rmdir(name, dir_fd=top)


def _remove_files(folder: int) -> list[str]:
    """Remove everything in a folder but its subfolders. Make these writable, and return their names."""
    with os.scandir(folder) as found:
        entries = list(found)
    folders = []
    for entry in entries:
        if not entry.is_dir(follow_symlinks=False):
            os.unlink(entry.name, dir_fd=folder)
            continue
        if entry.stat(follow_symlinks=False).st_mode & OWNER_ALL != OWNER_ALL:
            os.chmod(entry.name, OWNER_ALL, dir_fd=folder)
        folders.append(entry.name)
    return folders
