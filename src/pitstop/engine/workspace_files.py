"""What an executor lets others do with the files of a workspace: the files as they are, and snapshots of them."""

import hashlib
from collections.abc import AsyncIterable, AsyncIterator, Callable, Collection, Sequence
from typing import Literal, Protocol
from urllib.parse import quote

import msgspec

from pitstop.engine.amount import Amount

Part = Literal["repo", "home", "artifacts", "control"]
FileChangeKind = Literal["added", "removed", "changed", "mode"]

PARTS_IN_SNAPSHOT: tuple[Part, ...] = ("repo", "home", "artifacts")
COMMAND_FILES = "commands"  # the folder of the control part with what commands are given, and hand back
READ_LIMIT_BYTES = 16 * 1024 * 1024
_LONGEST_NAME = 150  # of the 255 bytes that a file system allows


def command_file_name(key: str) -> str:
    """What the names of the files of a command begin with; no other execution key has the same."""
    name = quote(key, safe="")
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{name[:_LONGEST_NAME]}-{hashlib.blake2b(key.encode(), digest_size=8).hexdigest()}"


class FoundFile(msgspec.Struct, frozen=True):
    """A regular file of a workspace; `path` is relative to its part."""

    path: str
    size: int
    mtime_ns: int = 0
    mode: int = 0o644
    inode: int = 0


class WorkspaceFiles(Protocol):
    """The files of one workspace, wherever it is.

    A path is relative to its part. Links are followed inside the part, and a path that leads out of it raises
    `PathOutside`. Every method may also raise `FileProblem`, `WorkspaceLost` and `Unavailable`. Calls may run
    concurrently, also with commands, and each may be repeated: only `write` with `append` adds something twice.
    """

    async def read(self, part: Part, path: str, *, limit: int = READ_LIMIT_BYTES) -> bytes:
        """All that is in a regular file. Raises `FileMissing`, `NotAFile`, or `FileTooLarge` above the limit."""
        ...

    async def write(
        self, part: Part, path: str, data: bytes, *, mode: int | None = None, append: bool = False
    ) -> FoundFile:
        """Write a regular file and the folders on its way; without `mode` it gets, or keeps, its permissions."""
        ...

    async def remove(self, part: Part, path: str) -> None:
        """Remove a file. One that is missing, or is a folder, is left alone."""
        ...

    async def exists(self, part: Part, path: str) -> bool:
        """Whether there is anything at the path."""
        ...

    async def find(self, part: Part, patterns: Sequence[str], below: str = ".") -> list[list[FoundFile]]:
        """The files below a folder that each pattern names, sorted; a folder stands for all files in it."""
        ...

    async def keep(self, paths: Sequence[str]) -> list[FoundFile]:
        """Copy files of the repo to the same paths among the artifacts."""
        ...

    def stream(self, part: Part, below: str = ".") -> AsyncIterator[tuple[FoundFile, bytes]]:
        """All files below a folder, each in one or more chunks that follow each other, an empty file in one.

        Paths are relative to the folder. What vanishes meanwhile, may not be read, or leads out is skipped.
        """
        ...

    async def check_out(
        self, bundle: AsyncIterable[bytes], commit: str, *, folder: str = "", shallow: Collection[str] = ()
    ) -> None:
        """Fill the empty repo with a commit of a git bundle. Raises `BadCommit`, and leaves the repo empty.

        With `folder`, the repo gets only that folder of the commit, and no history. `shallow` are the commits whose
        parents the bundle does not have.
        """
        ...


class SecretScan(Protocol):
    """Searches bytes that come in chunks for secrets; `found` is the name of the first."""

    found: str | None

    def feed(self, data: bytes) -> None: ...


NewScan = Callable[[], SecretScan]


class ChangedFile(Protocol):
    """What became of one path between two snapshots."""

    @property
    def path(self) -> str: ...

    @property
    def kind(self) -> FileChangeKind: ...

    @property
    def is_text(self) -> bool: ...


class WorkspaceSnapshots(Protocol):
    """Snapshots of one workspace, kept where the workspace is. Paths in them begin with the name of their part.

    `take` and `restore` of one workspace do not run concurrently, and no command runs during a `restore`. What takes
    long counts itself up in `amount`. Cancelling a `take` ends it soon; a `restore` that has begun is completed.
    """

    async def take(
        self,
        parent: str | None = None,
        *,
        parts: Collection[Part] = PARTS_IN_SNAPSHOT,
        owner: str | None = None,
        amount: Amount | None = None,
        new_scan: NewScan | None = None,
    ) -> str:
        """The id of a snapshot, which may be `parent` if nothing has changed since. It is kept for the owner.

        A file in which a scan finds a secret is encrypted there.

        Raises `SnapshotTooLarge`, or `Unavailable` if the disk is full, and has then kept nothing.
        """
        ...

    async def restore(
        self, snapshot: str, *, parts: Collection[Part] = PARTS_IN_SNAPSHOT, amount: Amount | None = None
    ) -> None:
        """Make the parts exactly what they were. Parts that the snapshot does not have are left alone.

        Raises `UnknownSnapshot`, `Unavailable` if nothing was changed, and `RestoreIncomplete` if something was.
        """
        ...

    async def diff(self, before: str, after: str) -> Sequence[ChangedFile]: ...

    async def file(self, snapshot: str, path: str, *, offset: int = 0, size: int | None = None) -> bytes:
        """What is in a file of a snapshot. Raises `UnknownSnapshot` if it has no such file."""
        ...

    async def own(self, snapshots: Collection[str], owner: str) -> None:
        """Keep snapshots for this owner too. Repeating it changes nothing."""
        ...

    def close(self) -> None:
        """Free what is held open. Another call opens it again."""
        ...
