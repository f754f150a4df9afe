"""The service of a server, over HTTP: the same protocol, so that a door does not know the difference."""

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote, urlsplit

import msgspec

from pitstop.errors import BadFlow, OtherVersion
from pitstop.runs.graph_targets import read_target
from pitstop.service.api import (
    BreakpointRequest,
    Finding,
    FlowInfo,
    RerunRequest,
    RunInfo,
    RunPage,
    RunQuery,
    RunRequest,
    StepTypeHelp,
    StoredFlow,
)
from pitstop.service.remote_http import Background, Connection
from pitstop.service.remote_run import RemoteRun
from pitstop.service.wire import CheckedFlow, FlowDetail, Me, RunDetail

FLOW_ENDINGS = (".yaml", ".yml")
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class RemoteService:
    """A Service. Entering it finds out whether the server is there, knows us, and is of our version.

    A flow's file and a run's folder are this machine's. To a server on this machine they are named; to another one the
    text of the file is sent, and the run has a fresh workspace there.
    """

    def __init__(self, url: str, token: str | None = None) -> None:
        self._connection = Connection(url, token)
        self._is_here = urlsplit(url).hostname in LOOPBACK
        self._background = Background()

    async def __aenter__(self) -> Self:
        try:
            me = await self._connection.get("/me", Me)
        except BaseException:
            await self._connection.close()
            raise
        ours = version("pitstop")
        if me.version.split(".")[:2] != ours.split(".")[:2]:
            await self._connection.close()
            raise OtherVersion(self._connection.url, me.version, ours)
        await self._background.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        """Listen no more. The runs go on: they are the server's."""
        await self._background.__aexit__(*error)
        await self._connection.close()

    # Flows

    async def check(self, flow: str, text: str | None = None) -> FlowInfo:
        checked = await self._connection.post("/flows/check", self._choice(flow, text), CheckedFlow)
        if checked.flow is None:
            raise BadFlow(checked.mistakes)
        return checked.flow

    async def resolve(self, request: RunRequest) -> FlowInfo:
        return await self._connection.post("/flows/resolve", self._body(request), FlowInfo)

    async def flows(self) -> tuple[StoredFlow, ...]:
        return await self._connection.get("/flows", tuple[StoredFlow, ...])

    async def flow_text(self, name: str) -> str:
        return (await self._connection.get(f"/flows/{quote(name, safe='')}", FlowDetail)).text

    async def flow_breakpoints(self, flow: str) -> tuple[BreakpointRequest, ...]:
        path = f"/flows/{quote(self._flow_key(flow), safe='')}/breakpoints"
        return await self._connection.get(path, tuple[BreakpointRequest, ...])

    async def keep_flow_breakpoints(self, flow: str, breakpoints: Sequence[BreakpointRequest]) -> None:
        await self._connection.ask(
            "PUT", f"/flows/{quote(self._flow_key(flow), safe='')}/breakpoints", list(breakpoints)
        )

    async def schema(self) -> dict[str, Any]:
        return await self._connection.get("/flows/schema", dict[str, Any])

    async def step_types(self) -> tuple[StepTypeHelp, ...]:
        return await self._connection.get("/steps", tuple[StepTypeHelp, ...])

    async def step_type(self, name: str) -> StepTypeHelp:
        return await self._connection.get(f"/steps/{quote(name, safe='')}", StepTypeHelp)

    async def examine(self) -> tuple[Finding, ...]:
        return await self._connection.get("/doctor", tuple[Finding, ...])

    # Runs

    async def start(self, request: RunRequest) -> RemoteRun:
        started = await self._connection.post("/runs", self._body(request), RunInfo, hear=True)
        return await self._found(started.id, heard_from=0)

    async def rerun(self, run: str, request: RerunRequest) -> RemoteRun:
        path = f"/runs/{quote(run, safe='')}/rerun"
        body: dict[str, Any] = msgspec.to_builtins(request)
        del body["run_id"]  # the server chooses it
        started = await self._connection.post(path, body, RunInfo, hear=True)
        return await self._found(started.id, heard_from=0)

    async def run(self, run: str) -> RemoteRun:
        return await self._found(run)

    async def _found(self, run: str, heard_from: int | None = None) -> RemoteRun:
        detail = await self._connection.get(f"/runs/{quote(run, safe='')}", RunDetail)
        return RemoteRun(self._connection, detail, self._background, heard_from)

    async def runs(self, query: RunQuery) -> RunPage:
        asked = {"status": list(query.status), "flow": query.flow, "search": query.search}
        return await self._connection.get("/runs", RunPage, **asked, cursor=query.cursor, limit=query.limit)

    async def pin(self, run: str, *, pinned: bool = True) -> None:
        await self._connection.ask("POST", f"/runs/{quote(run, safe='')}/pin", {"pinned": pinned})

    async def delete(self, run: str) -> None:
        await self._connection.ask("DELETE", f"/runs/{quote(run, safe='')}")

    # What is this machine's

    def _choice(self, flow: str, text: str | None) -> dict[str, str]:
        """How the server is told which flow is meant."""
        if text is not None:
            return {"text": text, "name": flow}
        path = Path(flow)
        if path.is_file() and not self._is_here:
            return {"text": path.read_text(encoding="utf-8"), "name": path.name}
        if path.suffix in FLOW_ENDINGS or path.is_file():
            return {"path": str(path.absolute())}
        if read_target(flow) is not None:  # which the server refuses, and says why
            return {"path": flow}
        return {"name": flow}

    def _flow_key(self, flow: str) -> str:
        return str(Path(flow).absolute()) if Path(flow).is_file() else flow

    def _body(self, request: RunRequest) -> dict[str, Any]:
        folder = str(Path(request.folder).absolute()) if request.folder is not None and self._is_here else None
        body: dict[str, Any] = msgspec.to_builtins(replace(request, folder=folder))
        del body["text"], body["run_id"]  # the server chooses the id
        return {**body, "flow": self._choice(request.flow, request.text)}
