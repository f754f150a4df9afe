"""The desk for webhooks: where other servers tell of their events."""

from collections.abc import Mapping
from typing import Protocol

from pitstop.platform.hook_values import Delivered, DeliveryInfo, HookInfo
from pitstop.platform.triggers.payload_facts import Provider
from pitstop.service.caller import Caller

__all__ = ["MOST_BODY_BYTES", "Delivered", "DeliveryInfo", "HookInfo", "Hooks", "Provider"]

MOST_BODY_BYTES = 25 * 1024 * 1024


class Hooks(Protocol):
    """Webhooks of repositories. All but `deliver` need an operator; UnknownRepo, UnknownHook."""

    async def add(self, caller: Caller, repo: str, provider: Provider, flow: str | None = None) -> HookInfo:
        """A new webhook, for all flows or for one. Its secret is shown only here."""
        ...

    async def list(self, caller: Caller, repo: str) -> tuple[HookInfo, ...]: ...

    async def set_enabled(self, caller: Caller, repo: str, hook: str, *, enabled: bool) -> HookInfo: ...

    async def remove(self, caller: Caller, repo: str, hook: str) -> None: ...

    async def deliveries(self, caller: Caller, repo: str, hook: str) -> tuple[DeliveryInfo, ...]:
        """The last 50, the newest first."""
        ...

    async def deliver_again(self, caller: Caller, repo: str, hook: str, delivery: int) -> Delivered:
        """Take a stored delivery again, whatever it has started before; BadRequest."""
        ...


class HookServer(Protocol):
    """What takes deliveries: the secret of the webhook says who it is, and there is no caller."""

    async def deliver(self, hook: str, headers: Mapping[str, str], body: bytes) -> Delivered:
        """UnknownHook, BadSignature, BadRequest, TooMany."""
        ...
