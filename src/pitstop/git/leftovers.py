"""What git leaves in a repository when it is killed: half of a push, and locks."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from pitstop.engine.threads import in_thread
from pitstop.git.bare import BareRepository
from pitstop.trees import entries_in, remove_tree

QUARANTINES = ("incoming-*", "tmp_objdir-*")  # the name before git 2.35, and since
LOCKS = ("HEAD.lock", "packed-refs.lock", "packed-refs.new", "config.lock")


def lock_for_push(folder: Path) -> int:
    """A file descriptor for the processes of a push: the folder is locked for as long as one of them has it. OSError.

    They may have it even after their server was killed.
    """
    lock = os.open(folder, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_SH)  # which waits only while `_is_pushed_to` looks
    return lock


async def remove_leftovers(repository: BareRepository, older_than_seconds: float) -> list[str]:
    """Remove what killed pushes have left, if nothing has changed in it for so long; the paths that were removed.

    Nothing is removed during a push.
    """
    return await in_thread(partial(_remove, repository.folder, time.time() - older_than_seconds))


def _is_pushed_to(folder: Path) -> bool:
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def _remove(folder: Path, before: float) -> list[str]:
    if _is_pushed_to(folder):
        return []
    removed = []
    for path in _leftovers_in(folder):
        with suppress(FileNotFoundError):  # its owner was faster
            if _changed_at(path) > before:
                continue
            if path.is_dir():
                remove_tree(path)
            else:
                path.unlink()
            removed.append(str(path.relative_to(folder)))
    return sorted(removed)


def _leftovers_in(folder: Path) -> Iterator[Path]:
    for pattern in QUARANTINES:
        yield from (folder / "objects").glob(pattern)
    yield from (folder / name for name in LOCKS)
    for inner in ("refs", "logs/refs"):
        yield from (Path(entry.path) for entry in entries_in(folder / inner) if entry.name.endswith(".lock"))


def _changed_at(path: Path) -> float:
    """When something in it changed last: the time of a folder says nothing about the files in its subfolders."""
    times = [path.stat().st_mtime]
    for entry in entries_in(path) if path.is_dir() else ():
        with suppress(FileNotFoundError):
            times.append(entry.stat(follow_symlinks=False).st_mtime)
    return max(times)
