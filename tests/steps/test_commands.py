import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from pitstop.engine.executor import CommandResult
from pitstop.executors.masking import Masker
from pitstop.steps.commands import Tail, why_it_ended
from pitstop.steps.workplace import SETTLE_BYTES
from tests.steps.bench import Bench


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ({"state": "completed", "exit_code": 0}, "exit code 0 is not accepted"),
        ({"state": "failed", "exit_code": 3, "reason": "it exited with code 3"}, "exit code 3"),
        ({"state": "failed", "exit_code": 127, "reason": "it exited with code 127"}, "command not found"),
        ({"state": "failed", "exit_code": 126, "reason": "it exited with code 126"}, "the command is not executable"),
        ({"state": "failed", "exit_code": 127, "reason": "command not found: zsh"}, "command not found: zsh"),
        ({"state": "failed", "exit_code": 143, "reason": "it exited with code 143"}, "killed by SIGTERM"),
        ({"state": "failed", "exit_code": 255, "reason": "it exited with code 255"}, "exit code 255"),
        ({"state": "failed", "signal": 11, "reason": "it was killed by SIGSEGV"}, "the command was killed by SIGSEGV"),
        ({"state": "failed", "signal": 63, "reason": "?"}, "the command was killed by signal 63"),
        ({"state": "failed", "signal": 9, "out_of_memory": True}, "by SIGKILL because it ran out of memory"),
        ({"state": "failed", "exit_code": 0, "reason": "could not kill processes: 7"}, "could not kill processes: 7"),
        ({"state": "cancelled", "reason": "it was cancelled"}, "the command was stopped: it was cancelled"),
        ({"state": "lost", "reason": "the runner is gone"}, "the result of the command is unknown: the runner is gone"),
    ],
)
def test_every_end_of_a_command_is_told_apart(result: dict[str, Any], told: str) -> None:
    assert told in why_it_ended(CommandResult(**result))


async def test_half_a_secret_at_the_cut_of_the_output_is_not_told(bench: Bench) -> None:
    workplace = replace(bench.workplace, mask=Masker({"token": "hunter2hunter2"}).mask_text)
    for padding in range(32 * 1024 - 40, 32 * 1024):
        tail = Tail()
        tail.add(b"hunter2hunter2" + b"x" * padding + b"\nthe last line\n")
        assert tail.last_lines(workplace)[-1] == "the last line"
        assert "ter2" not in "".join(tail.last_lines(workplace))


async def test_the_end_is_found_in_many_small_chunks(bench: Bench) -> None:
    tail = Tail()
    for number in range(100_000):
        tail.add(f"line {number}\n".encode())

    assert tail.last_lines(bench.workplace)[-2:] == ("line 99998", "line 99999")


async def test_a_command_is_read_no_faster_than_what_it_writes_can_be_kept(bench: Bench) -> None:
    """The disk has room for it; the memory of a server has not."""
    asked, may_go_on = asyncio.Event(), asyncio.Event()

    async def settle() -> None:
        asked.set()
        await may_go_on.wait()

    bench.workplace = replace(bench.workplace, settle=settle)
    async with asyncio.TaskGroup() as group:
        step = group.create_task(bench.act("run", {"script": "head -c 33554432 /dev/zero"}))
        await asked.wait()
        held_bytes = bench.said_bytes
        for _ in range(100):  # rounds of the loop, in which more could be read
            await asyncio.sleep(0)
        held_later = bench.said_bytes
        may_go_on.set()

    assert step.result().status == "passed"
    assert SETTLE_BYTES <= held_bytes == held_later < 2 * SETTLE_BYTES
    assert bench.said_bytes == 32 * 1024 * 1024
