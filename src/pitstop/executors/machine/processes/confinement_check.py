"""Whether this machine can confine commands, which is tried before the first of them."""

import os
from collections.abc import Callable
from pathlib import Path

from pitstop.engine.executor import CommandResult
from pitstop.errors import Unavailable
from pitstop.executors.machine.processes.confined import NEEDED, Confinement
from pitstop.executors.machine.processes.held_workspace import HeldWorkspace
from pitstop.executors.machine.processes.result import result_of
from pitstop.executors.machine.processes.spawn import Request
from pitstop.executors.machine.processes.supervisors import Supervisors


class ConfinementCheck:
    """Tries each kind of confinement once."""

    def __init__(self, supervisors: Supervisors) -> None:
        self._supervisors = supervisors
        self._failures: dict[str, str] = {}  # by kind; empty if it can be had

    async def why_not(self, confinement: Confinement, held: HeldWorkspace, check_held: Callable[[], None]) -> str:
        """Why nothing can be confined like that here; nothing if it can. Raises Unavailable, or what `check_held` does.

        A workspace that was released meanwhile tells nothing of the machine.
        """
        for kind, tried in confinement.kinds(tuple(held.roots())).items():
            if kind not in self._failures:
                result, said = await self._try(tried, f"{held.workspace.logs}/.{os.urandom(4).hex()}")
                check_held()
                if result.state == "lost":
                    raise Unavailable(f"could not check for {kind}: {result.reason}")
                self._failures[kind] = "" if result.state == "completed" else said or result.reason
            if self._failures[kind]:
                return f"{kind} needs {NEEDED}, and that failed: {self._failures[kind]}"
        return ""

    async def _try(self, confinement: Confinement, log: str) -> tuple[CommandResult, str]:
        request = Request(log=log, argv=confinement.argv(b"/"), env={}, cwd=b"/")
        try:
            result = result_of(await self._supervisors.start(request).wait_ended())
        except OSError as error:
            raise Unavailable(f"could not start a supervisor for a confined command: {error}") from error
        return result, _text_of(log).removeprefix("pitstop: ")


def _text_of(log: str) -> str:
    """What a command wrote, which may be nothing; for a few lines of an error."""
    try:
        return Path(log).read_text(errors="replace").strip()
    except FileNotFoundError:
        return ""
