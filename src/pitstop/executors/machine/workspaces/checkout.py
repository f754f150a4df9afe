"""A commit of a git bundle, checked out into the repo of a workspace."""

import shutil
from collections.abc import AsyncIterable, Collection
from pathlib import Path

from pitstop.engine.threads import in_thread
from pitstop.errors import BadCommit, GitProblem
from pitstop.git.work_trees import git_in

SECONDS = 600.0
REFS = ("+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*")


async def check_out(
    bundle: AsyncIterable[bytes], commit: str, folder: str, shallow: Collection[str], target: Path
) -> None:
    """Fill an empty folder with the commit, or with one folder of it. Raises `BadCommit`, and leaves it empty."""
    aside = target.parent / f"{target.name}.clone"
    try:
        await in_thread(lambda: _make_empty(aside))
        await _fetch(bundle, commit, shallow, aside)
        if folder:
            await _git(aside, commit, "read-tree", commit)  # all of it: parent folders have attributes of the files
            await _git(aside, commit, "--literal-pathspecs", "checkout", "--quiet", "--", folder)
        else:
            await _git(aside, commit, "checkout", "--quiet", "--detach", commit)
        await in_thread(lambda: _move_all(aside / folder, target))
    finally:
        await in_thread(lambda: shutil.rmtree(aside, ignore_errors=True))


async def _fetch(bundle: AsyncIterable[bytes], commit: str, shallow: Collection[str], repository: Path) -> None:
    file = repository / "bundle"
    await _git(repository, commit, "init", "--quiet")
    if shallow:
        (repository / ".git" / "shallow").write_text("".join(f"{each}\n" for each in sorted(shallow)))
    with file.open("wb") as written:
        async for chunk in bundle:
            await in_thread(lambda data=chunk: written.write(data))  # type: ignore[misc]
    await _git(repository, commit, "fetch", "--quiet", str(file), *REFS)
    file.unlink()


def _make_empty(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)  # of a checkout that was killed
    folder.mkdir()


def _move_all(source: Path, target: Path) -> None:
    """Move the files, with `.git` at the end: it says that all are there. What a killed checkout left is removed."""
    for left in list(target.iterdir()):
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left)
        else:
            left.unlink()
    for each in sorted(source.iterdir(), key=lambda each: each.name == ".git"):
        each.rename(target / each.name)


async def _git(repository: Path, commit: str, *words: str) -> None:
    try:
        await git_in(repository, *words, timeout_seconds=SECONDS)
    except GitProblem as error:
        raise BadCommit(commit, error.reason) from error
