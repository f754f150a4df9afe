"""Pitstop: runs multi-step work and lets you stop in it."""

from pitstop.app import Graph, GraphApp, RunResult
from pitstop.debugger.breakpoints import Breakpoint
from pitstop.debugger.session import Session
from pitstop.debugger.stops import Stop
from pitstop.definition.graph import END, START
from pitstop.errors import PitstopError
from pitstop.events.log import MemoryLog
from pitstop.events.outcome import Outcome, Status

__all__ = [
    "END",
    "START",
    "Breakpoint",
    "Graph",
    "GraphApp",
    "MemoryLog",
    "Outcome",
    "PitstopError",
    "RunResult",
    "Session",
    "Status",
    "Stop",
]
