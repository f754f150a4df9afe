"""The desk for webhooks, on a server."""

from urllib.parse import quote

from pitstop.service.caller import Caller
from pitstop.service.hooks import Delivered, DeliveryInfo, HookInfo, Provider
from pitstop.service.remote.connection import Connection
from pitstop.service.remote.repos import repo_path


class RemoteHooks:
    """The Hooks of a server."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def add(self, caller: Caller, repo: str, provider: Provider, flow: str | None = None) -> HookInfo:
        body = {"provider": provider, "flow": flow}
        return await self._connection.post(f"{repo_path(repo)}/hooks", body, HookInfo, caller)

    async def list(self, caller: Caller, repo: str) -> tuple[HookInfo, ...]:
        return await self._connection.get(f"{repo_path(repo)}/hooks", tuple[HookInfo, ...])

    async def set_enabled(self, caller: Caller, repo: str, hook: str, *, enabled: bool) -> HookInfo:
        answered = await self._connection.ask("PUT", f"{_path(repo, hook)}/enabled", {"enabled": enabled})
        return self._connection.read(answered, HookInfo)

    async def remove(self, caller: Caller, repo: str, hook: str) -> None:
        await self._connection.ask("DELETE", _path(repo, hook))

    async def deliveries(self, caller: Caller, repo: str, hook: str) -> tuple[DeliveryInfo, ...]:
        return await self._connection.get(f"{_path(repo, hook)}/deliveries", tuple[DeliveryInfo, ...])

    async def deliver_again(self, caller: Caller, repo: str, hook: str, delivery: int) -> Delivered:
        return await self._connection.post(f"{_path(repo, hook)}/deliveries/{delivery}/again", None, Delivered, caller)


def _path(repo: str, hook: str) -> str:
    return f"{repo_path(repo)}/hooks/{quote(hook, safe='')}"
