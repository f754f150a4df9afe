import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from pitstop.executors.machine.workspaces import files
from tests.steps.bench import Bench


def content(path: Path) -> str:
    return path.read_text()


def permissions(path: Path) -> int:
    return path.stat().st_mode & 0o777


async def test_a_file_is_written_with_the_folders_on_its_way(bench: Bench) -> None:
    outputs = await bench.outputs("write", {"path": "a/b/c.txt", "content": "grüße\n"})

    assert outputs == {"path": "a/b/c.txt", "size": 8}
    assert content(bench.repo / "a/b/c.txt") == "grüße\n"


async def test_a_file_is_replaced_or_added_to(bench: Bench) -> None:
    await bench.outputs("write", {"path": "a", "content": "a long first text"})
    await bench.outputs("write", {"path": "a", "content": "1"})
    await bench.outputs("write", {"path": "a", "content": "2", "append": True})

    assert content(bench.repo / "a") == "12"


async def test_what_is_no_text_is_written_as_json(bench: Bench) -> None:
    await bench.outputs("write", {"path": "a.json", "content": "${{ .vars }}"}, values={"vars": {"a": [1]}})

    assert content(bench.repo / "a.json") == '{\n  "a": [\n    1\n  ]\n}\n'


@pytest.mark.parametrize(("mode", "bits"), [("0755", 0o755), ("600", 0o600), ("0o640", 0o640), ("0", 0)])
async def test_permissions_are_octal(bench: Bench, mode: str, bits: int) -> None:
    await bench.outputs("write", {"path": "a", "content": "x", "mode": mode})

    assert permissions(bench.repo / "a") == bits


@pytest.mark.parametrize("mode", [755, 420, "rwx", "0999", "07777", True])
async def test_permissions_that_may_not_mean_what_they_say_are_refused(bench: Bench, mode: Any) -> None:
    error = await bench.failure("write", {"path": "a", "mode": mode})

    assert "permissions must be octal text, in quotes: '0644'" in error


@pytest.mark.parametrize("path", ["../x", "/tmp/x", "a/../../x", "link/x", "dangling", "file-link"])
async def test_nothing_is_written_outside_the_workspace(bench: Bench, tmp_path: Path, path: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("mine")
    (bench.repo / "link").symlink_to(outside)
    (bench.repo / "dangling").symlink_to(outside / "new")
    (bench.repo / "file-link").symlink_to(outside / "file")

    error = await bench.failure("write", {"path": path, "content": "x"})

    assert error.startswith("OutsideWorkspace")
    assert {child.name: child.read_text() for child in outside.iterdir()} == {"file": "mine"}


async def test_a_link_inside_the_workspace_is_followed(bench: Bench) -> None:
    (bench.repo / "real").mkdir()
    (bench.repo / "link").symlink_to("real")
    await bench.outputs("write", {"path": "link/a", "content": "x"})

    assert content(bench.repo / "real/a") == "x"


async def test_what_is_no_file_is_not_written_to(bench: Bench) -> None:
    (bench.repo / "folder").mkdir()
    os.mkfifo(bench.repo / "pipe")
    (bench.repo / "file").touch()
    (bench.repo / "loop").symlink_to("loop")

    assert "Is a directory" in await bench.failure("write", {"path": "folder"})
    assert "cannot write" in await bench.failure("write", {"path": "pipe"})
    assert "cannot write" in await bench.failure("write", {"path": "file/inside"})
    assert "loop" in await bench.failure("write", {"path": "loop"})
    assert "invalid path" in await bench.failure("write", {"path": "a\0b"})


async def test_a_step_that_is_cancelled_has_not_ended_while_it_still_writes(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_go_on, here = asyncio.Event(), threading.Event(), asyncio.get_running_loop()

    def write_late(*given: Any) -> os.stat_result:
        here.call_soon_threadsafe(begun.set)
        may_go_on.wait()
        return really_write(*given)

    really_write = files._write
    monkeypatch.setattr(files, "_write", write_late)
    async with asyncio.TaskGroup() as group:
        step = group.create_task(bench.act("write", {"path": "a", "content": "x"}))
        await begun.wait()
        for _ in range(2):  # who cannot wait asks again
            step.cancel()
            await asyncio.wait([step], timeout=0.1)
        has_ended = step.done()
        may_go_on.set()

    assert not has_ended
    assert step.cancelled()
    assert content(bench.repo / "a") == "x"
