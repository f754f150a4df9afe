"""How a command ended, from what its supervisor saw."""

import os
import signal
from typing import Any

from msgspec import convert, to_builtins

from pitstop.engine.executor import CommandResult, CommandState
from pitstop.executors.machine.processes.supervisor import End

FIRST_SIGNAL_CODE = 128


def result_of(end: End | None) -> CommandResult:
    """The result; None is a command whose supervisor was lost."""
    if end is None:
        return CommandResult(state="lost", reason="its supervisor ended before it did")
    signalled = end.status is not None and os.WIFSIGNALED(end.status)
    killed_by_us = bool(end.reason)  # then the signal explains nothing
    exit_code = end.exit_code if end.status is None or signalled else os.WEXITSTATUS(end.status)
    signal_number = os.WTERMSIG(end.status) if end.status is not None and signalled and not killed_by_us else None
    if end.image_digest is not None and (signal_number := signal_of(exit_code)) is not None:
        exit_code = None
    return CommandResult(
        state=_state(end, exit_code),
        exit_code=exit_code,
        signal=signal_number,
        out_of_memory=end.out_of_memory,
        reason=_reason(end, exit_code, signal_number),
        started_at=end.started_at,
        ended_at=end.ended_at,
        duration_seconds=end.duration_seconds if end.image_digest is None else end.ended_at - end.started_at,
        image_digest=end.image_digest or "",
    )


def stored_result(stored: dict[str, Any]) -> CommandResult | None:
    """The result that a supervisor stored; None for anything else, because steps can write there, too."""
    try:
        return convert(to_builtins(result_of(End(**stored))), CommandResult)
    except (TypeError, ValueError):
        return None


def signal_of(exit_code: int | None) -> int | None:
    """The signal that a container engine reports as an exit code above 128, as shells do."""
    number = (exit_code or 0) - FIRST_SIGNAL_CODE
    return number if number in set(signal.Signals) else None


def _state(end: End, exit_code: int | None) -> CommandState:
    if end.ending == "timeout":
        return "timeout"
    if end.ending == "cancelled":
        return "cancelled"
    return "failed" if exit_code != 0 or end.reason or end.out_of_reach else "completed"


def _reason(end: End, exit_code: int | None, signal_number: int | None) -> str:
    reasons = []
    if end.reason:
        reasons.append(end.reason)
    elif end.ending:
        reasons.append("it timed out" if end.ending == "timeout" else "it was cancelled")
    elif end.out_of_memory:
        reasons.append("the kernel killed it because it ran out of memory")
    elif signal_number is not None:
        reasons.append(f"it was killed by {_name(signal_number)}")
    elif exit_code:
        reasons.append(f"it exited with code {exit_code}")
    if end.out_of_reach:
        reasons.append(f"could not kill processes of another user: {', '.join(map(str, end.out_of_reach))}")
    return "; ".join(reasons)


def _name(signal_number: int) -> str:
    try:
        return signal.Signals(signal_number).name
    except ValueError:
        return f"signal {signal_number}"
