"""The desk for runs, on a server."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import msgspec

from pitstop.errors import NotRunning
from pitstop.runs.run_info import ENDED, RunInfo, RunPage, RunQuery
from pitstop.runs.run_request import RerunRequest, RunRequest
from pitstop.service.caller import Caller
from pitstop.service.remote.bodies import run_body
from pitstop.service.remote.connection import Background, Connection
from pitstop.service.remote.run import RemoteRun
from pitstop.service.wire import RunDetail


class RemoteRuns:
    """The Runs of a server."""

    def __init__(self, connection: Connection, background: Background) -> None:
        self._connection = connection
        self._background = background

    async def start(self, caller: Caller, request: RunRequest) -> RemoteRun:
        return await self._start(caller, "/runs", run_body(request, is_here=self._connection.is_here))

    async def rerun(self, caller: Caller, run: str, request: RerunRequest) -> RemoteRun:
        body: dict[str, Any] = msgspec.to_builtins(request)
        del body["run_id"], body["by"]  # the server knows both
        return await self._start(caller, f"{_path(run)}/rerun", body)

    async def _start(self, caller: Caller, path: str, body: dict[str, Any]) -> RemoteRun:
        started = await self._connection.post(path, body, RunInfo, caller, hear=True)
        return await self._found(started.id, heard_from=0)

    async def get(self, caller: Caller, run: str) -> RemoteRun:
        return await self._found(run)

    async def _found(self, run: str, heard_from: int | None = None) -> RemoteRun:
        detail = await self._connection.get(_path(run), RunDetail)
        return RemoteRun(self._connection, detail, self._background, heard_from)

    async def list(self, caller: Caller, query: RunQuery) -> RunPage:
        asked: dict[str, Any] = {name: getattr(query, name) for name in RunQuery.__struct_fields__}
        return await self._connection.get("/runs", RunPage, **(asked | {"status": [*query.status]}))

    async def pin(self, caller: Caller, run: str, *, pinned: bool = True) -> None:
        await self._connection.ask("POST", f"{_path(run)}/pin", {"pinned": pinned}, caller)

    async def delete(self, caller: Caller, run: str) -> None:
        await self._connection.ask("DELETE", _path(run))

    async def leave(self, caller: Caller, run: str) -> None:
        await self._found(run)  # UnknownRun; it is the server that has the run

    async def take_up(self, caller: Caller, run: str, secrets: Mapping[str, str]) -> RemoteRun:
        found = await self._found(run)
        if (await found.info()).status in ENDED:
            raise NotRunning
        return found

    async def answer(
        self, caller: Caller, run: str, occurrence: str, *, approved: bool, by: str = "", comment: str = ""
    ) -> None:
        path = f"{_path(run)}/questions/{quote(occurrence, safe='')}"
        await self._connection.ask("POST", path, {"approved": approved, "by": by, "comment": comment}, caller)

    async def cancel(self, caller: Caller, run: str, reason: str) -> None:
        await self._connection.ask("POST", f"{_path(run)}/cancel", {"reason": reason}, caller)

    async def kill(self, caller: Caller, run: str) -> None:
        await self._connection.ask("POST", f"{_path(run)}/cancel", {"now": True}, caller)


def _path(run: str) -> str:
    return f"/runs/{quote(run, safe='')}"
