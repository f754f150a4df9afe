"""The desk for flows: what is written in them, which are stored, and what steps can do on this machine."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from pitstop.runs.flow_info import FlowInfo, StepInfo
from pitstop.runs.graph_targets import read_target
from pitstop.runs.repositories import read_address
from pitstop.runs.run_request import BreakpointRequest, RunRequest
from pitstop.service.caller import Caller

__all__ = ["Finding", "FlowInfo", "Flows", "StepInfo", "StepTypeHelp", "StoredFlow", "read_address", "read_target"]


class StoredFlow(Struct, frozen=True):
    """A flow that can be started by name: a file in one of the service's flow folders."""

    name: str
    file: str
    problem: str | None = None  # why it cannot run, if that is so


class StepTypeHelp(Struct, frozen=True):
    """A step type or a control-flow construct: one line, and the full description.

    `config` is the JSON Schema of its config, for forms; None for a control-flow construct, which contains steps.
    """

    name: str
    summary: str
    usage: str
    text: str
    config: Mapping[str, Any] | None = None


class Finding(Struct, frozen=True):
    """One check of this machine's setup. `is_needed` is False for what is optional."""

    name: str
    works: bool
    detail: str
    is_needed: bool = True


class Flows(Protocol):
    """Questions about flows and about the machine. Only storing breakpoints needs an operator."""

    async def check(
        self, caller: Caller, flow: str, text: str | None = None, *, repo: str | None = None, ref: str | None = None
    ) -> FlowInfo:
        """The flow in a file, in a text, or in a repository; BadFlow with every mistake in it."""
        ...

    async def resolve(self, caller: Caller, request: RunRequest) -> FlowInfo:
        """The flow as it would run, each step with what it does as far as the inputs decide that."""
        ...

    async def list(self, caller: Caller) -> tuple[StoredFlow, ...]: ...

    async def text(self, caller: Caller, name: str) -> str:
        """The text of a stored flow; UnknownFlow."""
        ...

    async def breakpoints(self, caller: Caller, flow: str) -> tuple[BreakpointRequest, ...]:
        """The breakpoints that are stored with a flow, for its next run that is debugged."""
        ...

    async def store_breakpoints(self, caller: Caller, flow: str, breakpoints: Sequence[BreakpointRequest]) -> None:
        """BadBreakpoint for one whose jq is invalid."""
        ...

    async def check_breakpoints(
        self, caller: Caller, breakpoints: Sequence[BreakpointRequest]
    ) -> tuple[str | None, ...]:
        """What is wrong with the jq of each breakpoint, before there is a run to add it to; None if it is valid."""
        ...

    async def schema(self, caller: Caller) -> dict[str, Any]:
        """The JSON Schema of flow files."""
        ...

    async def step_types(self, caller: Caller) -> tuple[StepTypeHelp, ...]: ...

    async def step_type(self, caller: Caller, name: str) -> StepTypeHelp:
        """UnknownStepType when there is none of that name."""
        ...

    async def examine(self, caller: Caller) -> tuple[Finding, ...]:
        """What works on this machine, and what is missing."""
        ...
