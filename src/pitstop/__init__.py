"""Pitstop: a workflow engine with a built-in debugger.

The names below are the public API. Each is loaded when it is first used, so `import pitstop` costs next to nothing.
"""

from importlib import import_module

TYPE_CHECKING = False  # that of `typing`, whose own import takes longer than all else here
if TYPE_CHECKING:
    from typing import Any

    from pitstop.debugger.breakpoints import Breakpoint
    from pitstop.debugger.session import Session
    from pitstop.debugger.stops import Stop
    from pitstop.definition.graph import END, START
    from pitstop.errors import PitstopError
    from pitstop.events.log import MemoryLog
    from pitstop.events.outcome import Outcome, Status
    from pitstop.library import Graph, run_flow
    from pitstop.runs.in_memory import GraphApp, RunResult

_HOMES = {
    "END": "pitstop.definition.graph",
    "START": "pitstop.definition.graph",
    "Breakpoint": "pitstop.debugger.breakpoints",
    "Graph": "pitstop.library",
    "GraphApp": "pitstop.runs.in_memory",
    "MemoryLog": "pitstop.events.log",
    "Outcome": "pitstop.events.outcome",
    "PitstopError": "pitstop.errors",
    "RunResult": "pitstop.runs.in_memory",
    "Session": "pitstop.debugger.session",
    "Status": "pitstop.events.outcome",
    "Stop": "pitstop.debugger.stops",
    "run_flow": "pitstop.library",
}

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
    "run_flow",
]


def __getattr__(name: str) -> "Any":
    if name not in _HOMES:
        raise AttributeError(f"module 'pitstop' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
