"""Ends of commands in a workspace, where steps can write, too."""

import os
from pathlib import Path

import pytest

from pitstop.executors.machine.processes.result import stored_result
from pitstop.executors.machine.processes.supervisor import End
from pitstop.executors.machine.workspaces.stored_ends import LARGEST_END, read_end, store_end


def test_an_end_is_read_as_it_was_stored(tmp_path: Path) -> None:
    end = End(status=256, reason='it\'s "odd"\n', out_of_reach=[7], started_at=1.5, ended_at=2.0)
    log = str(tmp_path / "1")

    store_end(log, vars(end))
    read = read_end(log)

    assert read == vars(end)
    result = stored_result(read)
    assert result is not None
    assert (result.exit_code, result.started_at, result.ended_at) == (1, 1.5, 2.0)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{'status': 0",
        b"[0]",
        b"\xff\xfe",
        b"\0",
        b"__import__('os').abort()",
        b"(" * LARGEST_END,
        b"{'status': 0, 'reason': '%s'}" % (b"x" * LARGEST_END),
    ],
)
def test_what_is_no_end_is_not_read(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "1.end").write_bytes(content)

    assert read_end(str(tmp_path / "1")) is None


def test_neither_a_link_nor_a_fifo_is_read(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("{'status': 0}")
    (tmp_path / "1.end").symlink_to(tmp_path / "there")
    os.mkfifo(tmp_path / "2.end")

    assert read_end(str(tmp_path / "1")) is None
    assert read_end(str(tmp_path / "2")) is None


@pytest.mark.parametrize(
    "stored", [{"unknown": 0}, {"status": "0"}, {"status": 0, "started_at": "now"}, {"status": None, "exit_code": []}]
)
def test_an_end_with_other_values_than_a_supervisor_stores_is_none(stored: dict[str, object]) -> None:
    assert stored_result(stored) is None
