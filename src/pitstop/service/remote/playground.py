"""The desk for the playground, on a server."""

from urllib.parse import quote

from msgspec.structs import asdict

from pitstop.service.caller import Caller
from pitstop.service.cards import CardInfo
from pitstop.service.playground import (
    Comparison,
    Diff,
    NewTrial,
    Patch,
    TrialBranch,
    TrialInfo,
    TrialPage,
)
from pitstop.service.remote.connection import Connection
from pitstop.service.remote.repos import repo_path


class RemotePlayground:
    """The Playground of a server."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def create(self, caller: Caller, request: NewTrial) -> tuple[TrialInfo, ...]:
        body = {"repo": request.repo, "profiles": request.profiles, "prompt": request.prompt}
        return await self._connection.post(
            "/trials", {**body, **asdict(request.settings)}, tuple[TrialInfo, ...], caller
        )

    async def list(
        self, caller: Caller, repo: str | None = None, cursor: str | None = None, limit: int = 50
    ) -> TrialPage:
        return await self._connection.get("/trials", TrialPage, repo=repo, cursor=cursor, limit=limit)

    async def get(self, caller: Caller, trial: str) -> TrialInfo:
        return await self._connection.get(_path(trial), TrialInfo)

    async def diff(self, caller: Caller, trial: str) -> Diff:
        return await self._connection.get(f"{_path(trial)}/diff", Diff)

    async def patch(self, caller: Caller, trial: str, path: str) -> Patch:
        return await self._connection.get(f"{_path(trial)}/patch", Patch, path=path)

    async def compare(self, caller: Caller, a: str, b: str) -> Comparison:
        return await self._connection.get("/trials/compare", Comparison, a=a, b=b)

    async def cancel(self, caller: Caller, trial: str) -> TrialInfo:
        return await self._connection.post(f"{_path(trial)}/cancel", None, TrialInfo, caller)

    async def save(self, caller: Caller, trial: str, name: str) -> TrialInfo:
        return await self._connection.post(f"{_path(trial)}/save", {"name": name}, TrialInfo, caller)

    async def again(self, caller: Caller, trial: str, group: str | None = None) -> TrialInfo:
        """Without the `group`: the server makes it of the key of the caller."""
        return await self._connection.post(f"{_path(trial)}/again", None, TrialInfo, caller)

    async def make_card(self, caller: Caller, trial: str, title: str) -> CardInfo:
        return await self._connection.post(f"{_path(trial)}/card", {"title": title}, CardInfo, caller)

    async def delete(self, caller: Caller, trial: str) -> None:
        await self._connection.ask("DELETE", _path(trial))

    async def branches(self, caller: Caller, repo: str) -> tuple[TrialBranch, ...]:
        return await self._connection.get(f"{repo_path(repo)}/trial-branches", tuple[TrialBranch, ...])


def _path(trial: str) -> str:
    return f"/trials/{quote(trial, safe='')}"
