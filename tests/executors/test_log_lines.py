import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.engine.executor import LogChunk
from pitstop.executors.log_lines import LineFolder, LogLine, LogLines, whole_characters


def folded(*parts: bytes, line_limit: int = 1000) -> list[str]:
    """The lines that are shown; the last has ended if the list ends with an empty one."""
    folder = LineFolder(line_limit)
    return ("".join(folder.feed(part) for part in parts) + folder.finish()).split("\n")


def test_lines_come_whole_however_the_bytes_are_cut() -> None:
    assert folded(b"one\ntw", b"o", b"\n", b"\nthree") == ["one", "two", "", "three"]


def test_a_character_that_is_cut_in_two_comes_whole() -> None:
    smile = "😀\n".encode()

    assert folded(smile[:1], smile[1:3], smile[3:]) == ["😀", ""]


def test_bytes_that_are_no_text_are_shown_as_such_and_the_line_goes_on() -> None:
    assert folded(b"a\xff\xfeb\n\x80") == ["a��b", "�"]


def test_of_a_progress_bar_the_last_state_is_shown() -> None:
    assert folded(b" 10%\r 50%\r100%\nnext\n") == ["100%", "next", ""]
    assert folded(b" 10%\r", b" 50%\r", b"100%", b"\r\n") == ["100%", ""]


def test_a_progress_bar_can_be_shown_while_it_grows() -> None:
    folder = LineFolder()

    states = []
    for part in (b" 1", b"0%\r", b" 50%", b"\r\r", b"100%"):
        assert folder.feed(part) == ""
        states.append(folder.begun)

    assert states == [" 1", " 10%", " 50%", " 50%", "100%"]


def test_the_line_ends_of_windows_are_line_ends() -> None:
    assert folded(b"one\r\ntwo\r", b"\nthree\r\n") == ["one", "two", "three", ""]


def test_colours_are_kept() -> None:
    assert folded(b"\x1b[31mred\x1b[0m\n") == ["\x1b[31mred\x1b[0m", ""]


def test_a_very_long_line_is_cut_with_a_note_and_its_colours_end() -> None:
    assert folded(b"a" * 25 + b"\nshort\n", line_limit=10) == ["a" * 10 + " … and 15 more characters", "short", ""]
    assert (
        folded(b"x\n\x1b[31m" + b"a" * 10 + b"\n", line_limit=10)[1] == "\x1b[31maaaaa\x1b[0m … and 5 more characters"
    )


def test_a_line_that_never_ends_takes_no_more_memory_than_can_be_shown() -> None:
    folder = LineFolder(line_limit=100)

    for _ in range(1000):
        assert folder.feed(b"x" * 1000) == ""

    assert folder.begun == "x" * 100 + " … and 999900 more characters"
    assert folder.feed(b"\rdone\n") == "done\n"


@given(st.lists(st.text("ab\r\n", max_size=8), max_size=8), st.integers(1, 6))
def test_how_the_bytes_are_cut_makes_no_difference(parts: list[str], line_limit: int) -> None:
    pieces = [part.encode() for part in parts]

    assert folded(*pieces, line_limit=line_limit) == folded(b"".join(pieces), line_limit=line_limit)


@given(st.text("ab\r\n", max_size=40), st.integers(1, 6))
def test_every_line_is_its_last_state_cut_to_the_limit(text: str, limit: int) -> None:
    expected = []
    for line in text.split("\n"):
        states = [state for state in line.split("\r") if state]
        last = states[-1] if states else ""
        expected.append(last[:limit] + (f" … and {len(last) - limit} more characters" if len(last) > limit else ""))

    assert folded(text.encode(), line_limit=limit) == expected


def test_the_streams_are_kept_apart_and_a_line_has_the_time_of_the_chunk_that_ended_it() -> None:
    lines = LogLines()

    shown = [
        *lines.feed(LogChunk("stdout", 0, 1.0, b"out ")),
        *lines.feed(LogChunk("stderr", 4, 2.0, b"err\nmore")),
        *lines.feed(LogChunk("stdout", 12, 3.0, b"put\n\nlast")),
        *lines.finish(4.0),
    ]

    assert shown == [
        LogLine("stderr", 2.0, "err"),
        LogLine("stdout", 3.0, "out put"),
        LogLine("stdout", 3.0, ""),
        LogLine("stdout", 4.0, "last", ended=False),
        LogLine("stderr", 4.0, "more", ended=False),
    ]


@pytest.mark.parametrize("text", ["", "a", "é", "€", "😀", "ab€", "a😀b"])
def test_bytes_are_whole_characters_up_to_the_last_that_is(text: str) -> None:
    data = text.encode()

    for size in range(len(data) + 1):
        whole = whole_characters(data[:size])
        assert data[:whole].decode() == data[:size].decode(errors="ignore")


@given(st.binary(max_size=20))
def test_of_bytes_that_are_no_text_at_most_three_wait(data: bytes) -> None:
    assert len(data) - 3 <= whole_characters(data) <= len(data)
