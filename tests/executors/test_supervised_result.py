import signal

import pytest

from pitstop.executors.machine.processes.result import result_of
from pitstop.executors.machine.processes.supervisor import End


def exited(code: int) -> int:
    return code << 8


@pytest.mark.parametrize(
    ("end", "state", "exit_code", "signal_number", "reason"),
    [
        (End(status=exited(0)), "completed", 0, None, ""),
        (End(status=exited(3)), "failed", 3, None, "it exited with code 3"),
        (End(status=signal.SIGSEGV), "failed", None, signal.SIGSEGV, "it was killed by SIGSEGV"),
        (End(status=64), "failed", None, 64, "SIGRTMAX"),
        (
            End(status=signal.SIGKILL, out_of_memory=True),
            "failed",
            None,
            signal.SIGKILL,
            "because it ran out of memory",
        ),
        (End(status=exited(0), ending="cancelled"), "cancelled", 0, None, "it was cancelled"),
        (End(status=signal.SIGTERM, ending="timeout"), "timeout", None, signal.SIGTERM, "it timed out"),
        (End(exit_code=127, reason="command not found: x"), "failed", 127, None, "command not found: x"),
        (End(status=exited(0), reason="the disk is full"), "failed", 0, None, "the disk is full"),
        (
            End(status=exited(0), out_of_reach=[7, 8]),
            "failed",
            0,
            None,
            "could not kill processes of another user: 7, 8",
        ),
        (None, "lost", None, None, "its supervisor ended"),
    ],
)
def test_every_end_has_one_state_and_a_reason(
    end: End | None, state: str, exit_code: int | None, signal_number: int | None, reason: str
) -> None:
    result = result_of(end)

    assert (result.state, result.exit_code, result.signal) == (state, exit_code, signal_number)
    assert reason in result.reason
    assert bool(result.reason) == (state != "completed")
