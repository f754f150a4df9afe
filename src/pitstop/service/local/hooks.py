"""The desk for webhooks, over the workshop of this server."""

import secrets
from collections.abc import Callable, Mapping

from msgspec.structs import asdict

from pitstop.engine.ports import Clock
from pitstop.errors import CommandRefused, TooMany, UnknownHook
from pitstop.platform.hook_values import HookRecord
from pitstop.platform.workshop import Workshop
from pitstop.service.caller import Caller, Record
from pitstop.service.hooks import Delivered, DeliveryInfo, HookInfo, Provider
from pitstop.service.sealing import Seal

MOST_HOOKS = 50  # of a repository
MOST_A_MINUTE = 60  # deliveries of a webhook

SECRET = "secret"


def open_secret(seal: Seal) -> Callable[[bytes], str]:
    """What opens the sealed secret of a webhook; SealBroken."""
    return lambda sealed: seal.open(sealed)[SECRET]


class HookDesk:
    """The Hooks of this server, and what takes deliveries."""

    def __init__(self, workshop: Workshop, seal: Seal, clock: Clock, record: Record) -> None:
        self._workshop = workshop
        self._seal = seal
        self._clock = clock
        self._record = record
        self._taken: dict[str, list[float]] = {}  # when deliveries came in the last minute, by webhook

    async def add(self, caller: Caller, repo: str, provider: Provider, flow: str | None = None) -> HookInfo:
        caller.require("operator")
        await self._workshop.repos.get(repo)
        if len(await self._workshop.hooks.of_repo(repo)) >= MOST_HOOKS:
            raise CommandRefused(f"repository {repo!r} has {MOST_HOOKS} webhooks, which is the limit: remove some")
        secret = secrets.token_urlsafe(32)
        hook = HookRecord(
            id=secrets.token_urlsafe(16),
            repo=repo,
            provider=provider,
            sealed_secret=self._seal.close({SECRET: secret}),
            created_at=self._clock.now(),
            flow=flow,
        )
        await self._workshop.hooks.add(hook)
        await self._record(caller, "add_hook", None, {"provider": provider, "flow": flow}, {"repo": repo})
        return _info(hook, secret)

    async def list(self, caller: Caller, repo: str) -> tuple[HookInfo, ...]:
        caller.require("operator")
        await self._workshop.repos.get(repo)
        return tuple(map(_info, await self._workshop.hooks.of_repo(repo)))

    async def set_enabled(self, caller: Caller, repo: str, hook: str, *, enabled: bool) -> HookInfo:
        caller.require("operator")
        await self._of(repo, hook)
        await self._workshop.hooks.set_enabled(hook, enabled)
        await self._record(caller, "switch_hook", None, {"enabled": enabled}, {"repo": repo})
        return _info(await self._of(repo, hook))

    async def remove(self, caller: Caller, repo: str, hook: str) -> None:
        caller.require("operator")
        await self._of(repo, hook)
        await self._workshop.hooks.remove(hook)
        await self._record(caller, "remove_hook", None, names={"repo": repo})

    async def deliveries(self, caller: Caller, repo: str, hook: str) -> tuple[DeliveryInfo, ...]:
        caller.require("operator")
        await self._of(repo, hook)
        return await self._workshop.hooks.newest(hook)

    async def deliver_again(self, caller: Caller, repo: str, hook: str, delivery: int) -> Delivered:
        caller.require("operator")
        again = await self._workshop.receiver.repeat(await self._of(repo, hook), delivery)
        self._workshop.wake()
        await self._record(caller, "deliver_again", None, {"delivery": delivery}, {"repo": repo})
        return again

    async def deliver(self, hook: str, headers: Mapping[str, str], body: bytes) -> Delivered:
        self._limit(hook)
        return await self._workshop.deliver(hook, headers, body)

    def _limit(self, hook: str) -> None:
        """TooMany when a webhook gets more than a sane sender sends."""
        now = self._clock.now()
        self._taken = {each: times for each, times in self._taken.items() if times[-1] > now - 60}
        recent = [each for each in self._taken.get(hook, []) if each > now - 60]
        if len(recent) >= MOST_A_MINUTE:
            raise TooMany(f"the webhook gets more than {MOST_A_MINUTE} deliveries in a minute: send it again later")
        self._taken[hook] = [*recent, now]

    async def _of(self, repo: str, hook: str) -> HookRecord:
        record = await self._workshop.hooks.get(hook)
        if record.repo != repo:
            raise UnknownHook(hook)
        return record


def _info(hook: HookRecord, secret: str | None = None) -> HookInfo:
    fields = {name: value for name, value in asdict(hook).items() if name != "sealed_secret"}
    return HookInfo(**fields, path=f"/hooks/{hook.id}", secret=secret)
