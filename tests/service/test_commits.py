"""A commit is checked out as it was: whole repositories and parts of them, with a real git."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from pitstop.engine.executor import WorkspaceRef
from pitstop.errors import BadCommit
from pitstop.executors.machine.workspaces.files import LocalFiles
from pitstop.git import work_trees
from pitstop.runs.commits import check_out, commit_in, find_commit

PEOPLE = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "a"), ("EMAIL", "a@example.com"))
}


def git(folder: Path, *words: str) -> str:
    environment = {**os.environ, **PEOPLE, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(("git", "-C", str(folder), *words), capture_output=True, check=True, env=environment)
    return done.stdout.decode().strip()


def committed(repository: Path) -> str:
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "more")
    return git(repository, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One with a part that has all that a commit can have in it."""
    folder = tmp_path / "repository"
    part = folder / "services" / "größe [1]"
    (part / "inner").mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    (folder / "outside.txt").write_text("not in the part\n")
    (part / "inner" / "text.txt").write_text("first\n")
    (part / "tool.sh").write_text("#!/bin/sh\n")
    (part / "tool.sh").chmod(0o755)
    (part / "здравствуй 世界.txt").write_text("hello\n")
    (part / "link").symlink_to("inner/text.txt")
    (part / "far").symlink_to("../../outside.txt")
    (part / "untold.txt").write_text("in no archive\n")
    (part / "exact.bin").write_bytes(bytes(range(256)))
    (part / ".gitattributes").write_text("untold.txt export-ignore\nversion.txt export-subst\n*.bin -text\n")
    (part / "version.txt").write_text("$Format:%H$\n")
    (folder / ".gitattributes").write_text("*.crlf text eol=crlf\n")
    (part / "lines.crlf").write_bytes(b"one\r\ntwo\r\n")
    return folder


def files_of(repo: Path) -> LocalFiles:
    return LocalFiles(WorkspaceRef("w", "local", str(repo), "", "", ""), lambda: None)


def tree(folder: Path) -> dict[str, tuple[str, object]]:
    """Every name below a folder: what kind it is, and what is in it."""
    found: dict[str, tuple[str, object]] = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = ("link", str(path.readlink()))
        elif path.is_file():
            found[name] = (
                "program" if os.access(path, os.X_OK) and path.stat().st_mode & 0o100 else "file",
                path.read_bytes(),
            )
        else:
            found[name] = ("folder", None)
    return found


async def test_a_part_of_a_repository_is_checked_out_as_it_was_committed(repository: Path, tmp_path: Path) -> None:
    part, target = repository / "services" / "größe [1]", tmp_path / "workspace" / "repo"
    first = committed(repository)
    then = tree(part)
    (part / "inner" / "text.txt").write_text("second\n")
    (part / "tool.sh").unlink()
    committed(repository)
    (part / "changed.txt").write_text("in no commit\n")
    target.mkdir(parents=True)

    await check_out(str(part), first, files_of(target))

    assert tree(target) == then
    assert list(target.parent.iterdir()) == [target]
    assert not (target / ".git").exists()


async def test_a_whole_repository_is_checked_out_with_its_history(repository: Path, tmp_path: Path) -> None:
    target = tmp_path / "workspace" / "repo"
    first = committed(repository)
    then = tree(repository / "services")
    (repository / "outside.txt").write_text("second\n")
    committed(repository)
    target.mkdir(parents=True)

    await check_out(str(repository), first, files_of(target))

    assert tree(target / "services") == then
    assert (target / "outside.txt").read_text() == "not in the part\n"
    assert git(target, "rev-parse", "HEAD") == first
    assert git(target, "status", "--porcelain") == ""


async def test_a_commit_that_is_on_no_branch_any_more_is_checked_out(repository: Path, tmp_path: Path) -> None:
    committed(repository)
    (repository / "outside.txt").write_text("amended\n")
    first = committed(repository)
    git(repository, "reset", "--quiet", "--hard", "HEAD~1")
    target = tmp_path / "workspace" / "repo"
    target.mkdir(parents=True)

    await check_out(str(repository), first, files_of(target))

    assert (target / "outside.txt").read_text() == "amended\n"
    assert git(target, "rev-parse", "HEAD") == first


async def test_a_shallow_repository_is_checked_out_with_the_history_that_it_has(
    repository: Path, tmp_path: Path
) -> None:
    first = committed(repository)
    for number in range(3):
        (repository / "outside.txt").write_text(f"{number}\n")
        first = committed(repository)
    shallow, target = tmp_path / "shallow", tmp_path / "workspace" / "repo"
    git(tmp_path, "clone", "--quiet", "--depth", "2", f"file://{repository}", str(shallow))
    target.mkdir(parents=True)

    await check_out(str(shallow), first, files_of(target))

    assert git(target, "rev-list", "--count", "HEAD") == "2"
    assert git(target, "status", "--porcelain") == ""


async def test_a_checkout_that_was_killed_half_way_is_made_again(repository: Path, tmp_path: Path) -> None:
    sha = committed(repository)
    target = tmp_path / "workspace" / "repo"
    (target / "services").mkdir(parents=True)
    (target / "services" / "half").write_text("")
    (target / "link").symlink_to("nowhere")

    await check_out(str(repository), sha, files_of(target))

    assert git(target, "status", "--porcelain") == ""
    assert not (target / "services" / "half").exists()


async def test_a_part_that_a_commit_does_not_have_is_told(repository: Path, tmp_path: Path) -> None:
    first = committed(repository)
    later = repository / "later"
    later.mkdir()
    (later / "new.txt").write_text("new\n")
    committed(repository)
    target = tmp_path / "workspace" / "repo"
    target.mkdir(parents=True)

    with pytest.raises(BadCommit, match="later"):
        await check_out(str(later), first, files_of(target))

    assert list(target.parent.iterdir()) == [target]
    assert list(target.iterdir()) == []


async def test_a_git_that_does_not_answer_is_told(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed(repository)
    (tmp_path / "git").write_text("#!/bin/sh\nexec sleep 1000\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(work_trees, "TIMEOUT_SECONDS", 0.1)

    with pytest.raises(BadCommit, match="timed out after"):
        await find_commit(str(repository), "main")
    assert await commit_in(str(repository)) is None


async def test_a_commit_is_found_from_a_part_of_the_repository(repository: Path) -> None:
    sha = committed(repository)

    found = await find_commit(str(repository / "services"), "main")

    assert (found.sha, found.message, found.branch) == (sha, "more", "main")


async def test_a_repository_without_a_commit_leaves_no_git_behind(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")

    assert await commit_in(str(tmp_path)) is None
    assert asyncio.all_tasks() == {asyncio.current_task()}
