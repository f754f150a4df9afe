"""Access: tokens for programs; for browsers a one-time login code and then a signed session."""

import asyncio
import base64
import binascii
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Collection
from typing import Protocol

from msgspec import Struct

from pitstop.errors import CommandRefused, Unknown
from pitstop.service.caller import Caller, Record, Role, Scope, record_nothing

OWNER = "owner"
SESSION_SECONDS = 7 * 24 * 3600
CODE_SECONDS = 300
MOST_CODES = 1000
KNOWN_FOR_SECONDS = 2.0  # how long a token that another server revoked may still be accepted


class TokenInfo(Struct, frozen=True):
    """The owner of a token; the token itself is not stored."""

    name: str
    role: Role
    created_at: float
    scope: Scope = "all"
    repo: str | None = None
    expires_at: float | None = None


class NewToken(Struct, frozen=True):
    """A new token: it is shown only once."""

    name: str
    role: Role
    token: str
    scope: Scope = "all"
    repo: str | None = None
    expires_at: float | None = None


class TokenRecord(Struct, frozen=True):
    """A token as it is stored: only its SHA-256."""

    name: str
    role: Role
    digest: str
    created_at: float
    scope: Scope = "all"
    repo: str | None = None
    expires_at: float | None = None


class TokenStore(Protocol):
    """Where tokens are stored."""

    async def all(self) -> tuple[TokenRecord, ...]: ...

    async def add(self, token: TokenRecord) -> None: ...

    async def remove(self, name: str) -> None: ...

    async def session_key(self) -> bytes:
        """What sessions are signed with; it stays the same after a restart."""
        ...

    async def log_out(self, session: str, until: float) -> None:
        """Remember that a session has ended, until it would have expired anyway."""
        ...

    async def logged_out(self) -> Collection[str]:
        """The sessions that were ended before they expired."""
        ...


def digest_of(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


class Access:
    """Identifies callers, and lets operators manage tokens (NotPermitted for others)."""

    def __init__(self, store: TokenStore, record: Record = record_nothing) -> None:
        self._store = store
        self._record = record
        self._now = time.time
        self._codes: dict[str, tuple[str, float]] = {}  # by the digest of the code: the token, and when it expires
        self._known: tuple[float, tuple[TokenRecord, ...], Collection[str]] | None = None
        self._changes = 0
        self._changing = asyncio.Lock()  # between reading the tokens and changing them

    async def who(
        self, *, bearer: str | None = None, session: str | None = None, key: str | None = None
    ) -> Caller | None:
        """The caller with this token or session; None if it is unknown or has ended. `key` is the one of the call."""
        if bearer is not None:
            token = _find(await self._tokens(), "digest", digest_of(bearer))
        elif session is not None:
            token = await self._of_session(session)
        else:
            return None
        if token is None or (token.expires_at is not None and token.expires_at <= self._now()):
            return None
        return Caller(token.name, token.role, key, token.scope, token.repo)

    # Sessions

    def new_login_code(self, name: str = OWNER) -> str:
        """A code that starts a session of the owner of that token: once, and within five minutes."""
        code = secrets.token_urlsafe(32)
        now = self._now()
        self._codes = {each: known for each, known in self._codes.items() if known[1] > now}
        while len(self._codes) >= MOST_CODES:
            del self._codes[next(iter(self._codes))]
        self._codes[digest_of(code)] = (name, now + CODE_SECONDS)
        return code

    async def add_login_code(self, caller: Caller) -> str:
        """The same, for the caller: the session has the caller's role."""
        code = self.new_login_code(caller.name)
        await self._record(caller, "new_login_link", None)
        return code

    async def login(self, code: str) -> str | None:
        """A new session; None for a code that was used, is too old or was never given."""
        name, ends_at = self._codes.pop(digest_of(code), ("", 0.0))
        token = _find(await self._tokens(), "name", name)
        if ends_at <= self._now() or token is None:
            return None
        content = json.dumps([_mark_of(token), self._now() + SESSION_SECONDS, secrets.token_hex(8)])
        payload = base64.urlsafe_b64encode(content.encode()).decode()
        return f"{payload}.{await self._signature(payload)}"

    async def logout(self, session: str) -> None:
        if await self._of_session(session) is not None:
            await self._store.log_out(session.rpartition(".")[2], self._now() + SESSION_SECONDS)
            self._forget()

    async def _of_session(self, session: str) -> TokenRecord | None:
        payload, _, signature = session.rpartition(".")
        expected = await self._signature(payload)
        if not hmac.compare_digest(signature.encode(), expected.encode()):
            return None
        try:
            mark, ends_at, _ = json.loads(base64.urlsafe_b64decode(payload))
        except (ValueError, binascii.Error):
            return None
        tokens, logged_out = await self._lookup()
        if ends_at <= self._now() or signature in logged_out:
            return None
        return next((each for each in tokens if _mark_of(each) == mark), None)

    async def _signature(self, payload: str) -> str:
        return hmac.new(await self._store.session_key(), payload.encode(), hashlib.sha256).hexdigest()

    # Tokens

    async def tokens(self, caller: Caller) -> tuple[TokenInfo, ...]:
        caller.require("operator")
        stored = await self._store.all()
        return tuple(TokenInfo(**{field: getattr(each, field) for field in _SHOWN}) for each in stored)

    async def add_token(
        self,
        caller: Caller,
        name: str,
        role: Role,
        *,
        scope: Scope = "all",
        repo: str | None = None,
        lasts_seconds: float | None = None,
    ) -> NewToken:
        """CommandRefused when the name is taken, or the scope does not fit the role or the repository."""
        caller.require("operator")
        _check_scope(role, scope, repo)
        expires_at = None if lasts_seconds is None else self._now() + lasts_seconds
        async with self._changing:
            if _find(await self._store.all(), "name", name) is not None:
                raise CommandRefused(f"token {name!r} already exists: choose another name, or remove that token")
            token = secrets.token_urlsafe(32)
            await self._store.add(TokenRecord(name, role, digest_of(token), self._now(), scope, repo, expires_at))
            self._forget()
        await self._record(caller, "add_token", None, {"name": name, "role": role, "scope": scope, "repo": repo})
        return NewToken(name, role, token, scope, repo, expires_at)

    async def remove_token(self, caller: Caller, name: str) -> None:
        """Revoke a token, with its sessions. Unknown when there is none; CommandRefused for the last operator."""
        caller.require("operator")
        async with self._changing:
            stored = await self._store.all()
            if _find(stored, "name", name) is None:
                raise Unknown("token", name)
            if not any(_is_operator(each) and each.name != name for each in stored):
                raise CommandRefused(f"{name!r} is the last operator token: create another one first")
            await self._store.remove(name)
            self._forget()
        await self._record(caller, "remove_token", None, {"name": name})

    async def _tokens(self) -> tuple[TokenRecord, ...]:
        return (await self._lookup())[0]

    async def _lookup(self) -> tuple[tuple[TokenRecord, ...], Collection[str]]:
        """The tokens, and the sessions that were logged out."""
        now = time.monotonic()
        if self._known is not None and self._known[0] >= now:
            return self._known[1:]
        changes = self._changes
        found = await self._store.all(), await self._store.logged_out()
        if changes == self._changes:  # what was read before a change is outdated
            self._known = (now + KNOWN_FOR_SECONDS, *found)
        return found

    def _forget(self) -> None:
        self._changes += 1
        self._known = None


_SHOWN = TokenInfo.__struct_fields__


def _is_operator(token: TokenRecord) -> bool:
    return token.role == "operator" and token.scope == "all" and token.expires_at is None


def _check_scope(role: Role, scope: Scope, repo: str | None) -> None:
    """CommandRefused: a token for reading cannot be an operator's, and only one for git can be for one repository."""
    if scope == "git:read" and role != "viewer":
        raise CommandRefused("a token with scope git:read needs the role viewer")
    if scope == "git:write" and role != "operator":
        raise CommandRefused("a token with scope git:write needs the role operator")
    if repo is not None and scope == "all":
        raise CommandRefused("a token for one repository needs the scope git:read or git:write")


def _mark_of(token: TokenRecord) -> str:
    """What a session contains of its token: a new token with the same name has another mark."""
    return digest_of(f"{token.name} {token.digest}")


def _find(tokens: tuple[TokenRecord, ...], field: str, value: str) -> TokenRecord | None:
    """The token with this value, compared in constant time."""
    found = None
    for token in tokens:
        if hmac.compare_digest(str(getattr(token, field)).encode(), str(value).encode(errors="replace")):
            found = token
    return found
