"""The files of a workspace whose folders are on this machine."""

import errno
import os
import shutil
import stat
from collections.abc import AsyncIterable, AsyncIterator, Callable, Collection, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TypeVar

from pitstop.engine.executor import WorkspaceRef
from pitstop.engine.threads import in_thread
from pitstop.engine.workspace_files import READ_LIMIT_BYTES, FoundFile, Part
from pitstop.errors import FileMissing, FileProblem, FileTooLarge, NotAFile, PathOutside
from pitstop.executors.machine.workspaces.checkout import check_out
from pitstop.trees import entries_in

CHUNK_BYTES = 1024 * 1024
CHUNKS_AT_ONCE = 64  # so many are read ahead at most, and no more of them than have CHUNK_BYTES together

T = TypeVar("T")
Chunk = tuple[FoundFile, bytes]


class LocalFiles:
    """The files of one workspace. `check_held` raises `WorkspaceLost` when the workspace belongs to another user."""

    def __init__(self, workspace: WorkspaceRef, check_held: Callable[[], None]) -> None:
        self._workspace = workspace
        self._check_held = check_held

    async def read(self, part: Part, path: str, *, limit: int = READ_LIMIT_BYTES) -> bytes:
        return await self._do(part, lambda: _read(self._resolve(part, path), path, limit))

    async def write(
        self, part: Part, path: str, data: bytes, *, mode: int | None = None, append: bool = False
    ) -> FoundFile:
        def write() -> FoundFile:
            folder, real = self._folder(part), Path(self._resolve(part, path))
            return _found(real.relative_to(folder).as_posix(), _write(real, path, data, mode, append))

        return await self._do(part, write)

    async def remove(self, part: Part, path: str) -> None:
        def remove() -> None:
            above, _, name = path.rpartition("/")
            with suppress(FileNotFoundError, IsADirectoryError):
                os.unlink(f"{self._resolve(part, above)}/{name}")  # noqa: PTH108 (done for each step: pathlib is slow)

        await self._do(part, remove)

    async def exists(self, part: Part, path: str) -> bool:
        return await self._do(part, lambda: Path(self._resolve(part, path)).exists())

    async def find(self, part: Part, patterns: Sequence[str], below: str = ".") -> list[list[FoundFile]]:
        def find() -> list[list[FoundFile]]:
            top, folder = Path(self._folder(part)), Path(self._resolve(part, below))
            return [_find(pattern, folder, top) for pattern in patterns]

        return await self._do(part, find)

    async def keep(self, paths: Sequence[str]) -> list[FoundFile]:
        return await self._do("artifacts", lambda: [self._keep(path) for path in paths])

    def _keep(self, path: str) -> FoundFile:
        source, target = self._resolve("repo", path), Path(self._resolve("artifacts", path))
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
            return _found(path, target.stat())
        except OSError as error:
            raise _problem(path, error) from error

    async def stream(self, part: Part, below: str = ".") -> AsyncIterator[Chunk]:
        self._check_held()
        folder = Path(self._resolve(part, below))
        if not folder.is_dir() or not os.listdir(folder):  # noqa: ASYNC240, PTH208 (most often; it needs no thread)
            return
        chunks = _read_all(folder, Path(self._folder(part)))
        while some := await in_thread(lambda: _next_chunks(chunks)):
            for chunk in some:
                yield chunk

    async def check_out(
        self, bundle: AsyncIterable[bytes], commit: str, *, folder: str = "", shallow: Collection[str] = ()
    ) -> None:
        self._check_held()
        await check_out(bundle, commit, folder, shallow, Path(self._workspace.repo))

    async def _do(self, part: Part, work: Callable[[], T]) -> T:
        """In a thread, but for files of our own: they are small, and a thread takes longer than they do."""
        self._check_held()
        try:
            return work() if part == "control" else await in_thread(work)
        except OSError as error:
            raise _problem(os.fsdecode(error.filename or part), error) from error

    def _folder(self, part: Part) -> str:
        """The folder of a part: its path has no link in it, but a command may have put one in its place."""
        folder: str = getattr(self._workspace, part)
        return os.path.realpath(folder) if _is_link(folder) else folder

    def _resolve(self, part: Part, path: str) -> str:
        """The path with every link followed. Raises `PathOutside` if it leads out of the part."""
        folder = self._folder(part)
        try:
            real = _follow_links(folder, path)
        except ValueError as error:  # a NUL in it
            raise FileProblem(path, f"invalid path: {error}") from error
        if real != folder and not real.startswith(folder + "/"):
            raise PathOutside(path)
        return real


def _follow_links(folder: str, path: str) -> str:
    """As `realpath` does, but without looking for links on the way to the folder itself."""
    reached = folder
    for name in path.split("/"):
        reached = f"{reached}/{name}"
        if name in ("", ".", "..") or _is_link(reached):
            return os.path.realpath(os.path.join(folder, path))  # noqa: PTH118 (pathlib fails on links in a circle)
    return reached


def _is_link(path: str) -> bool:
    try:
        return stat.S_ISLNK(os.lstat(path).st_mode)
    except OSError:
        return False


def _problem(path: str, error: OSError) -> FileProblem:
    return FileProblem(path, error.strerror or str(error))


def _found(path: str, status: os.stat_result) -> FoundFile:
    return FoundFile(path, status.st_size, status.st_mtime_ns, stat.S_IMODE(status.st_mode), status.st_ino)


def _read(real: str, path: str, limit: int) -> bytes:
    """`real` has no link in it. One that was put there since is not followed."""
    try:
        fd = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileMissing(path) from error
    except OSError as error:
        raise _problem(path, error) from error
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise NotAFile(path)
        if status.st_size > limit:
            raise FileTooLarge(path, status.st_size, limit)
        return os.read(fd, status.st_size)
    finally:
        os.close(fd)


def _write(real: Path, path: str, data: bytes, mode: int | None, append: bool) -> os.stat_result:
    """`real` has no link in it. One that was put there since is not followed."""
    how = os.O_APPEND if append else os.O_TRUNC
    try:
        real.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(real, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | how, 0o666)
        with os.fdopen(fd, "wb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise NotAFile(path)
            file.write(data)
            file.flush()
            if mode is not None:
                os.fchmod(fd, mode)
            return os.fstat(fd)
    except OSError as error:
        raise _problem(path, error) from error


def _find(pattern: str, folder: Path, top: Path) -> list[FoundFile]:
    parts = PurePosixPath(pattern)
    if parts.is_absolute() or ".." in parts.parts:
        raise PathOutside(pattern)
    found = []
    try:
        matches = sorted(folder.glob(pattern))
        paths = [path for match in matches for path in (sorted(match.rglob("*")) if match.is_dir() else (match,))]
        for path in dict.fromkeys(paths):
            if path.is_file():
                if not path.resolve().is_relative_to(top):
                    raise PathOutside(path.relative_to(folder).as_posix())
                with suppress(FileNotFoundError):  # a command is at work there
                    found.append(_found(path.relative_to(top).as_posix(), path.stat()))
    except (ValueError, NotImplementedError) as error:
        raise FileProblem(pattern, f"invalid file pattern ({error})") from error
    except (RecursionError, OSError) as error:
        if not isinstance(error, OSError) or error.errno == errno.ENAMETOOLONG:
            raise FileProblem(pattern, "cannot search folders that are nested this deeply") from None
        raise FileProblem(pattern, f"cannot read {error.filename} ({error.strerror})") from error
    return found


def _read_all(folder: Path, top: Path) -> Iterator[Chunk]:
    for path in sorted(Path(entry.path) for entry in entries_in(folder)):
        if not path.is_file() or not path.resolve().is_relative_to(top):
            continue
        with suppress(FileNotFoundError, PermissionError), path.open("rb") as file:
            found = _found(path.relative_to(folder).as_posix(), os.fstat(file.fileno()))
            yield found, file.read(CHUNK_BYTES)
            while data := file.read(CHUNK_BYTES):
                yield found, data


def _next_chunks(chunks: Iterator[Chunk]) -> list[Chunk]:
    """The next few: one hop to a thread for each of many small files would take longer than to read them."""
    some, size = [], 0
    for chunk in islice(chunks, CHUNKS_AT_ONCE):
        some.append(chunk)
        size += len(chunk[1])
        if size >= CHUNK_BYTES:
            break
    return some
