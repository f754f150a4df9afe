"""How a command in a container ended, from what the engine tells and what the command said last."""

import re
import signal
from typing import Literal

from msgspec import Struct

from pitstop.engine.executor import CommandResult, CommandState
from pitstop.executors.machine.processes.result import signal_of
from pitstop.executors.machine.processes.spawn import EXIT_NOT_EXECUTABLE, EXIT_NOT_FOUND

TAIL_BYTES = 4096
# What the init process says, as its last words, when there is nothing that it could run
_NOT_RUN = re.compile(
    rb"(?:\[FATAL tini \(\d+\)\] exec .+ failed|ERROR \(catatonit:\d+\): failed to exec pid1): (?P<why>[^\n]+)\n\Z"
)

Ending = Literal["", "cancelled", "timeout"]


class NotRun(Exception):
    """The command could not be run; the code is the one that a shell would give, if there is one."""

    def __init__(self, reason: str, exit_code: int | None = EXIT_NOT_EXECUTABLE) -> None:
        super().__init__(reason)
        self.reason = reason
        self.exit_code = exit_code


class Seen(Struct, frozen=True, kw_only=True):
    """What was seen of the end. `problem` is what went wrong outside of the command, `hint` what may explain it."""

    exit_code: int | None = None
    out_of_memory: bool = False
    ending: Ending = ""
    problem: str = ""
    hint: str = ""
    is_lost: bool = False
    digest: str = ""
    started_at: float = 0.0
    ended_at: float = 0.0


def result_of(seen: Seen) -> CommandResult:
    """The result. An engine tells a signal as an exit code above 128, as shells do, so such a code counts as one."""
    signal_number = signal_of(seen.exit_code)
    return CommandResult(
        state=_state(seen),
        exit_code=seen.exit_code if signal_number is None else None,
        signal=None if seen.problem else signal_number,  # one that we sent for the problem explains nothing
        out_of_memory=seen.out_of_memory and seen.exit_code != 0,
        reason=_reason(seen, signal_number),
        hint=seen.hint,
        started_at=seen.started_at,
        ended_at=seen.ended_at,
        duration_seconds=max(0.0, seen.ended_at - seen.started_at),
        image_digest=seen.digest,
    )


def why_not_run(exit_code: int, tail: bytes) -> tuple[int, str] | None:
    """The exit code and the reason, when the container had nothing to run; None when the command ran and ended."""
    found = _NOT_RUN.search(tail)
    if found is None or exit_code not in (1, EXIT_NOT_EXECUTABLE, EXIT_NOT_FOUND):
        return None
    why = found["why"].decode(errors="replace")
    return EXIT_NOT_FOUND if "No such file" in why else EXIT_NOT_EXECUTABLE, why


def why_nothing_ran(why: str, program: str, image: str, *, is_script: bool) -> str:
    """The same for people."""
    if "No such file" not in why:
        return f"cannot run {program} in image {image}: {why}"
    if not is_script:
        return f"command not found: {program}, in image {image}"
    return (
        f"image {image} has no {program} to run the script with: set `shell:` to a shell that it has, or to a "
        'program of its own with its arguments: `shell: [/program, "{script}"]`'
    )


def _state(seen: Seen) -> CommandState:
    if seen.is_lost:
        return "lost"
    if seen.ending:
        return seen.ending
    return "completed" if seen.exit_code == 0 and not seen.problem else "failed"


def _reason(seen: Seen, signal_number: int | None) -> str:
    if seen.problem:
        return seen.problem
    if seen.ending:
        return "it timed out" if seen.ending == "timeout" else "it was cancelled"
    if seen.out_of_memory and seen.exit_code != 0:
        return "it was killed because it exceeded its memory limit"
    if signal_number == signal.SIGTERM:
        return "it was killed by SIGTERM: its container or the container engine was stopped"
    if signal_number is not None:
        return f"it was killed by {signal.Signals(signal_number).name}"
    return f"it exited with code {seen.exit_code}" if seen.exit_code else ""
