"""The commit that a run works on: which one a folder is at, and a commit sent to a workspace."""

import asyncio
import os
import subprocess
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from errno import ENOENT, ETIMEDOUT
from pathlib import Path

from pitstop.engine.workspace_files import WorkspaceFiles
from pitstop.errors import BadCommit
from pitstop.runs.run_info import CommitInfo
from pitstop.settings import environment_for_commands

LOOK_SECONDS = 10.0
CHUNK_BYTES = 256 * 1024
# A repository may name programs to be run for it: none is to be, only to look at it
_PLAIN = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")


async def commit_in(folder: str) -> CommitInfo | None:
    """The commit that a folder is at, and whether what git knows of has changed since; None where there is none."""
    if not _is_in_repository(Path(folder)):
        return None
    try:
        status = await _git(folder, "status", "--porcelain=v2", "--branch", "--untracked-files=no")
        message = await _git(folder, "log", "-1", "--format=%s")
    except BadCommit:  # no git, no commit yet, or somebody else's repository
        return None
    lines = status.splitlines()
    told = dict(line[2:].split(" ", 1) for line in lines if line.startswith("# "))
    branch = told.get("branch.head")
    return CommitInfo(
        sha=told["branch.oid"],
        message=message.strip(),
        branch=None if branch == "(detached)" else branch,
        has_changes=any(not line.startswith("#") for line in lines),
    )


async def find_commit(folder: str, named: str) -> CommitInfo:
    """The commit that a name means in the repository of a folder; BadCommit."""
    if not _is_in_repository(Path(folder)):
        raise BadCommit(named, f"{folder} is not in a git repository")
    sha = (await _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{named}^{{commit}}")).strip()
    if not sha:
        raise BadCommit(named, f"the repository of {folder} has no such commit, branch or tag")
    message = (await _git(folder, "log", "-1", "--format=%s", sha)).strip()
    is_branch = bool((await _git(folder, "for-each-ref", "--count=1", f"refs/heads/{named}")).strip())
    return CommitInfo(sha=sha, message=message, branch=named if is_branch else None)


def reader_at(folder: str, sha: str) -> Callable[[str], bytes]:
    """What reads files of a repository as they are at a commit, by their paths; OSError. It blocks."""

    def read(path: str) -> bytes:
        inside = os.path.relpath(Path(path).resolve(), Path(folder).resolve())
        words = ("git", *_PLAIN, "-C", folder, "show", f"{sha}:./{inside}")
        try:
            done = subprocess.run(
                words,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=LOOK_SECONDS,
                env=_environment(),
            )
        except subprocess.TimeoutExpired as error:
            raise OSError(ETIMEDOUT, f"git timed out after {LOOK_SECONDS:g} s", path) from error
        if done.returncode != 0:
            raise FileNotFoundError(ENOENT, f"it is not in commit {sha[:12]}", path)
        return done.stdout

    return read


async def check_out(folder: str, sha: str, files: WorkspaceFiles) -> None:
    """Fill the empty repo of a workspace with a commit of the repository that a folder is in. Raises `BadCommit`.

    The workspace gets a repository of its own. Of a folder inside the repository it gets the files, and no history.
    """
    inner = (await _git(folder, "rev-parse", "--show-prefix")).removesuffix("\n")
    shallow = (await _git(folder, "rev-parse", "--git-path", "shallow")).removesuffix("\n")
    whole = (await _git(folder, "rev-parse", "--show-toplevel")).removesuffix("\n") if inner else folder
    async with aclosing(_bundle(whole, sha)) as bundle:
        await files.check_out(bundle, sha, folder=inner, shallow=_lines_in(Path(folder, shallow)))


async def _bundle(whole: str, sha: str) -> AsyncGenerator[bytes]:
    """The repository as a git bundle, with the commit, which need not be on a branch.

    In an inner folder, git would take `-` for a file of that folder.
    """
    quickly = ("-c", "pack.window=0")  # a smaller bundle would take longer to make than to send
    process = await _start_git(whole, *quickly, "bundle", "create", "--quiet", "-", "--all", sha, asked=sha)
    try:
        while process.stdout is not None and (chunk := await process.stdout.read(CHUNK_BYTES)):
            yield chunk
        _, complained = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        raise BadCommit(sha, complained.decode(errors="replace").strip())


def _lines_in(file: Path) -> list[str]:
    return file.read_text().split() if file.exists() else []


def _is_in_repository(folder: Path) -> bool:
    """Looked for by hand, for most folders are in none and git takes its time."""
    return any((each / ".git").exists() for each in (folder, *folder.parents))


async def _git(folder: str, *words: str) -> str:
    """What it prints. BadCommit when it fails; one that takes too long, or is not wanted any more, is ended."""
    process = await _start_git(folder, *words, asked=words[-1])
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            said, complained = await process.communicate()
    except BaseException as error:
        if process.returncode is None:
            process.kill()
            await process.wait()
        if isinstance(error, TimeoutError):
            raise BadCommit(words[-1], f"git timed out after {LOOK_SECONDS:g} s") from error
        raise
    if process.returncode != 0 and complained:
        raise BadCommit(words[-1], complained.decode(errors="replace").strip())
    return said.decode(errors="replace")


def _environment() -> dict[str, str]:
    return {**environment_for_commands(), "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


async def _start_git(folder: str, *words: str, asked: str) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *("git", *_PLAIN, "-C", folder, *words),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=_environment(),
        )
    except OSError as error:
        raise BadCommit(asked, f"cannot run git: {error.strerror}") from error
