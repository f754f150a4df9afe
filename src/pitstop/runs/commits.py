"""The commit that a run works on: which one a folder is at, and a commit sent to a workspace."""

import os
import subprocess
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from errno import ENOENT, ETIMEDOUT
from pathlib import Path

from pitstop.engine.workspace_files import WorkspaceFiles
from pitstop.errors import BadCommit, GitProblem
from pitstop.git.commands import stream_git
from pitstop.git.work_trees import TIMEOUT_SECONDS, environment_of_user, git_in, place_of
from pitstop.runs.run_info import CommitInfo


async def commit_in(folder: str) -> CommitInfo | None:
    """The commit that a folder is at, and whether what git knows of has changed since; None where there is none."""
    if not _is_in_repository(Path(folder)):
        return None
    try:
        status = await git_in(folder, "status", "--porcelain=v2", "--branch", "--untracked-files=no")
        message = await git_in(folder, "log", "-1", "--format=%s")
    except GitProblem:  # no git, no commit yet, or a repository of another user
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
    try:
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{named}^{{commit}}")
        sha = (await git_in(folder, *words, codes=(0, 1))).strip()
        if not sha:
            raise BadCommit(named, f"the repository of {folder} has no such commit, branch or tag")
        message = (await git_in(folder, "log", "-1", "--format=%s", sha)).strip()
        is_branch = bool((await git_in(folder, "for-each-ref", "--count=1", f"refs/heads/{named}")).strip())
    except GitProblem as error:
        raise BadCommit(named, error.reason) from error
    return CommitInfo(sha=sha, message=message, branch=named if is_branch else None)


def reader_at(folder: str, sha: str) -> Callable[[str], bytes]:
    """What reads files of a repository as they are at a commit, by their paths; OSError. It blocks."""

    def read(path: str) -> bytes:
        inside = os.path.relpath(Path(path).resolve(), Path(folder).resolve())
        try:
            done = subprocess.run(
                ("git", *place_of(folder), "show", f"{sha}:./{inside}"),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=TIMEOUT_SECONDS,
                env=environment_of_user(),
            )
        except subprocess.TimeoutExpired as error:
            raise OSError(ETIMEDOUT, f"git timed out after {TIMEOUT_SECONDS:g} s", path) from error
        if done.returncode != 0:
            raise FileNotFoundError(ENOENT, f"it is not in commit {sha[:12]}", path)
        return done.stdout

    return read


async def check_out(folder: str, sha: str, files: WorkspaceFiles) -> None:
    """Fill the empty repo of a workspace with a commit of the repository that a folder is in. Raises `BadCommit`.

    The workspace gets a repository of its own. Of a folder inside the repository it gets the files, and no history.
    """
    try:
        inner = (await git_in(folder, "rev-parse", "--show-prefix")).removesuffix("\n")
        shallow = (await git_in(folder, "rev-parse", "--git-path", "shallow")).removesuffix("\n")
        whole = (await git_in(folder, "rev-parse", "--show-toplevel")).removesuffix("\n") if inner else folder
        async with aclosing(_bundle(whole, sha)) as bundle:
            await files.check_out(bundle, sha, folder=inner, shallow=_lines_in(Path(folder, shallow)))
    except GitProblem as error:
        raise BadCommit(sha, error.reason) from error


def _bundle(whole: str, sha: str) -> AsyncGenerator[bytes]:
    """The repository as a git bundle, with the commit, which need not be on a branch.

    In an inner folder, git would take `-` for a file of that folder.
    """
    quickly = ("-c", "pack.window=0")  # a smaller bundle would take longer to make than to send
    words = ("bundle", "create", "--quiet", "-", "--all", sha)
    return stream_git(*place_of(whole), *quickly, *words, environment=environment_of_user())


def _lines_in(file: Path) -> list[str]:
    return file.read_text().split() if file.exists() else []


def _is_in_repository(folder: Path) -> bool:
    """Looked for by hand, for most folders are in none and git takes its time."""
    return any((each / ".git").exists() for each in (folder, *folder.parents))
