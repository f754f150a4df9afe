"""The commit that a run works on: which one a folder is at, and a commit checked out into a workspace."""

import asyncio
import os
import shutil
from pathlib import Path

from pitstop.errors import BadCommit
from pitstop.runs.run_info import CommitInfo

LOOK_SECONDS = 10.0
CHECKOUT_SECONDS = 600.0
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
        raise BadCommit(named, f"{folder} is in no git repository")
    sha = (await _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{named}^{{commit}}")).strip()
    if not sha:
        raise BadCommit(named, f"the repository of {folder} has none of that name")
    message = (await _git(folder, "log", "-1", "--format=%s", sha)).strip()
    is_branch = bool((await _git(folder, "for-each-ref", "--count=1", f"refs/heads/{named}")).strip())
    return CommitInfo(sha=sha, message=message, branch=named if is_branch else None)


async def check_out(folder: str, sha: str, target: Path) -> None:
    """Fill an empty folder with a commit of the repository that another one is in; BadCommit.

    It is a repository of its own. Where only a part of the repository was worked on, it has that part and no history.
    """
    inner = (await _git(folder, "rev-parse", "--show-prefix")).removesuffix("\n")
    if not inner:
        await _clone(folder, target, sha)
        await _git(str(target), "checkout", "--quiet", "--detach", sha, seconds=CHECKOUT_SECONDS)
        return
    whole = (await _git(folder, "rev-parse", "--show-toplevel")).removesuffix("\n")
    aside = target.parent / f"{target.name}.clone"
    try:
        await _clone(whole, aside, sha)
        await _git(str(aside), "read-tree", sha, asked=sha)  # all of it: attributes of the files stand around them
        only = ("--literal-pathspecs", "checkout", "--quiet", "--", inner)
        await _git(str(aside), *only, seconds=CHECKOUT_SECONDS, asked=sha)
        for each in list((aside / inner).iterdir()):
            each.rename(target / each.name)
    finally:
        await asyncio.to_thread(shutil.rmtree, aside, ignore_errors=True)


async def _clone(whole: str, target: Path, sha: str) -> None:
    words = ("clone", "--quiet", "--no-checkout", "--local", whole, str(target))
    await _git(whole, *words, seconds=CHECKOUT_SECONDS, asked=sha)


def _is_in_repository(folder: Path) -> bool:
    """Looked for by hand, for most folders are in none and git takes its time."""
    return any((each / ".git").exists() for each in (folder, *folder.parents))


async def _git(folder: str, *words: str, seconds: float | None = None, asked: str | None = None) -> str:
    """What it prints. BadCommit when it fails; one that takes too long, or is not wanted any more, is ended."""
    asked = words[-1] if asked is None else asked
    seconds = LOOK_SECONDS if seconds is None else seconds
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        process = await asyncio.create_subprocess_exec(
            *("git", *_PLAIN, "-C", folder, *words),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment,
        )
    except OSError as error:
        raise BadCommit(asked, f"git cannot be run: {error.strerror}") from error
    try:
        async with asyncio.timeout(seconds):
            said, complained = await process.communicate()
    except BaseException as error:
        if process.returncode is None:
            process.kill()
            await process.wait()
        if isinstance(error, TimeoutError):
            raise BadCommit(asked, f"git does not answer within {seconds:g} s") from error
        raise
    if process.returncode != 0 and complained:
        raise BadCommit(asked, complained.decode(errors="replace").strip())
    return said.decode(errors="replace")
