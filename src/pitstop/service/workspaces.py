"""The desk for workspaces: shells in the steps of a run."""

from typing import Protocol, Unpack

from pitstop.runs.run_request import ShellMode, ShellOptions, ShellPlace, ShellRecord
from pitstop.service.caller import Caller

__all__ = ["ShellMode", "ShellPlace", "ShellRecord", "Terminal", "Workspaces"]


class Terminal(Protocol):
    """A shell on a true terminal, in the workspace of a run."""

    async def read(self) -> bytes:
        """What it says next; empty when it has ended."""
        ...

    async def write(self, data: bytes) -> None: ...

    def resize(self, rows: int, cols: int) -> None: ...

    async def close(self) -> None: ...


class Workspaces(Protocol):
    """The files and the environment of a run."""

    async def shell(self, caller: Caller, run: str, place: ShellPlace, **options: Unpack[ShellOptions]) -> Terminal:
        """A shell where a paused or running step works, with its environment; a sidecar sees the workspace read-only.

        In the mode `step` the command of a paused step runs in it instead, and its end is the step's outcome.
        Commands such as `@retry` that are entered in a shell are carried out, and end it. It ends with the run at the
        latest. What is to be recorded is an artifact of the run when the shell has ended, as an asciicast.
        """
        ...
