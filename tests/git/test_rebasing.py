"""Rebases in a bare repository."""

import asyncio

import pytest

from pitstop.errors import CommandRefused, GitProblem, MergeConflict, NothingToMerge
from pitstop.git.bare import BareRepository
from pitstop.git.commands import run_git
from pitstop.git.merging import MergeResult, merge
from pitstop.git.names import ZEROS
from pitstop.git.raw_commits import read_commits
from pitstop.git.rebasing import MOST_REBASED
from tests.git.repositories import commit_of, commit_on

MAIN = "refs/heads/main"


async def rebased(repository: BareRepository, source: str, expect: str | None = None) -> MergeResult:
    return await merge(
        repository, source=source, target="main", method="rebase", message="unused", who="Bob", expect=expect
    )


async def log_of(repository: BareRepository, words: str, style: str = "%s") -> list[str]:
    printed = await run_git(repository.folder, "log", "--reverse", f"--format={style}", words)
    return printed.decode().splitlines()


async def content_of(repository: BareRepository, what: str) -> str:
    return (await run_git(repository.folder, "show", what)).decode()


async def test_commits_are_put_on_top_in_their_order_with_their_authors(repository: BareRepository) -> None:
    root = await commit_on(repository, "main", {"a": "1\n2\n3\n"})
    first = await commit_of(repository, {"a": "1\n2\nthree\n"}, root, message="first\n\nbody  \n", at=1_600_000_000)
    second = await commit_of(repository, {"a": "1\n2\nthree\n", "b": "b"}, first, message="second")
    main = await commit_on(repository, "main", {"a": "one\n2\n3\n", "m": "m"})

    result = await rebased(repository, second, expect=second)

    assert (result.base_old, result.is_fast_forward) == (main, False)
    style = "%s|%an|%ae|%at|%cn|%P"
    [one, two] = await log_of(repository, f"{main}..main", style)
    assert one == f"first|Ada|Ada@pitstop|1600000000|Bob|{main}"
    assert two.startswith("second|Ada|Ada@pitstop|1700000000|Bob|")
    assert await content_of(repository, "main:a") == "one\n2\nthree\n"
    assert (await repository.changed_paths(main, result.sha)).paths == ("a", "b")
    new, old = await read_commits(repository.folder, ["main~1", first])
    assert new and old and new.message == old.message == b"first\n\nbody  \n"
    await repository.fsck()


async def test_a_linear_branch_on_top_of_the_target_keeps_its_commits(repository: BareRepository) -> None:
    root = await commit_on(repository, "main", {"a": "1"})
    first = await commit_of(repository, {"a": "2"}, root)
    second = await commit_of(repository, {"a": "3"}, first)

    assert await rebased(repository, second) == MergeResult(second, root, True)
    assert (await repository.refs())[MAIN].sha == second
    with pytest.raises(NothingToMerge):
        await rebased(repository, second)


async def test_merges_and_commits_that_become_empty_are_left_out(repository: BareRepository) -> None:
    root = await commit_on(repository, "main", {"a": "1", "b": "1"})
    same = await commit_of(repository, {"a": "1", "b": "2"}, root, message="same change")
    empty = await commit_of(repository, {"a": "1", "b": "2"}, same, message="empty from the start")
    side = await commit_of(repository, {"a": "1", "b": "1", "s": "s"}, root, message="side")
    union = await commit_of(repository, {"a": "1", "b": "2", "s": "s"}, empty, side, message="union")
    again = await commit_of(repository, {"a": "1", "b": "2", "s": "s", "x": "m"}, union, message="becomes empty")
    await commit_on(repository, "main", {"a": "1", "b": "2", "x": "m"}, message="the same change with more")
    main = (await repository.refs())[MAIN].sha

    await rebased(repository, again)

    assert sorted(await log_of(repository, f"{main}..main")) == ["empty from the start", "side"]
    with pytest.raises(NothingToMerge):
        await rebased(repository, same)


async def test_a_change_that_was_picked_already_does_not_conflict(repository: BareRepository) -> None:
    root = await commit_on(repository, "main", {"a": "1\n"})
    topic = await commit_of(repository, {"a": "2\n"}, root)
    await commit_on(repository, "main", {"a": "2\n"}, message="picked")
    await commit_on(repository, "main", {"a": "3\n"}, message="and changed since")

    with pytest.raises(NothingToMerge):
        await rebased(repository, topic)


async def test_a_conflict_changes_nothing(repository: BareRepository) -> None:
    root = await commit_on(repository, "main", {"a": "1"})
    fine = await commit_of(repository, {"a": "1", "b": "1"}, root)
    topic = await commit_of(repository, {"a": "2", "b": "1"}, fine)
    main = await commit_on(repository, "main", {"a": "3"})

    with pytest.raises(MergeConflict) as caught:
        await rebased(repository, topic)

    assert caught.value.conflicts == (("a", "text"),)
    assert (await repository.refs())[MAIN].sha == main


async def test_the_change_of_a_root_commit_can_be_put_on_top(repository: BareRepository) -> None:
    root = await commit_on(repository, "main", {"a": "1"})
    stranger = await commit_of(repository, {"b": "1"}, message="stranger")
    union = await commit_of(repository, {"a": "1", "b": "1"}, root, stranger)
    await commit_on(repository, "main", {"a": "2"})

    with pytest.raises(GitProblem, match="unrelated histories"):
        await rebased(repository, stranger)
    await rebased(repository, union)

    assert (await log_of(repository, "main"))[-1] == "stranger"
    assert await content_of(repository, "main:a") == "2"


async def test_authors_with_flaws_and_other_encodings_are_preserved(repository: BareRepository) -> None:
    root = await commit_on(repository, "main", {"a": "1"})
    topic = await commit_of(repository, {"a": "1", "b": "1"}, root)
    tree = (await run_git(repository.folder, "rev-parse", f"{topic}^{{tree}}")).decode().strip()
    author = b"author Ren\xe9  <> 1 +051800"
    raw = b"tree %b\nparent %b\n%b\ncommitter x <x> 1 +0000\nencoding latin1\ngpgsig a\n b\n\ncaf\xe9\n"
    stored = raw % (tree.encode(), root.encode(), author)
    words = ("hash-object", "-t", "commit", "-w", "--literally", "--stdin")
    odd = (await run_git(repository.folder, *words, input=stored)).decode().strip()
    await commit_on(repository, "main", {"a": "2"})

    result = await rebased(repository, odd)

    printed = await run_git(repository.folder, "cat-file", "commit", result.sha)
    assert author in printed
    assert printed.endswith(b"+0000\nencoding latin1\n\ncaf\xe9\n")
    assert b"gpgsig" not in printed


async def test_too_many_commits_are_refused(repository: BareRepository) -> None:
    root = await commit_on(repository, "main", {"a": "1"})
    head = root
    tree = (await run_git(repository.folder, "rev-parse", f"{root}^{{tree}}")).decode().strip()
    stream = "".join(
        f"commit refs/heads/many\ncommitter x <x> 1 +0000\ndata 1\nx{f'{chr(10)}from {root}' if not number else ''}\n"
        for number in range(MOST_REBASED + 1)
    )
    await run_git(repository.folder, "fast-import", "--quiet", input=stream.encode())
    head = (await repository.refs())["refs/heads/many"].sha
    assert tree == (await run_git(repository.folder, "rev-parse", f"{head}^{{tree}}")).decode().strip()

    with pytest.raises(CommandRefused, match="cannot rebase more than 200 commits: merge or squash them instead"):
        await rebased(repository, head)


async def test_rebases_at_once_are_all_done(repository: BareRepository) -> None:
    root = await commit_on(repository, "main", {"a": "1"})
    await repository.move("refs/heads/other", root, ZEROS, who="Ada", message="branch")
    topics = [await commit_of(repository, {"a": "1", f"t{number}": "x"}, root) for number in range(3)]

    async with asyncio.TaskGroup() as group:
        for topic in topics:
            group.create_task(rebased(repository, topic))

    head = (await repository.refs())[MAIN].sha
    assert (await repository.changed_paths(root, head)).paths == ("t0", "t1", "t2")
    assert len(await log_of(repository, f"{root}..main")) == 3
