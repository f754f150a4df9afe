"""Who moved a ref, from the lines of its reflog."""

from pathlib import Path

from msgspec.structs import replace

from pitstop.git.names import ZEROS
from pitstop.git.reflog import RefMove, chain_of, find_in_chain, parse_reflog, read_end

A, B, C, D = ("a" * 40, "b" * 40, "c" * 40, "d" * 40)


def move(old: str, new: str) -> RefMove:
    return RefMove(old=old, new=new, who="Ada", message="push", at=1)


def unnamed(old: str, new: str) -> RefMove:
    return RefMove(old=old, new=new, who="", message="", at=0)


def test_a_line_says_who_moved_it_why_and_when() -> None:
    line = f"{A} {B} Zoë <b> Müller <zoe@pitstop> 1700000000 +0100\tpush: by\ther\n".encode()
    assert parse_reflog(line) == [RefMove(old=A, new=B, who="Zoë <b> Müller", message="push: by\ther", at=1700000000)]


def test_lines_without_a_message_count_and_broken_ones_do_not() -> None:
    content = f"{A} {B} x <y> 5 +0000\n{B} {C} x <y\n\0\0\0\n{B} {D} z <> 6 -0330\t\n{D} {A}".encode()
    assert [(each.old, each.new, each.who, each.message) for each in parse_reflog(content)] == [
        (A, B, "x", ""),
        (B, D, "z", ""),
    ]


def test_the_chain_leads_from_what_was_known_to_what_is_there() -> None:
    moves = [move(ZEROS, A), move(A, B), move(B, C), move(C, D)]
    assert chain_of(moves, B, D) == moves[2:]
    assert chain_of(moves, None, D) == moves
    assert chain_of(moves, A, C) == moves[1:3]
    assert chain_of(moves, D, D) == []


def test_a_chain_that_is_broken_is_one_move_without_a_name() -> None:
    assert chain_of([move(A, B), move(C, D)], A, D) == [unnamed(A, D)]
    assert chain_of([], None, A) == [unnamed(ZEROS, A)]
    assert chain_of([move(A, B)], A, C) == [unnamed(A, C)]


def test_moves_that_never_happened_are_passed_over() -> None:
    moves = [move(ZEROS, A), move(A, B), move(A, C), move(C, D)]
    assert chain_of(moves, None, C) == [moves[0], moves[2]]
    assert chain_of(moves, A, C) == [moves[2]]


def test_the_last_way_counts_if_a_ref_was_there_before() -> None:
    moves = [move(ZEROS, A), move(A, B), move(B, A), move(A, C)]
    assert chain_of(moves, A, C) == moves[3:]
    assert chain_of(moves, B, C) == moves[2:]


def test_the_newest_real_move_with_all_words_is_found() -> None:
    moves = [replace(move(ZEROS, A), message="merge x=1 y=2"), move(A, C), replace(move(A, B), message="y=2 x=10")]
    assert find_in_chain(moves, B, ("x=1", "y=2")) == moves[0]
    assert find_in_chain(moves, B, ("y=2",)) == moves[2]
    assert find_in_chain(moves, C, ("y=2",)) == moves[0]
    assert find_in_chain(moves, B, ("y",)) is None
    assert find_in_chain(moves, D, ("y=2",)) is None


def test_only_the_end_of_a_long_reflog_is_read(tmp_path: Path) -> None:
    file = tmp_path / "main"
    file.write_bytes(b"first line\nsecond\nthird\n")
    assert read_end(file) == b"first line\nsecond\nthird\n"
    assert read_end(file, 15) == b"second\nthird\n"
    assert read_end(file, 8) == b"third\n"
    assert read_end(tmp_path / "none") == b""
    assert read_end(tmp_path) == b""
