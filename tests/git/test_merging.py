"""Merges, and files that are written without a work tree."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pitstop.errors import (
    BadRequest,
    CommandRefused,
    FileChanged,
    GitProblem,
    MergeConflict,
    NothingToMerge,
    RefMoved,
    UnknownPath,
    UnknownRef,
)
from pitstop.git import commands
from pitstop.git.bare import BareRepository
from pitstop.git.commands import run_git
from pitstop.git.merging import MergeResult, Method, merge, write_file
from pitstop.git.names import ZEROS
from pitstop.git.processes import GitProcess, start_git
from tests.git.repositories import commit_of, commit_on

MAIN = "refs/heads/main"


async def show(repository: BareRepository, what: str, *words: str) -> str:
    return (await run_git(repository.folder, "show", *words, what)).decode()


async def merged(
    repository: BareRepository, source: str = "topic", method: Method = "merge", expect: str | None = None
) -> MergeResult:
    return await merge(
        repository,
        source=source,
        target="main",
        method=method,
        message="Merge it",
        who="Bob",
        expect=expect,
        reason="card demo-1",
    )


async def write(
    repository: BareRepository, path: str, content: bytes | None, expect: str | None = None, branch: str = "main"
) -> str:
    return await write_file(
        repository, branch=branch, path=path, content=content, expect=expect, message="edit", who="Bob"
    )


async def parted(repository: BareRepository, ours: str = "1", theirs: str = "1") -> tuple[str, str]:
    """Main and topic, which have parted: each has a new file, and what it has in `both`."""
    root = await commit_on(repository, "main", {"both": "1"})
    await repository.move("refs/heads/topic", root, ZEROS, who="Ada", message="branch")
    main = await commit_on(repository, "main", {"both": ours, "main": "m"})
    topic = await commit_on(repository, "topic", {"both": theirs, "topic": "t"})
    return main, topic


async def test_a_merge_has_both_parents_and_says_who_merged(repository: BareRepository) -> None:
    main, topic = await parted(repository)

    result = await merged(repository, expect=topic)

    assert (result.base_old, result.is_fast_forward) == (main, False)
    shown = await show(repository, result.sha, "-s", "--format=%P|%an|%ae|%cn|%s")
    assert shown.strip() == f"{main} {topic}|Bob|Bob@pitstop|Bob|Merge it"
    assert (await repository.changed_paths(main, result.sha)).paths == ("topic",)
    moves = await repository.moves_of(MAIN, main, result.sha)
    assert [(move.who, move.message) for move in moves] == [("Bob", "pitstop: merge card demo-1")]
    await repository.fsck()


async def test_a_squash_is_one_commit_with_one_parent(repository: BareRepository) -> None:
    main, _ = await parted(repository)

    result = await merged(repository, method="squash")

    assert (await show(repository, result.sha, "-s", "--format=%P")).strip() == main
    assert (await repository.changed_paths(main, result.sha)).paths == ("topic",)
    with pytest.raises(NothingToMerge):
        await merged(repository, method="squash")


async def test_a_fast_forward_still_makes_a_merge_commit(repository: BareRepository) -> None:
    root = await commit_on(repository, "main", {"a": "1"})
    topic = await commit_of(repository, {"a": "2"}, root)

    result = await merged(repository, source=topic[:10])

    assert result.is_fast_forward
    assert (await show(repository, result.sha, "-s", "--format=%P")).split() == [root, topic]


async def test_a_conflict_names_the_files_and_changes_nothing(repository: BareRepository) -> None:
    main, _ = await parted(repository, ours="2", theirs="3")

    with pytest.raises(MergeConflict) as caught:
        await merged(repository)

    assert caught.value.files == ("both",)
    assert caught.value.conflicts == (("both", "text"),)
    assert (await repository.refs())[MAIN].sha == main


async def test_what_is_already_there_or_not_there_cannot_be_merged(repository: BareRepository) -> None:
    main, topic = await parted(repository)
    with pytest.raises(NothingToMerge):
        await merged(repository, source="main")
    with pytest.raises(UnknownRef):
        await merged(repository, source="nope")
    with pytest.raises(RefMoved, match="branch 'topic' is at"):
        await merged(repository, expect=main)
    for target in ("nope", "-x", topic):
        with pytest.raises(UnknownRef):
            await merge(repository, source="topic", target=target, method="merge", message="", who="Bob")
    await merged(repository)
    with pytest.raises(NothingToMerge):
        await merged(repository)


async def test_unrelated_histories_are_not_merged(repository: BareRepository) -> None:
    await commit_on(repository, "main", {"a": "1"})
    stranger = await commit_of(repository, {"b": "1"})
    with pytest.raises(GitProblem, match="unrelated histories"):
        await merged(repository, source=stranger)


async def test_merges_at_once_are_all_done(repository: BareRepository) -> None:
    root = await commit_on(repository, "main", {"a": "1"})
    topics = [await commit_of(repository, {"a": "1", f"t{number}": "x"}, root) for number in range(4)]

    async with asyncio.TaskGroup() as group:
        for topic in topics:
            group.create_task(merged(repository, source=topic))

    head = (await repository.refs())[MAIN].sha
    assert (await repository.changed_paths(root, head)).paths == ("t0", "t1", "t2", "t3")


async def test_any_message_can_be_merged_with(repository: BareRepository) -> None:
    await parted(repository)
    result = await merge(
        repository, source="topic", target="main", method="merge", message="\n a\0b\ud800\n\nbody ", who=""
    )
    assert (await show(repository, result.sha, "-s", "--format=%B|%an")).strip() == "ab?\n\nbody\n|unknown"
    await repository.fsck()


async def test_a_merge_starts_few_processes(repository: BareRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []

    async def start(*words: str, **options: Any) -> GitProcess:
        started.append(words[1])
        return await start_git(*words, **options)

    monkeypatch.setattr(commands, "start_git", start)
    await parted(repository)
    started.clear()
    await merged(repository)

    assert started == ["cat-file", "merge-base", "merge-tree", "commit-tree", "update-ref"]


async def test_a_file_is_written_changed_and_deleted_by_commits(repository: BareRepository) -> None:
    first = await write(repository, "docs/a b.md", b"one", expect="")
    second = await write(repository, "docs/a b.md", b"two\n", expect=await blob_at(repository, first, "docs/a b.md"))
    third = await write(repository, "other", b"x")
    fourth = await write(repository, "docs/a b.md", None)

    assert await show(repository, f"{second}:docs/a b.md") == "two\n"
    assert (await repository.changed_paths(third, fourth)).paths == ("docs/a b.md",)
    assert (await show(repository, fourth, "-s", "--format=%P|%an|%cn|%s")).strip() == f"{third}|Bob|Bob|edit"
    moves = await repository.moves_of(MAIN, None, fourth)
    assert [(move.who, move.message) for move in moves][::3] == [
        ("Bob", "pitstop: update docs/a b.md"),
        ("Bob", "pitstop: delete docs/a b.md"),
    ]
    await repository.fsck()


async def blob_at(repository: BareRepository, commit: str, path: str) -> str:
    return (await run_git(repository.folder, "rev-parse", f"{commit}:{path}")).decode().strip()


async def test_a_file_that_is_another_by_now_is_not_overwritten(repository: BareRepository) -> None:
    head = await write(repository, "a", b"1")
    with pytest.raises(FileChanged, match="a has been changed on main since it was opened"):
        await write(repository, "a", b"2", expect="")
    with pytest.raises(FileChanged, match="a has been changed on main"):
        await write(repository, "a", b"2", expect="1" * 40)
    with pytest.raises(FileChanged, match="b has been deleted on main"):
        await write(repository, "b", b"2", expect="1" * 40)
    assert (await repository.refs())[MAIN].sha == head


async def test_writing_the_same_again_makes_no_commit(repository: BareRepository) -> None:
    head = await write(repository, "a", b"1")
    assert await write(repository, "a", b"1") == head


async def test_an_executable_file_stays_executable_and_a_link_becomes_a_file(repository: BareRepository) -> None:
    await commit_on(repository, "main", {"100755:run.sh": "1", "120000:link": "run.sh"})
    await write(repository, "run.sh", b"2")
    head = await write(repository, "link", b"text")

    listed = (await run_git(repository.folder, "ls-tree", head)).decode().split("\n")
    assert [line.split(" ")[0] for line in listed] == ["100644", "100755", ""]


async def test_files_are_written_only_where_a_file_can_be(repository: BareRepository) -> None:
    await commit_on(repository, "main", {"file": "1", "folder/inner": "2", "160000:sub": "1" * 40})
    for path, reason in {
        "file/x/y": "'file' is a file, not a folder",
        "folder": "it is a folder",
        "sub": "it is a submodule",
    }.items():
        with pytest.raises(CommandRefused, match=reason):
            await write(repository, path, b"x")
    for path in ("../x", "/x", "", ".git/config", "a/.Git/x", "a//b"):
        with pytest.raises(BadRequest, match="invalid path"):
            await write(repository, path, b"x")
    with pytest.raises(UnknownPath):
        await write(repository, "nope", None)
    for branch in ("other", "-x", ""):
        with pytest.raises(UnknownRef):
            await write(repository, "a", b"x", branch=branch)


async def test_files_written_at_once_are_all_there(repository: BareRepository, tmp_path: Path) -> None:
    root = await commit_on(repository, "main", {"a": "1"})

    async with asyncio.TaskGroup() as group:
        for number in range(4):
            group.create_task(write(repository, f"f{number}", b"x"))

    head = (await repository.refs())[MAIN].sha
    assert (await repository.changed_paths(root, head)).paths == ("f0", "f1", "f2", "f3")
