"""A tree that was made elsewhere, such as in a workspace: it is checked before the repository gets it."""

import asyncio
import os
import signal
from collections.abc import AsyncIterable, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from tempfile import mkdtemp

from pitstop.engine.threads import in_thread
from pitstop.errors import CommandRefused, GitProblem
from pitstop.git.bare import BareRepository
from pitstop.git.commands import IGNORED_FLAWS, ask_git, git_environment, read_complaint, run_git
from pitstop.git.leftovers import lock_for_push
from pitstop.git.names import ZEROS
from pitstop.git.processes import PIPE_CLOSED, GitProcess, discard, start_git
from pitstop.trees import remove_tree

TIMEOUT_SECONDS = 600.0
EMPTY_PACK_BYTES = 32
QUARANTINE = "tmp_objdir-incoming-"  # a name that git and `remove_leftovers` remove if it is left

_STRICT = "--strict=" + ",".join(f"{flaw}=ignore" for flaw in IGNORED_FLAWS)


async def receive_tree(
    repository: BareRepository, tree: str, pack: AsyncIterable[bytes] | bytes, base: str, *, limit_bytes: int
) -> None:
    """Store a tree from a pack without what the base commit has; zeros for no base. All of it is stored, or nothing.

    Raises `CommandRefused` for a pack that is too large, and `GitProblem` for one that is broken or incomplete.
    """
    repository.check_commits(tree, base)
    async with _quarantine(repository) as (folder, lock):
        places = {"GIT_OBJECT_DIRECTORY": str(folder)}
        await _index_pack(repository, pack, limit_bytes, places, lock)
        await _check_tree(repository, tree, base, places)
        await in_thread(partial(_keep, folder, repository.folder / "objects" / "pack"))


async def commit_tree(repository: BareRepository, tree: str, parents: Sequence[str], message: str, who: str) -> str:
    """Store a commit of a tree that is there, and return its sha; no branch has it yet."""
    words = [word for parent in parents for word in ("-p", parent)]
    text = f"{message}\n".replace("\0", "").encode(errors="replace")
    stored = await run_git(repository.folder, "commit-tree", tree, *words, "-F", "-", input=text, who=who)
    return stored.decode().strip()


@asynccontextmanager
async def _quarantine(repository: BareRepository) -> AsyncIterator[tuple[Path, int]]:
    """A folder for objects that only we see, and the lock that keeps it from being taken for a leftover."""
    try:
        lock = lock_for_push(repository.folder)
    except OSError as error:
        raise GitProblem("index-pack", f"cannot lock {repository.name}: {error.strerror}") from error
    try:
        folder = await in_thread(partial(_new_object_folder, repository.folder / "objects"))
        try:
            yield folder, lock
        finally:
            await in_thread(partial(remove_tree, folder))
    finally:
        os.close(lock)


async def _index_pack(
    repository: BareRepository,
    pack: AsyncIterable[bytes] | bytes,
    limit_bytes: int,
    places: dict[str, str],
    lock: int,
) -> None:
    process = await start_git(
        *(f"--git-dir={repository.folder}", "index-pack", "--stdin", "--fix-thin", _STRICT),
        environment={**git_environment(), **places},
        pass_fds=(lock,),
    )
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS), asyncio.TaskGroup() as group:
            complaint = group.create_task(read_complaint(process.stderr), name="git stderr")
            group.create_task(discard(process.stdout), name="git stdout")
            received = await _feed(process, _pieces_of(pack), limit_bytes)
    except BaseExceptionGroup as errors:  # the caller knows of no group
        raise errors.exceptions[0] from None
    except TimeoutError as error:
        raise GitProblem("index-pack", f"it timed out after {TIMEOUT_SECONDS:g} s") from error
    finally:
        await process.end()
    if await process.wait() and received:  # no pack at all is one without objects
        raise GitProblem("index-pack", complaint.result() or "it ended without a complaint")


async def _feed(process: GitProcess, pieces: AsyncIterable[bytes], limit_bytes: int) -> int:
    """Pass the pack to git, and count its bytes. What git does not take any more is dropped."""
    received = 0
    async for piece in pieces:
        received += len(piece)
        if received > limit_bytes:
            process.signal(signal.SIGKILL)
            raise CommandRefused(
                f"the changed files are too large: packed, they have more than {limit_bytes:,} bytes; "
                f"remove large files, or list them in .gitignore"
            )
        try:
            process.stdin.write(piece)
            await process.stdin.drain()
        except PIPE_CLOSED:
            break
    process.stdin.close()
    return received


async def _pieces_of(pack: AsyncIterable[bytes] | bytes) -> AsyncIterator[bytes]:
    if isinstance(pack, bytes):
        yield pack
        return
    async for piece in pack:
        yield piece


async def _check_tree(repository: BareRepository, tree: str, base: str, places: dict[str, str]) -> None:
    """Raise `GitProblem` unless the tree is there with all that it contains."""
    found = await ask_git(repository.folder, "cat-file", "-t", tree, codes=(0, 128), environment=places)
    if found.output.strip() != b"tree":
        raise GitProblem("index-pack", f"{tree} is not a tree in the pack or the repository")
    known = () if base == ZEROS else ("--not", f"{base}^{{tree}}")
    words = ("rev-list", "--objects", "--quiet", tree, *known)
    await run_git(repository.folder, *words, environment=places, timeout_seconds=TIMEOUT_SECONDS)


def _new_object_folder(objects: Path) -> Path:
    """A folder for new objects, in which git also finds those that are there already."""
    folder = Path(mkdtemp(prefix=QUARANTINE, dir=objects))
    (folder / "info").mkdir()
    (folder / "pack").mkdir()
    (folder / "info/alternates").write_text("..\n")
    return folder


def _keep(folder: Path, packs: Path) -> None:
    """Move packs to where git finds them: the index last, because a pack with an index counts as complete."""
    packs.mkdir(exist_ok=True)
    for pack in (folder / "pack").glob("*.pack"):
        if pack.stat().st_size > EMPTY_PACK_BYTES:
            others = sorted(pack.parent.glob(f"{pack.stem}.*"), key=lambda file: file.suffix == ".idx")
            for file in others:
                file.rename(packs / file.name)
