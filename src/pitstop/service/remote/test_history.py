"""The desk for the tests of repositories, on a server."""

from pitstop.service.caller import Caller
from pitstop.service.remote.connection import Connection
from pitstop.service.remote.repos import repo_path
from pitstop.service.test_history import HistoryPage, StateFilter, TestPage, TestTotals


class RemoteTestHistory:
    """The TestHistory of a server."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def tests(
        self,
        caller: Caller,
        repo: str,
        *,
        ref: str | None = None,
        flow: str | None = None,
        state: StateFilter = "all",
        cursor: str | None = None,
        limit: int = 100,
    ) -> TestPage:
        asked = {"ref": ref, "flow": flow, "state": state, "cursor": cursor, "limit": limit}
        return await self._connection.get(f"{repo_path(repo)}/tests", TestPage, **asked)

    async def history(
        self,
        caller: Caller,
        repo: str,
        flow: str,
        step: str,
        case: str,
        *,
        ref: str | None = None,
        cursor: str | None = None,
        limit: int = 100,
    ) -> HistoryPage:
        asked = {"flow": flow, "step": step, "case": case, "ref": ref, "cursor": cursor, "limit": limit}
        return await self._connection.get(f"{repo_path(repo)}/tests/history", HistoryPage, **asked)

    async def trend(
        self, caller: Caller, repo: str, flow: str, *, ref: str | None = None, limit: int = 50
    ) -> tuple[TestTotals, ...]:
        asked = {"flow": flow, "ref": ref, "limit": limit}
        return await self._connection.get(f"{repo_path(repo)}/tests/trend", tuple[TestTotals, ...], **asked)
