"""What a door can say to the debugger of a run, and the plain values that it answers with, none with a secret in it."""

from typing import Protocol, TypeVar

from pitstop.runs import verbs
from pitstop.runs.file_changes import FileChanges, FileDiff
from pitstop.runs.run_request import BreakpointInfo, Request
from pitstop.runs.stop_info import (
    ContextInfo,
    DebugState,
    FrameInfo,
    FrameState,
    OutcomeInfo,
    PointInfo,
    StopInfo,
)
from pitstop.runs.variable_info import ChangeInfo, ConfigInfo, Evaluated, VariableInfo, VariablePage, WholeScope
from pitstop.runs.verb_table import VERB_OF, VERBS, Verb, fields_of

__all__ = [
    "VERBS",
    "VERB_OF",
    "BreakpointInfo",
    "ChangeInfo",
    "ConfigInfo",
    "ContextInfo",
    "DebugState",
    "Debugger",
    "Evaluated",
    "FileChanges",
    "FileDiff",
    "FrameInfo",
    "FrameState",
    "OutcomeInfo",
    "PointInfo",
    "Request",
    "StopInfo",
    "VariableInfo",
    "VariablePage",
    "Verb",
    "WholeScope",
    "fields_of",
    "verbs",
]

A = TypeVar("A")


class Debugger(Protocol):
    """The debugger of one run. A command is applied before it is answered, or refused whole with a CommandRefused.

    A stop is named by its id; one that is over is refused with StaleStop and nothing is changed.
    """

    async def say(self, request: Request[A]) -> A:
        """Say one verb of the table."""
        ...
