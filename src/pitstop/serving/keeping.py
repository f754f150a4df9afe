"""What the HTTP door asks for beside the service, kept in the server's database."""

import secrets as randomness
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from pitstop.doors.http.gate.access import KeptToken
from pitstop.doors.http.gate.ports import Deed, Figures, Remembered
from pitstop.doors.http.gate.token_files import OWNER, TokenFiles
from pitstop.errors import BadCursor, PitstopError, Unknown
from pitstop.service.sealing import Seal
from pitstop.service.server import ServerService
from pitstop.service.wire import AuditEntry, AuditPage, SecretInfo
from pitstop.store.sql.store import SqlStore

SESSION_KEY = "session_key"
LOGGED_OUT = "logged_out:"  # and the session
EVERYBODY = ""  # a key belongs to nobody: the door has put whoever asked into it


class StoredAudit:
    """Who did what, for good."""

    def __init__(self, store: SqlStore) -> None:
        self._store = store

    async def record(self, deeds: Sequence[Deed]) -> None:
        await self._store.add_audit((each.at, each.who, each.action, each.run, each.detail) for each in deeds)

    async def page(self, *, run: str | None = None, cursor: str | None = None, limit: int = 100) -> AuditPage:
        if cursor is not None and not (cursor.isascii() and cursor.isdigit()):
            raise BadCursor(cursor)
        found = await self._store.audit(run, before=None if cursor is None else int(cursor), limit=limit + 1)
        shown = found[:limit]
        entries = (AuditEntry(each.id, each.at, each.who, each.action, each.run, each.detail) for each in shown)
        return AuditPage(tuple(entries), str(shown[-1].id) if len(found) > limit else None)


class StoredAnswers:
    """An Idempotency that outlives the server."""

    def __init__(self, store: SqlStore) -> None:
        self._store = store

    async def recall(self, key: str) -> Remembered | None:
        kept = await self._store.recall(key, EVERYBODY)
        return None if kept is None else msgspec.msgpack.decode(kept.response, type=Remembered)

    async def reserve(self, key: str, answer: Remembered) -> Remembered:
        await self._store.reserve_answer(key, EVERYBODY, answer.request.encode(), msgspec.msgpack.encode(answer))
        return await self.recall(key) or answer

    async def remember(self, key: str, answer: Remembered) -> None:
        await self._store.remember(key, EVERYBODY, answer.request.encode(), msgspec.msgpack.encode(answer))

    async def forget(self, key: str) -> None:
        await self._store.forget_answer(key, EVERYBODY)


class StoredSecrets:
    """Secrets that are sealed before they are kept."""

    def __init__(self, store: SqlStore, seal: Seal) -> None:
        self._store = store
        self._seal = seal

    async def all(self) -> tuple[SecretInfo, ...]:
        stored = await self._store.secrets()
        return tuple(SecretInfo(each.name, each.scope, each.repos, each.created_at) for each in stored)

    async def put(self, name: str, scope: str, value: str, repos: Sequence[str]) -> None:
        await self._store.put_secret(name, scope, self._seal.close({name: value}), repos)

    async def delete(self, name: str, scope: str) -> None:
        if not await self._store.delete_secret(name, scope):
            raise Unknown("secret", name)


class StoredTokens:
    """A TokenKeeper: the owner's token is in a file of this machine, those of others are in the database as digests."""

    def __init__(self, store: SqlStore, seal: Seal, token_file: Path) -> None:
        self._store = store
        self._seal = seal
        self._own = TokenFiles(token_file)
        self._session_key: bytes | None = None

    async def all(self) -> tuple[KeptToken, ...]:
        owner = [each for each in await self._own.all() if each.name == OWNER]
        others = await self._store.tokens()
        return (*owner, *(KeptToken(each.name, each.role, each.hash.hex(), each.created_at) for each in others))  # type: ignore[arg-type]

    async def add(self, token: KeptToken) -> None:
        await self._store.put_token(token.name, token.role, bytes.fromhex(token.digest))

    async def remove(self, name: str) -> None:
        if name == OWNER:
            await self._own.remove(name)
        else:
            await self._store.delete_token(name)

    async def session_key(self) -> bytes:
        """Sealed in the database, so that all servers on it take each other's cookies."""
        if self._session_key is None:
            fresh = self._seal.close({SESSION_KEY: randomness.token_hex(32)}).decode()
            sealed = await self._store.settle_setting(SESSION_KEY, fresh)
            self._session_key = bytes.fromhex(self._seal.open(sealed.encode())[SESSION_KEY])
        return self._session_key

    async def log_out(self, session: str, until: float) -> None:
        for old, over_at in (await self._store.settings_under(LOGGED_OUT)).items():
            if over_at < time.time():
                await self._store.delete_setting(LOGGED_OUT + old)
        await self._store.write_setting(LOGGED_OUT + session, until)

    async def logged_out(self) -> frozenset[str]:
        return frozenset(await self._store.settings_under(LOGGED_OUT))


class ServerOperations:
    """How the server is doing."""

    def __init__(self, service: ServerService, store: SqlStore) -> None:
        self._service = service
        self._store = store

    async def figures(self) -> Figures:
        service = self._service
        return Figures(
            runs=await self._store.count_runs(),
            waiting=service.slots.waiting,
            slots=service.slots.slots,
            slots_taken=service.slots.working,
            stops=service.waiting_stops,
            events=service.events_appended,
        )

    async def trouble(self) -> str | None:
        if not self._service.is_ready:
            return "the server is starting or shutting down"
        try:
            await self._store.read_setting(SESSION_KEY)
        except PitstopError as error:
            return f"the database does not answer: {error}"
        return None
