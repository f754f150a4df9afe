"""The desk for flows, on a server."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pitstop.errors import BadFlow
from pitstop.runs.run_request import BreakpointRequest, RunRequest
from pitstop.service.caller import Caller
from pitstop.service.flows import Finding, FlowInfo, StepTypeHelp, StoredFlow
from pitstop.service.remote.bodies import flow_choice, run_body
from pitstop.service.remote.connection import Connection
from pitstop.service.wire import CheckedFlow, FlowDetail


class RemoteFlows:
    """The Flows of a server."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def check(
        self, caller: Caller, flow: str, text: str | None = None, *, repo: str | None = None, ref: str | None = None
    ) -> FlowInfo:
        choice = flow_choice(flow, text, is_here=self._connection.is_here)
        if repo is not None:
            choice = {"repo": repo, "name": flow, **({} if ref is None else {"ref": ref})}
        checked = await self._connection.post("/flows/check", choice, CheckedFlow)
        if checked.flow is None:
            raise BadFlow(checked.mistakes)
        return checked.flow

    async def resolve(self, caller: Caller, request: RunRequest) -> FlowInfo:
        body = run_body(request, is_here=self._connection.is_here)
        return await self._connection.post("/flows/resolve", body, FlowInfo)

    async def list(self, caller: Caller) -> tuple[StoredFlow, ...]:
        return await self._connection.get("/flows", tuple[StoredFlow, ...])

    async def text(self, caller: Caller, name: str) -> str:
        return (await self._connection.get(f"/flows/{quote(name, safe='')}", FlowDetail)).text

    async def breakpoints(self, caller: Caller, flow: str) -> tuple[BreakpointRequest, ...]:
        return await self._connection.get(_breakpoints_of(flow), tuple[BreakpointRequest, ...])

    async def store_breakpoints(self, caller: Caller, flow: str, breakpoints: Sequence[BreakpointRequest]) -> None:
        await self._connection.ask("PUT", _breakpoints_of(flow), tuple(breakpoints))

    async def check_breakpoints(
        self, caller: Caller, breakpoints: Sequence[BreakpointRequest]
    ) -> tuple[str | None, ...]:
        body = tuple(breakpoints)
        return await self._connection.post("/flows/breakpoints/check", body, tuple[str | None, ...])

    async def schema(self, caller: Caller) -> dict[str, Any]:
        return await self._connection.get("/flows/schema", dict[str, Any])

    async def step_types(self, caller: Caller) -> tuple[StepTypeHelp, ...]:
        return await self._connection.get("/steps", tuple[StepTypeHelp, ...])

    async def step_type(self, caller: Caller, name: str) -> StepTypeHelp:
        return await self._connection.get(f"/steps/{quote(name, safe='')}", StepTypeHelp)

    async def examine(self, caller: Caller) -> tuple[Finding, ...]:
        return await self._connection.get("/doctor", tuple[Finding, ...])


def _breakpoints_of(flow: str) -> str:
    key = str(Path(flow).absolute()) if Path(flow).is_file() else flow
    return f"/flows/{quote(key, safe='')}/breakpoints"
