"""Secrets that a server stores: they can be written, listed and removed, but never read back."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from pitstop.errors import Unknown
from pitstop.service.caller import Caller, Record, record_nothing
from pitstop.service.secret_scopes import SecretRecord, check_secret, check_value, secrets_for

if TYPE_CHECKING:  # the command line lists secrets and opens none
    from pitstop.service.sealing import Seal


class SecretInfo(Struct, frozen=True):
    """A stored secret, which cannot be read back. Runs of `repos` may get it if its scope is `server`."""

    name: str
    scope: str
    repos: tuple[str, ...]
    created_at: float  # seconds since the epoch


class SecretStore(Protocol):
    """Where sealed secrets are stored, by name and scope."""

    async def all(self) -> Sequence[SecretRecord]:
        """By name and scope."""
        ...

    async def put(self, name: str, scope: str, sealed: bytes, repos: Sequence[str]) -> None: ...

    async def delete(self, name: str, scope: str) -> bool:
        """False if there is none."""
        ...


class Secrets:
    """Operators manage secrets (NotPermitted for others), and runs get the values that they may have."""

    def __init__(self, store: SecretStore, seal: "Seal", record: Record = record_nothing) -> None:
        self._store = store
        self._seal = seal
        self._record = record

    async def all(self, caller: Caller) -> tuple[SecretInfo, ...]:
        caller.require("operator")
        stored = await self._store.all()
        return tuple(SecretInfo(each.name, each.scope, each.repos, each.created_at) for each in stored)

    async def put(self, caller: Caller, name: str, scope: str, value: str, repos: Sequence[str]) -> None:
        """BadSecret if this cannot be stored."""
        caller.require("operator")
        check_secret(name, scope, repos)
        check_value(name, value)
        await self._store.put(name, scope, self._seal.close({name: value}), repos)
        await self._record(caller, "put_secret", None, {"name": name, "scope": scope})

    async def delete(self, caller: Caller, name: str, scope: str) -> None:
        """BadSecret; Unknown if there is none of that name and scope."""
        caller.require("operator")
        check_secret(name, scope)
        if not await self._store.delete(name, scope):
            raise Unknown("secret", name)
        await self._record(caller, "delete_secret", None, {"name": name, "scope": scope})

    async def names(self) -> set[str]:
        return {each.name for each in await self._store.all()}

    async def values_for(self, repo: str | None, flow: str | None, names: Collection[str]) -> dict[str, str]:
        """Those of these names that a run of this flow of this repository may have."""
        allowed = secrets_for(await self._store.all(), repo, flow)
        return {name: self._seal.open(each.sealed)[name] for name, each in allowed.items() if name in names}
