"""The desk for the flows of repositories, on a server."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from pitstop.service.caller import Caller
from pitstop.service.remote.connection import Connection
from pitstop.service.remote.repos import repo_path
from pitstop.service.repos import FiringInfo, FiringPage, RepoFlowInfo, RepoFlowText, RepoInfo


class RemoteTriggers:
    """The Triggers of a server."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def flows(self, caller: Caller, repo: str, ref: str | None = None) -> tuple[RepoFlowInfo, ...]:
        return await self._connection.get(f"{repo_path(repo)}/flows", tuple[RepoFlowInfo, ...], ref=ref)

    async def flow(self, caller: Caller, repo: str, flow: str, ref: str | None = None) -> RepoFlowText:
        return await self._connection.get(_flow_path(repo, flow), RepoFlowText, ref=ref)

    async def fire(
        self, caller: Caller, repo: str, flow: str, ref: str | None = None, inputs: Mapping[str, Any] | None = None
    ) -> FiringInfo:
        body = {"ref": ref, "inputs": dict(inputs or {})}
        return await self._connection.post(f"{_flow_path(repo, flow)}/fire", body, FiringInfo, caller)

    async def fire_again(self, caller: Caller, repo: str, firing: int) -> FiringInfo:
        return await self._connection.post(f"{repo_path(repo)}/firings/{firing}/again", None, FiringInfo, caller)

    async def firings(
        self, caller: Caller, repo: str, flow: str | None = None, cursor: str | None = None, limit: int = 50
    ) -> FiringPage:
        asked = {"flow": flow, "cursor": cursor, "limit": limit}
        return await self._connection.get(f"{repo_path(repo)}/firings", FiringPage, **asked)

    async def set_enabled(self, caller: Caller, repo: str, flows: Sequence[str], *, enabled: bool) -> RepoInfo:
        info = await self._connection.get(repo_path(repo), RepoInfo)
        for flow in flows:
            answered = await self._connection.ask("PUT", f"{_flow_path(repo, flow)}/enabled", {"enabled": enabled})
            info = self._connection.read(answered, RepoInfo)
        return info


def _flow_path(repo: str, flow: str) -> str:
    return f"{repo_path(repo)}/flows/{quote(flow, safe='')}"
