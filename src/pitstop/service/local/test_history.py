"""The desk for the tests of repositories, over the workshop of this server."""

from pitstop.platform.workshop import Workshop
from pitstop.service.caller import Caller
from pitstop.service.test_history import HistoryPage, StateFilter, TestPage, TestTotals


class TestDesk:
    """The TestHistory of this server."""

    __test__ = False

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop

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
        at = await self._ref(repo, ref)
        return await self._workshop.tests.tests_of(repo, at, flow=flow, state=state, cursor=cursor, limit=limit)

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
        await self._workshop.repos.get(repo)
        return await self._workshop.tests.history(repo, flow, step, case, ref=ref, cursor=cursor, limit=limit)

    async def trend(
        self, caller: Caller, repo: str, flow: str, *, ref: str | None = None, limit: int = 50
    ) -> tuple[TestTotals, ...]:
        return await self._workshop.tests.trend(repo, await self._ref(repo, ref), flow, limit)

    async def _ref(self, repo: str, ref: str | None) -> str:
        return ref or (await self._workshop.repos.get(repo)).default_branch
