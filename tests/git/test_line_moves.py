"""Where lines of one commit are in another."""

from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.errors import UnknownRef
from pitstop.git import line_moves
from pitstop.git.bare import BareRepository
from pitstop.git.line_moves import Hunk, moved_lines, parse_hunks, shift_line
from tests.git.repositories import commit_of

LINES = [f"line {number}" for number in range(1, 41)]


def text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def test_lines_shift_by_what_is_before_them() -> None:
    hunks = [Hunk(0, 0, 2), Hunk(5, 2, 1), Hunk(10, 0, 3), Hunk(20, 1, 0)]
    shifted = {line: shift_line(hunks, line) for line in (1, 4, 5, 6, 7, 10, 11, 19, 20, 21)}
    assert shifted == {1: 3, 4: 6, 5: None, 6: None, 7: 8, 10: 11, 11: 15, 19: 23, 20: None, 21: 24}
    assert shift_line([], 7) == 7
    assert shift_line(None, 7) is None


def test_hunks_are_read_per_file_and_not_from_their_lines() -> None:
    patch = (
        b"diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -3 +3,2 @@ @@ -9 +9 @@\n-@@ -1 +1 @@\n"
        b"+diff --git a/y b/y\n+Binary files\n\\ No newline at end of file\n@@ -7,0 +9 @@\n+x\r@@ -8 +8 @@\n"
        b"diff --git a/bin b/bin\nindex 1..2 100644\nBinary files a/bin and b/bin differ\n"
        b"diff --git a/mode b/mode\nold mode 100644\nnew mode 100755\n"
    )
    assert parse_hunks(patch) == [[Hunk(3, 1, 2), Hunk(7, 0, 1)], None, []]


@given(st.lists(st.sampled_from("abcd"), max_size=12), st.lists(st.sampled_from("abcd"), max_size=12))
def test_a_line_that_moves_is_the_same_line(old: list[str], new: list[str]) -> None:
    codes = [code for code in SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if code[0] != "equal"]
    hunks = [Hunk(a + 1 if b > a else a, b - a, d - c) for _, a, b, c, d in codes]
    removed = {line for _, a, b, _, _ in codes for line in range(a + 1, b + 1)}

    shifted = {line: shift_line(hunks, line) for line in range(1, len(old) + 1)}

    assert {line for line, place in shifted.items() if place is None} == removed
    found = [place for place in shifted.values() if place is not None]
    assert found == sorted(set(found))
    assert [new[place - 1] for place in found] == [old[line - 1] for line in shifted if line not in removed]


@pytest.mark.parametrize("most_bytes", [line_moves.MOST_PATCH_BYTES, 300])
async def test_lines_are_found_in_changed_renamed_and_unchanged_files(
    repository: BareRepository, monkeypatch: pytest.MonkeyPatch, most_bytes: int
) -> None:
    monkeypatch.setattr(line_moves, "MOST_PATCH_BYTES", most_bytes)  # so little that it is cut
    odd = "a \"b\"\t'ä'"
    old = await commit_of(
        repository,
        {
            odd: text(LINES),
            "old/name": text(LINES[5:]),
            "moved": text(LINES[9:]),
            "same": text(LINES),
            "gone": "x\n",
            "bin": b"\0\n",
            "becomes-bin": "x\ny\n",
            "becomes-link": "x\n",
            "becomes-folder": "x\n",
            "mode": "x\n",
            "no-end": "x\ny",
            "160000:sub": "1" * 40,
            "a.b": "1\n2\n",
            "a/b": "1\n2\n",
        },
    )
    new = await commit_of(
        repository,
        {
            odd: text(["new", *LINES[:9], "ten", *LINES[10:]]),
            "new ä": text([*LINES[5:20], *LINES[21:]]),
            "elsewhere": text(LINES[9:]),
            "same": text(LINES),
            "bin": b"\0\n\n",
            "becomes-bin": b"x\ny\n\0",
            "120000:becomes-link": "x",
            "becomes-folder/x": "y\n",
            "100755:mode": "x\n",
            "no-end": "x\nz\n",
            "160000:sub": "2" * 40,
            "a.b": "2\n",
            "a/b": "0\n1\n2\n",
        },
    )
    expected: dict[tuple[str, int], tuple[str, int] | None] = {
        (odd, 1): (odd, 2),
        (odd, 10): None,
        (odd, 40): (odd, 41),
        (odd, 41): None,
        (odd, 0): None,
        (odd, -1): None,
        ("old/name", 15): ("new ä", 15),
        ("old/name", 16): None,
        ("old/name", 17): ("new ä", 16),
        ("moved", 31): ("elsewhere", 31),
        ("moved", 32): None,
        ("same", 40): ("same", 40),
        ("same", 41): None,
        ("gone", 1): None,
        ("bin", 1): None,
        ("becomes-bin", 1): None,
        ("becomes-link", 1): None,
        ("becomes-folder", 1): None,
        ("mode", 1): ("mode", 1),
        ("no-end", 1): ("no-end", 1),
        ("no-end", 2): None,
        ("sub", 1): None,
        ("a.b", 2): ("a.b", 1),
        ("a/b", 2): ("a/b", 3),
        ("a", 1): None,
        ("nope", 1): None,
        ("", 1): None,
        ("../x", 1): None,
        ("*", 1): None,
        ("x\0y", 1): None,
    }

    assert await moved_lines(repository, old, new, expected.keys()) == expected
    assert await moved_lines(repository, old, new, [("gone", 1)]) == {("gone", 1): None}


async def test_equal_commits_move_nothing_without_git(repository: BareRepository) -> None:
    unknown = "1" * 40
    assert await moved_lines(repository, unknown, unknown, [("a", 3), ("a", 0)]) == {("a", 3): ("a", 3), ("a", 0): None}
    with pytest.raises(UnknownRef):
        await moved_lines(repository, "--all", unknown, [("a", 1)])


async def test_many_files_are_compared_in_portions(repository: BareRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_moves, "MOST_PATHS_AT_ONCE", 3)
    old = await commit_of(repository, {f"f{number}": "1\n2\n" for number in range(8)})
    new = await commit_of(repository, {f"f{number}": "0\n" * number + "1\n2\n" for number in range(8)})

    moved = await moved_lines(repository, old, new, [(f"f{number}", 2) for number in range(8)])

    assert moved == {(f"f{number}", 2): (f"f{number}", 2 + number) for number in range(8)}
