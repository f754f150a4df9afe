"""A workspace on this machine: its folders, the life it leads, and the lock that keeps others off it.

    <workspaces>/<id>.lock       held only while it is made, taken up, kept or removed
                 <id>.removing   what is left to remove
                 <id>/repo        the checkout; in place, the user's own folder is used instead, and never removed
                      home        HOME, so that caches survive from step to step
                      artifacts   what steps hand on
                      .pitstop    outputs, logs, ends of commands (`stored_ends.py`), and the record of its state

Its record names the epoch in which it is used (`epoch.py`). One whose record says that it is in use, in an epoch that
is over, is an orphan. An orphan that somebody gave its id can be taken up again by that id; any other is only cleaned
away. A removal begins with a new name for the folder, so what is there under the id is always whole.
"""

import contextlib
import fcntl
import os
import re
from collections.abc import Iterator, Set
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from pitstop.engine.executor import WorkspaceRef
from pitstop.engine.workspace_files import COMMAND_FILES, command_file_name
from pitstop.errors import Unavailable, WorkspaceLost
from pitstop.executors.machine.process_table import start_of_process
from pitstop.executors.machine.workspaces.epoch import SUFFIX, lasts
from pitstop.executors.machine.workspaces.leftovers import files_in, sweep_epoch
from pitstop.executors.machine.workspaces.stored_ends import discard_end, is_of, names_of_ended, read_end
from pitstop.trees import is_small, remove_tree

LOCK_SUFFIX = ".lock"
UNNAMED = "unnamed-"  # the ids that were not given by anybody begin with it
RECORD_BYTES = 512  # a shorter one is filled up, so that the next one covers it
FEW_LOGS = 100  # no more are removed without a thread
FEW_FILES, FEW_BYTES = 100, 1024 * 1024  # nor is a workspace with more in it
KEPT, IN_USE = "ready", "in_use"  # the states that a record can have
ID = r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}"


class WorkspaceBusy(Unavailable):
    """Somebody else has it. `soon_over` is that he has it only for now.

    He looks whether it is an orphan, or makes or removes it, or is what a dead one left and still ends its commands.
    """

    def __init__(self, workspace: str, by: str, *, soon_over: bool = False) -> None:
        super().__init__(f"workspace {workspace!r} is in use by {by}")
        self.soon_over = soon_over


class Record(Struct, frozen=True):
    """What is written down about a workspace. The owner is a process; `named` is whether somebody gave it its id."""

    state: str
    epoch: str
    owner: int
    owner_started: int | None
    named: bool
    folder: str | None

    @property
    def owner_lives(self) -> bool:
        return self.owner_started is not None and start_of_process(self.owner) == self.owner_started


class Workspace:
    """One workspace. Made by `open_workspace`, and then used by nobody else until it is kept or destroyed."""

    def __init__(self, root: Path, *, folder: Path | None = None, named: bool = False) -> None:
        self.id = root.name
        self.root = root
        self.folder = folder
        self.repo = folder or root / "repo"
        self.home = root / "home"
        self.artifacts = root / "artifacts"
        self.control = root / ".pitstop"
        self.logs = self.control / "logs"
        self.command_files = self.control / COMMAND_FILES
        self.named = named
        self.epoch = ""  # in which it is used
        self._ended: Set[str] = frozenset()  # the names of commands that ended before it was taken up

    def ref(self, runner: str) -> WorkspaceRef:
        folders = (self.repo, self.home, self.artifacts, self.control)
        return WorkspaceRef(self.id, runner, *map(str, folders))

    def use(self, epoch: str) -> None:
        """Take it into use, until it is kept or destroyed, or the epoch is over."""
        self.epoch = epoch
        self._record(IN_USE)

    def keep(self) -> None:
        """Leave its files for the next user. The raw logs of commands that have not ended are removed.

        Those of the others are needed as long as a server may resume the run: `clear_commands` is called at its end.
        """
        with self._locked_and_ours():
            self.clear_unended()
            self.epoch = ""
            self._record(KEPT)

    def destroy(self) -> None:
        """Remove what was made for it, which the user's own folder was not."""
        with self._locked_and_ours():
            self.destroy_locked()

    def destroy_at_once(self) -> bool:
        """Destroy it without blocking, if it has few files and its lock is free. Returns whether it did."""
        try:
            if not is_small(self.root, FEW_FILES, FEW_BYTES):
                return False
            with self._locked_and_ours(waits=False):
                self.destroy_locked()
        except (OSError, WorkspaceBusy):
            return False
        return True

    @contextlib.contextmanager
    def _locked_and_ours(self, *, waits: bool = True) -> Iterator[None]:
        """Raises WorkspaceLost if the epoch was over and somebody else has taken it.

        A search for orphans takes the lock for a moment, too. Without `waits`, that raises WorkspaceBusy.
        """
        with _locked(self.root, waits=waits):
            record = _read_record(self.root)
            if record is not None and record.epoch != self.epoch:
                raise WorkspaceLost(self.id, f"process {record.owner} has taken it over")
            yield

    def destroy_locked(self) -> None:
        """The same, for who holds the lock. It is not recorded: the disk may be full, and the new name says it."""
        removing = _removing(self.root)
        try:
            remove_tree(removing)
            with contextlib.suppress(FileNotFoundError):
                self.root.rename(removing)
            remove_tree(removing)
            _lock_file(self.root).unlink()
        except OSError as error:
            raise Unavailable(f"could not remove workspace {self.id}: {error}") from error

    def make_folders(self) -> None:
        """Those that are not there yet."""
        for folder in (self.root, self.control, self.logs, self.command_files, self.repo, self.home, self.artifacts):
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder)  # noqa: PTH102 (a server takes up thousands at once)

    def clear_unended(self) -> None:
        """Remove the logs and files of its last user's commands, except of those whose ends are stored."""
        self._ended = names_of_ended(_names_in(self.logs))
        self.clear_commands(self._ended)

    def clear_commands(self, besides: Set[str] = frozenset()) -> None:
        """Remove the logs and files of all commands but those with these names."""
        for folder in (self.logs, self.command_files):
            for name in _names_in(folder):
                if not is_of(name, besides):
                    _remove(folder / name)

    def log_of(self, key: str) -> str:
        """The file for what the command with this execution key writes."""
        return f"{self.logs}/{command_file_name(key)}"

    def end_of(self, key: str) -> dict[str, Any] | None:
        """How the command ended, if that was before the workspace was taken up."""
        return read_end(self.log_of(key)) if self._ended and command_file_name(key) in self._ended else None

    def discard_end_of(self, key: str) -> None:
        """Let the command run again: what it did before the workspace was taken up does not count."""
        name = command_file_name(key)
        if name in self._ended:
            discard_end(self.log_of(key), str(self.command_files), name)

    def _record(self, state: str) -> None:
        record = {
            "state": state,
            "epoch": self.epoch,
            "owner": os.getpid(),
            "owner_started": _start_of_this_process(os.getpid()),
            "named": self.named,
            "folder": None if self.folder is None else str(self.folder),
        }
        _write_over(f"{self.control}/workspace.json", msgspec.json.encode(record))


def path_in_repo(repo: Path, relative: str) -> Path:
    """The path with every link on the way followed. Raises ValueError if that is outside the repo."""
    if relative == ".":
        return repo
    path = (repo / relative).resolve()
    if not path.is_relative_to(repo):
        raise ValueError(f"{relative!r} is outside the workspace")
    return path


def traces_of(workspace: WorkspaceRef) -> Path:
    """The folder that exists if there may be containers of it."""
    return Path(workspace.control, "containers")


def open_workspace(workspaces: Path, epoch: str, id: str | None = None, folder: Path | None = None) -> Workspace:
    """A workspace in use in that epoch: a new one, or the one with that id as it was left.

    With `folder` it is in place: that folder is its repo. Raises WorkspaceBusy if another epoch that lasts has it.
    """
    if folder is not None and not folder.is_dir():
        raise Unavailable(f"{folder} is not a folder, so nothing can run in it")
    try:
        root = _root(workspaces, id)
        _end_what_is_left(root, _read_record(root))  # not while it is locked: whoever stands still then holds others up
        with _locked(root):
            record = _read_record(root)
            folder = _same_folder(root.name, record, folder and folder.resolve())
            _check_free(root, record)
            workspace = Workspace(root, folder=folder, named=id is not None)
            _end_what_is_left(root, record)
            remove_tree(_removing(root))
            workspace.clear_unended()
            workspace.make_folders()
            workspace.use(epoch)
    except OSError as error:
        raise Unavailable(f"could not create a workspace in {workspaces}: {error}") from error
    return workspace


def takes_long(workspaces: Path, id: str) -> bool:
    """Whether the workspace has to be opened in a thread: there is more to end and to remove than a few logs."""
    root = _root(workspaces, id)
    record = _read_record(root)
    if record is None:
        return _lock_file(root).exists()
    if record.epoch and os.path.exists(_epoch_file(root, record)):  # noqa: PTH110 (a server asks of thousands at once)
        return True
    return _removing(root).exists() or len(_names_in(Workspace(root).logs)) > FEW_LOGS


def _end_what_is_left(root: Path, record: Record | None) -> None:
    """End what its last user left running, if that one is dead."""
    if record is not None and record.epoch:
        sweep_epoch(_epoch_file(root, record))


def _names_in(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 (a server asks of thousands at once)
    except FileNotFoundError:
        return []


def remove_workspace(workspaces: Path, id: str) -> None:
    """Remove one that nobody uses, if there is one. Raises WorkspaceBusy if it is in use."""
    root = _root(workspaces, id)
    if not _lock_file(root).exists():
        return
    with _locked(root, waits=True):
        record = _read_record(root)
        _check_free(root, record)
        _end_what_is_left(root, record)
        Workspace(root).destroy_locked()


def clean_orphans(workspaces: Path) -> list[str]:
    """Remove the orphans that were given no id, and return their ids; of others, the raw logs that are not needed.

    What cannot be removed is left.
    """
    cleaned = []
    for lock_file in files_in(workspaces, LOCK_SUFFIX):
        root = lock_file.with_suffix("")
        with contextlib.suppress(Unavailable, OSError), _locked(root):
            record = _read_record(root)
            _check_free(root, record)
            workspace = Workspace(root)
            if _is_named(root, record):
                workspace.clear_unended()
            else:
                workspace.destroy_locked()
                cleaned.append(root.name)
    return cleaned


def find_workspaces(workspaces: Path, *, kept: bool) -> list[str]:
    """The ids of those that were kept, or else of the named ones whose users died."""
    found = []
    for lock_file in files_in(workspaces, LOCK_SUFFIX):
        root = lock_file.with_suffix("")
        record = _read_record(root)
        is_kept = record is not None and record.state == KEPT
        try:
            _check_free(root, record)
        except WorkspaceBusy as busy:
            if not busy.soon_over:
                continue
        if root.is_dir() and is_kept is kept and _is_named(root, record):
            found.append(root.name)
    return found


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        remove_tree(path)
    else:
        path.unlink(missing_ok=True)


def _check_free(root: Path, record: Record | None) -> None:
    """Raises WorkspaceBusy if it is in use. One without a record was never finished, or is removed but for its lock."""
    if record is not None and record.state == IN_USE and lasts(_epoch_file(root, record)):
        by = f"process {record.owner}" if record.owner_lives else f"processes left by process {record.owner}"
        raise WorkspaceBusy(root.name, by, soon_over=not record.owner_lives)


def _is_named(root: Path, record: Record | None) -> bool:
    return not root.name.startswith(UNNAMED) if record is None else record.named or record.state == KEPT


def _same_folder(id: str, record: Record | None, asked: Path | None) -> Path | None:
    """The folder of a workspace in place: the one that it always had."""
    if record is None:
        return asked
    had = None if record.folder is None else Path(record.folder)
    if asked is not None and asked != had:
        raise Unavailable(f"workspace {id!r} belongs to {had or 'no folder'}, so it cannot be used for {asked}")
    if had is not None and not had.is_dir():
        raise Unavailable(f"{had} is no longer a folder, so nothing can run in it")
    return had


def _read_record(root: Path) -> Record | None:
    """None if there is none, or half of one."""
    try:
        fields = msgspec.json.decode((root / ".pitstop" / "workspace.json").read_bytes())
        return Record(**fields)
    except (OSError, msgspec.DecodeError, TypeError):
        return None


def _write_over(path: str, record: bytes) -> None:
    """In one write, so that a kill leaves the old record or the new one. To put a new file in the place of the old one
    takes a disk a hundred times as long.
    """
    file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        longest = max(RECORD_BYTES, os.fstat(file).st_size)
        os.pwrite(file, record.ljust(longest), 0)
    finally:
        os.close(file)


@cache
def _start_of_this_process(pid: int) -> int | None:
    """Asked once; with the id, for a process that was forked is another."""
    return start_of_process(pid)


@contextlib.contextmanager
def _locked(root: Path, *, waits: bool = False) -> Iterator[None]:
    """Nobody else makes, takes, keeps or removes it meanwhile. Raises WorkspaceBusy if somebody does, or waits."""
    lock = _lock(root, waits=waits)
    try:
        yield
    finally:
        os.close(lock)


def _lock(root: Path, *, waits: bool) -> int:
    while True:
        lock = os.open(_lock_file(root), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(lock)
            raise WorkspaceBusy(root.name, "another process that creates or removes it", soon_over=True) from error
        if os.fstat(lock).st_nlink:  # else it was removed before it was locked
            return lock
        os.close(lock)


def _root(workspaces: Path, id: str | None) -> Path:
    if id is not None and not re.fullmatch(ID, id):
        raise ValueError(f"invalid workspace id {id!r}: use letters, digits, - and _")
    return workspaces / (id or UNNAMED + os.urandom(6).hex())


def _epoch_file(root: Path, record: Record) -> str:
    return f"{root.parent}/{record.epoch}{SUFFIX}"


def _lock_file(root: Path) -> Path:
    return root.with_suffix(LOCK_SUFFIX)


def _removing(root: Path) -> Path:
    return root.with_suffix(".removing")
