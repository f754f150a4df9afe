"""Trees of merges, and what conflicts in them."""

import pytest

from pitstop.errors import GitProblem, UnknownRef
from pitstop.git.bare import BareRepository
from pitstop.git.commands import run_git
from pitstop.git.merged_trees import MOST_NAMED_PATHS, files_with_markers, has_markers, merge_trees
from tests.git.repositories import commit_of, tree_of

LINES = "".join(f"line {number}\n" for number in range(30))


def lines_with(text: str) -> str:
    return LINES.replace("line 5\n", f"{text}\n")


async def test_a_merge_without_conflicts_is_a_tree(repository: BareRepository) -> None:
    root = await commit_of(repository, {"a": LINES})
    ours = await commit_of(repository, {"a": lines_with("ours")}, root)
    theirs = await commit_of(repository, {"a": f"{LINES}theirs\n"}, root)

    merged = await merge_trees(repository, ours, theirs)

    assert merged.conflicts == ()
    assert merged.tree == await tree_of(repository, {"a": f"{lines_with('ours')}theirs\n"})


async def test_conflicts_have_kinds(repository: BareRepository) -> None:
    base: dict[str, bytes | str] = {
        "text": LINES,
        "bin": b"a\0b",
        "gone": LINES[7:],
        "old ä": LINES[14:],
        "120000:link": "a",
        "plain": "x",
    }
    root = await commit_of(repository, base)
    ours: dict[str, bytes | str] = {
        "text": lines_with("ours"),
        "bin": b"a\0c",
        "gone": lines_with("ours")[7:],
        "new\nä": LINES[14:],
        "120000:link": "b",
        "plain": "x",
        "added": "ours\n",
    }
    theirs: dict[str, bytes | str] = {
        "text": lines_with("theirs"),
        "bin": b"a\0d",
        "other ä": LINES[14:],
        "120000:link": "c",
        "plain": "y",
        "added": "theirs\n",
    }

    merged = await merge_trees(
        repository, await commit_of(repository, ours, root), await commit_of(repository, theirs, root)
    )

    assert {file.path: file.kind for file in merged.conflicts} == {
        "added": "text",
        "bin": "binary",
        "gone": "deleted",
        "link": "other",
        "new\nä": "renamed",
        "old ä": "renamed",
        "other ä": "renamed",
        "text": "text",
    }
    shown = (await run_git(repository.folder, "show", f"{merged.tree}:text")).decode()
    assert shown.count("<<<<<<< ") == shown.count(">>>>>>> ") == 1
    assert "ours\n=======\ntheirs\n" in shown
    paths = [*(file.path for file in merged.conflicts), "plain", "nope"]
    assert await files_with_markers(repository, merged.tree, paths) == ("added", "text")


async def test_a_split_folder_is_a_conflict_though_no_file_is(repository: BareRepository) -> None:
    one, other = LINES[:100], LINES[100:]
    root = await commit_of(repository, {"d/x": one, "d/y": other})
    ours = await commit_of(repository, {"e/x": one, "f/y": other}, root)
    theirs = await commit_of(repository, {"d/x": one, "d/y": other, "d/new": "new\n"}, root)

    merged = await merge_trees(repository, ours, theirs)

    assert [(file.path, file.kind) for file in merged.conflicts] == [("d", "renamed")]


async def test_a_file_added_to_a_renamed_folder_is_in_question(repository: BareRepository) -> None:
    root = await commit_of(repository, {"d/x": LINES})
    ours = await commit_of(repository, {"e/x": LINES}, root)
    theirs = await commit_of(repository, {"d/x": LINES, "d/new": "new\n"}, root)

    merged = await merge_trees(repository, ours, theirs)

    assert [(file.path, file.kind) for file in merged.conflicts] == [("e/new", "renamed")]


async def test_unrelated_histories_and_options_are_refused(repository: BareRepository) -> None:
    one, other = await commit_of(repository, {"a": "1"}), await commit_of(repository, {"b": "1"})
    with pytest.raises(GitProblem, match="unrelated histories"):
        await merge_trees(repository, one, other)
    with pytest.raises(UnknownRef):
        await merge_trees(repository, "--stdin", other)
    with pytest.raises(UnknownRef):
        await files_with_markers(repository, "-Ox", ["a"])


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a\n<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\n", True),
        (b"<<<<<<< ours\r\n>>>>>>> theirs", True),
        (b">>>>>>> x\n<<<<<<< y\n>>>>>>> z\n", True),
        (b">>>>>>> theirs\n<<<<<<< ours\n", False),
        (b" <<<<<<< ours\n>>>>>>> theirs\n", False),
        (b"<<<<<<<< ours\n>>>>>>> theirs\n", False),
        (b"<<<<<<< ours\n", False),
        (b"Title\n=======\n", False),
        (b"", False),
    ],
)
async def test_markers_begin_and_end_a_conflict(repository: BareRepository, content: bytes, expected: bool) -> None:
    commit = await commit_of(repository, {"d/ä b": content, "d/other": "x"})

    assert has_markers(content) == expected
    assert await files_with_markers(repository, commit, ["d/ä b", "d"]) == (("d/ä b",) if expected else ())


async def test_many_files_are_searched_at_once(repository: BareRepository) -> None:
    conflict = "<<<<<<< a\n=======\n>>>>>>> b\n"
    paths = [f"f{number:03}" for number in range(MOST_NAMED_PATHS + 2)]
    commit = await commit_of(repository, dict.fromkeys(paths, conflict))

    assert await files_with_markers(repository, commit, paths[1:]) == tuple(paths[1:])
    assert await files_with_markers(repository, commit, []) == ()
