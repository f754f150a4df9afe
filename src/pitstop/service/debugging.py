"""The desk for debugging: what can be said to the debugger of a run, and the plain values that it answers with."""

from typing import Protocol, TypeVar

from msgspec import Struct

from pitstop.runs import verbs
from pitstop.runs.file_changes import FileChanges, FileDiff
from pitstop.runs.run_request import BreakpointInfo, Request
from pitstop.runs.stop_info import (
    ContextInfo,
    DebugState,
    FrameInfo,
    PointInfo,
    StopInfo,
    ToolCallInfo,
    WayInfo,
)
from pitstop.runs.variable_info import ChangeInfo, ConfigInfo, Evaluated, VariableInfo, VariablePage, WholeScope
from pitstop.runs.verb_table import VERBS, Verb
from pitstop.service.caller import Caller

__all__ = [
    "VERBS",
    "BreakpointInfo",
    "ChangeInfo",
    "ConfigInfo",
    "ContextInfo",
    "DebugState",
    "Debugger",
    "Debugging",
    "Evaluated",
    "FileChanges",
    "FileDiff",
    "FrameInfo",
    "PointInfo",
    "Request",
    "StopInfo",
    "ToolCallInfo",
    "VariableInfo",
    "VariablePage",
    "Verb",
    "WayInfo",
    "WholeScope",
    "verbs",
]

A = TypeVar("A")


class Debugging(Protocol):
    """The debuggers of runs. A command is applied before it is answered, or refused whole with a CommandRefused.

    A stop is named by its id; one that is over is refused with StaleStop and nothing is changed.
    """

    async def say(self, caller: Caller, run: str, request: Request[A]) -> A:
        """Say one verb of the table. One that is not a GET needs an operator."""
        ...


class Debugger(Struct, frozen=True):
    """The debugger of one run, for a door that speaks to it for long."""

    desk: Debugging
    caller: Caller
    run: str

    async def say(self, request: Request[A]) -> A:
        return await self.desk.say(self.caller, self.run, request)
