"""A workspace on this machine: its folders, the life it leads, and the lock that keeps others off it.

    <workspaces>/<id>.lock
                 <id>/repo        the checkout; in place, the user's own folder is used instead, and never removed
                      home        HOME, so that caches survive from step to step
                      artifacts   what steps hand on
                      .pitstop    outputs, logs, and the record of its state

Who uses a workspace holds a shared lock, who creates or cleans it an exclusive one. The kernel takes the locks of a
process that dies, so a workspace whose record says that it is in use, whose lock is free and whose owner is dead is an
orphan.
"""

import contextlib
import fcntl
import json
import os
import secrets
import shutil
from enum import StrEnum
from pathlib import Path

from pitstop.engine.executor import WorkspaceRef
from pitstop.errors import Unavailable
from pitstop.executors.process_table import start_of_process


class WorkspaceState(StrEnum):
    """Where in its life a workspace is."""

    CREATING = "creating"
    READY = "ready"
    IN_USE = "in_use"
    CLEANING = "cleaning"
    DESTROYED = "destroyed"
    FAILED = "failed"
    ORPHANED = "orphaned"


_S = WorkspaceState
MOVES = {
    _S.CREATING: {_S.READY, _S.FAILED, _S.ORPHANED},
    _S.READY: {_S.IN_USE, _S.CLEANING},
    _S.IN_USE: {_S.READY, _S.CLEANING, _S.ORPHANED},
    _S.CLEANING: {_S.DESTROYED, _S.FAILED, _S.ORPHANED},
    _S.FAILED: {_S.CLEANING},
    _S.ORPHANED: {_S.CLEANING},
    _S.DESTROYED: set(),
}


class Workspace:
    """One workspace, whose lock this process holds. Made by `create_workspace`."""

    def __init__(
        self, root: Path, lock: int, *, folder: Path | None = None, state: WorkspaceState = _S.CREATING
    ) -> None:
        self.root = root
        self.repo = folder or root / "repo"
        self.home = root / "home"
        self.artifacts = root / "artifacts"
        self.control = root / ".pitstop"
        self.state = state
        self._lock = lock

    @property
    def id(self) -> str:
        return self.root.name

    def ref(self, runner: str) -> WorkspaceRef:
        folders = (self.repo, self.home, self.artifacts, self.control)
        return WorkspaceRef(self.id, runner, *map(str, folders))

    def path_in_repo(self, relative: str) -> Path:
        """The path with every link on the way followed. Raises ValueError if that is outside the repo."""
        if relative == ".":
            return self.repo
        path = (self.repo / relative).resolve()
        if not path.is_relative_to(self.repo):
            raise ValueError(f"{relative!r} is outside the workspace")
        return path

    def move_to(self, state: WorkspaceState) -> None:
        """Go on to another state. Raises ValueError for a move that is not in the table."""
        if state not in MOVES[self.state]:
            raise ValueError(f"workspace {self.id} cannot go from {self.state} to {state}")
        self.state = state

    def use(self) -> None:
        """Take it into use, until it is kept or destroyed."""
        self.move_to(_S.IN_USE)
        self.record()
        fcntl.flock(self._lock, fcntl.LOCK_SH)

    def keep(self) -> None:
        """Leave it as it is, for whoever wants to look into it. It will be nobody's orphan."""
        self.move_to(_S.READY)
        self.record()
        os.close(self._lock)

    def destroy(self) -> None:
        """Remove what was made for it, which the user's own folder was not."""
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Unavailable(f"workspace {self.id} is used by another process, so it cannot be removed") from error
        self.move_to(_S.CLEANING)  # not recorded: the disk may be full, and what is half removed is an orphan anyway
        try:
            remove_tree(self.root)
            _lock_file(self.root).unlink()
        except OSError as error:
            self.move_to(_S.FAILED)
            raise Unavailable(f"workspace {self.id} could not be removed: {error}") from error
        finally:
            os.close(self._lock)
        self.move_to(_S.DESTROYED)

    def record(self) -> None:
        """Write down the state and the owner, for those who look for orphans."""
        owner = os.getpid()
        record = {"state": self.state, "owner": owner, "owner_started": start_of_process(owner)}
        unfinished = self.control / "workspace.json.new"
        unfinished.write_text(json.dumps(record))
        unfinished.replace(self.control / "workspace.json")


def create_workspace(workspaces: Path, folder: Path | None = None) -> Workspace:
    """A new workspace, ready. With `folder` it is in place: that folder is its repo."""
    if folder is not None and not folder.is_dir():
        raise Unavailable(f"{folder} is not a folder, so nothing can run in it")
    try:
        workspaces.mkdir(parents=True, exist_ok=True)
        root, lock = _lock_new_root(workspaces.resolve())
        workspace = Workspace(root, lock, folder=folder and folder.resolve())
        (workspace.control / "logs").mkdir(parents=True)
        workspace.record()
        for made in (workspace.repo, workspace.home, workspace.artifacts):
            made.mkdir(exist_ok=True)
    except OSError as error:
        raise Unavailable(f"no workspace could be made in {workspaces}: {error}") from error
    workspace.move_to(_S.READY)
    return workspace


def clean_orphans(workspaces: Path) -> list[str]:
    """Remove the workspaces whose owners died, and return their ids. What is in use, or was kept, is left alone.

    One that cannot be removed is left for another time: it holds up nobody.
    """
    cleaned = []
    for lock_file in sorted(workspaces.glob("*.lock")):
        orphan = _take_orphan(lock_file)
        if orphan is not None:
            with contextlib.suppress(Unavailable):
                orphan.destroy()
                cleaned.append(orphan.id)
    return cleaned


def remove_tree(folder: Path) -> None:
    """Remove a folder, also one with folders in it that may not be written. No link is followed."""
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except PermissionError:
        for parent, names, _ in os.walk(folder):
            for name in names:
                inner = Path(parent, name)
                if not inner.is_symlink():
                    inner.chmod(0o700)
        shutil.rmtree(folder)


def _take_orphan(lock_file: Path) -> Workspace | None:
    """The workspace with its lock held, if it is an orphan."""
    try:
        lock = os.open(lock_file, os.O_RDWR)
    except FileNotFoundError:  # another process has just cleaned it
        return None
    root = lock_file.with_suffix("")
    with contextlib.suppress(BlockingIOError):  # somebody uses it
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _was_left_by_the_dead(root):
            return Workspace(root, lock, state=_S.ORPHANED)
    os.close(lock)
    return None


def _was_left_by_the_dead(root: Path) -> bool:
    try:
        record = json.loads((root / ".pitstop" / "workspace.json").read_text())
    except (OSError, ValueError):  # it was not made to the end, or not removed to the end
        return True
    kept = record["state"] == _S.READY
    return not kept and start_of_process(record["owner"]) != record["owner_started"]


def _lock_new_root(workspaces: Path) -> tuple[Path, int]:
    """A root that nobody else has, and its lock, held alone."""
    while True:
        root = workspaces / secrets.token_hex(6)
        lock = os.open(_lock_file(root), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.fstat(lock).st_nlink:  # else a cleaner took it for an orphan before it was locked
            return root, lock
        os.close(lock)


def _lock_file(root: Path) -> Path:
    return root.with_suffix(".lock")
