"""Lines of output as `pitstop run` shows them without a terminal."""

import io
from argparse import Namespace

import pytest

from pitstop.doors.cli.closing import format_seconds
from pitstop.doors.cli.plain import HELD_BYTES, PlainDisplay
from pitstop.service.flows import FlowInfo
from pitstop.service.runs import EventInfo, Output, WorkspaceProgress


def shown(*chunks: bytes) -> bytes:
    """What is shown of a step `a` that writes these chunks."""
    out = io.BytesIO()
    display = PlainDisplay(FlowInfo("flow", "flow.yaml", ()), out, Namespace(log_level="info"))
    for chunk in chunks:
        display.hear(Output("a", "stdout", 0.0, chunk))
    display.close()
    return out.getvalue()


def test_every_line_has_its_step_before_it() -> None:
    assert shown(b"x\n\ny\n") == b"a | x\na | \na | y\n"


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_it_does_not_matter_how_a_line_comes(size: int) -> None:
    text = b"one\n\ntwo three\r\n10%\r20%\nend"

    chunks = [text[begin : begin + size] for begin in range(0, len(text), size)]

    assert shown(*chunks) == b"a | one\na | \na | two three\na | 20%\na | end\n"


def test_of_a_line_that_was_written_over_the_last_state_is_shown() -> None:
    assert shown(b"10%\r20%\r\nnext\r\n") == b"a | 20%\na | next\n"


@pytest.mark.parametrize(
    ("written", "is_shown"),
    [
        (b"\x1b[31mred\x1b[0m \xff\n", b"red \xff"),
        (b"\x1b]0;title\x07\x1b[2J\x1b[Hcleared\tall\n", b"cleared\tall"),
        (b"cut \x1b[3", b"cut [3"),
        ("\x9b31mred ü\n".encode(), "31mred ü".encode()),
    ],
)
def test_escape_sequences_are_removed_and_bytes_that_are_no_text_are_not(written: bytes, is_shown: bytes) -> None:
    assert shown(written) == b"a | " + is_shown + b"\n"


def test_a_message_of_a_step_brings_no_escape_sequence_either() -> None:
    out = io.BytesIO()
    display = PlainDisplay(FlowInfo("flow", "flow.yaml", ()), out, Namespace(log_level="info"))
    failed = {"status": "failed", "error": {"type": "Failed", "message": "\x1b[2Jgone"}}
    display.show(EventInfo(1, "step.finished", 0.0, {"occurrence": "a", "outcome": failed}))
    assert out.getvalue() == b"a failed after 0.0 s: gone\n"


def test_a_line_is_shown_when_it_has_ended_and_streams_are_kept_apart() -> None:
    out = io.BytesIO()
    display = PlainDisplay(FlowInfo("flow", "flow.yaml", ()), out, Namespace(log_level="info"))

    display.hear(Output("a", "stdout", 0.0, b"hel"))
    display.hear(Output("a", "stderr", 0.0, b"oops\n"))
    display.hear(Output("a", "stdout", 0.0, b"lo\nwor"))
    assert out.getvalue() == b"a | oops\na | hello\n"
    display.close()

    assert out.getvalue() == b"a | oops\na | hello\na | wor\n"


def test_a_line_that_never_ends_takes_no_more_memory_than_it_may() -> None:
    out = io.BytesIO()
    display = PlainDisplay(FlowInfo("flow", "flow.yaml", ()), out, Namespace(log_level="info"))

    for _ in range(100):
        display.hear(Output("a", "stdout", 0.0, b"x" * 10_000))

    assert out.getvalue().count(b"x") >= 1_000_000 - HELD_BYTES


def test_times_are_told_as_people_do() -> None:
    assert [format_seconds(each) for each in (0.04, 1.25, 59, 61, 3725)] == [
        "0.0 s",
        "1.2 s",
        "59 s",
        "1:01",
        "1:02:05",
    ]


def test_how_far_the_files_are_is_told_seldom_and_when_it_is_over() -> None:
    out = io.BytesIO()
    display = PlainDisplay(FlowInfo("flow", "flow.yaml", ()), out, Namespace(log_level="info"))
    for second in (1.0, 1.25, 1.5, 2.75, 3.0, 3.25):
        display.tell_progress(progress(second, f"keeping: {second}"))
    display.tell_progress(progress(3.5, "kept", is_over=True))
    display.tell_progress(progress(4.0, "again"))
    display.tell_progress(progress(4.25, "", is_over=True))  # it could not be done, which is told elsewhere

    assert out.getvalue() == b"keeping: 1.0\nkeeping: 3.0\nkept\nagain\n"


def progress(at: float, text: str, *, is_over: bool = False) -> WorkspaceProgress:
    return WorkspaceProgress(
        at=at, doing="keeping", files=1, bytes=1, of_files=2, of_bytes=2, text=text, is_over=is_over
    )
