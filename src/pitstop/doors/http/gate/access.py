"""Who may come in: tokens for programs, and for browsers a login code that is good once and then a signed cookie."""

import asyncio
import base64
import binascii
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

from pitstop.errors import CommandRefused, Unknown
from pitstop.service.wire import Role, TokenInfo

COOKIE = "pitstop_session"
SESSION_SECONDS = 7 * 24 * 3600
CODE_SECONDS = 300
MOST_CODES = 1000
KNOWN_FOR_SECONDS = 2.0  # how long a token that another server took away may still be taken


@dataclass(frozen=True, slots=True)
class Identity:
    """Somebody who is known here."""

    name: str
    role: Role


class Access(Protocol):
    """Knows who is asking."""

    async def who(self, *, bearer: str | None = None, cookie: str | None = None) -> Identity | None:
        """Whose token or session cookie it is; None when it is nobody's, or over."""
        ...

    def new_login_code(self, name: str = "owner") -> str:
        """A code that logs a browser in as the holder of that token: once, and within five minutes."""
        ...

    async def login(self, code: str) -> str | None:
        """The value of a session cookie; None for a code that was used, is too old or was never given."""
        ...

    async def logout(self, cookie: str) -> None:
        """The cookie is nobody's from now on."""
        ...

    async def tokens(self) -> tuple[TokenInfo, ...]: ...

    async def add_token(self, name: str, role: Role) -> str:
        """A new token, told this once; CommandRefused when the name is taken."""
        ...

    async def remove_token(self, name: str) -> None:
        """Unknown when there is none; CommandRefused for the last operator. Its sessions are over too."""
        ...


@dataclass(frozen=True, slots=True)
class KeptToken:
    """A token as it is kept: its SHA-256, never itself."""

    name: str
    role: Role
    digest: str
    created_at: float


class TokenKeeper(Protocol):
    """Where tokens are kept."""

    async def all(self) -> tuple[KeptToken, ...]: ...

    async def add(self, token: KeptToken) -> None: ...

    async def remove(self, name: str) -> None: ...

    async def session_key(self) -> bytes:
        """What cookies are signed with: the same after a restart, so that nobody has to log in again."""
        ...

    async def log_out(self, session: str, until: float) -> None:
        """Remember that a session has ended, until it would have ended anyway."""
        ...

    async def logged_out(self) -> Collection[str]:
        """The sessions that have ended before their time."""
        ...


def digest_of(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


class TokenAccess:
    """An Access by the tokens of a keeper."""

    def __init__(self, keeper: TokenKeeper, now: Callable[[], float] = time.time) -> None:
        self._keeper = keeper
        self._now = now
        self._codes: dict[str, tuple[str, float]] = {}  # by the digest of the code: whose it is, and until when
        self._known: tuple[float, tuple[KeptToken, ...], Collection[str]] | None = None
        self._changes = 0
        self._changing = asyncio.Lock()  # between a look at the tokens and their change

    async def who(self, *, bearer: str | None = None, cookie: str | None = None) -> Identity | None:
        if bearer is not None:
            token = _find(await self._tokens(), "digest", digest_of(bearer))
        elif cookie is not None:
            token = await self._of_cookie(cookie)
        else:
            return None
        return None if token is None else Identity(token.name, token.role)

    # Browsers

    def new_login_code(self, name: str = "owner") -> str:
        code = secrets.token_urlsafe(32)
        now = self._now()
        self._codes = {each: known for each, known in self._codes.items() if known[1] > now}
        while len(self._codes) >= MOST_CODES:
            del self._codes[next(iter(self._codes))]
        self._codes[digest_of(code)] = (name, now + CODE_SECONDS)
        return code

    async def login(self, code: str) -> str | None:
        name, ends_at = self._codes.pop(digest_of(code), ("", 0.0))
        token = _find(await self._tokens(), "name", name)
        if ends_at <= self._now() or token is None:
            return None
        told = json.dumps([_mark_of(token), self._now() + SESSION_SECONDS, secrets.token_hex(8)]).encode()
        payload = base64.urlsafe_b64encode(told).decode()
        return f"{payload}.{await self._signature(payload)}"

    async def logout(self, cookie: str) -> None:
        if await self._of_cookie(cookie) is not None:
            await self._keeper.log_out(cookie.rpartition(".")[2], self._now() + SESSION_SECONDS)
            self._forget()

    async def _of_cookie(self, cookie: str) -> KeptToken | None:
        payload, _, signature = cookie.rpartition(".")
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
        return hmac.new(await self._keeper.session_key(), payload.encode(), hashlib.sha256).hexdigest()

    # Tokens

    async def tokens(self) -> tuple[TokenInfo, ...]:
        return tuple(TokenInfo(each.name, each.role, each.created_at) for each in await self._keeper.all())

    async def add_token(self, name: str, role: Role) -> str:
        async with self._changing:
            if _find(await self._keeper.all(), "name", name) is not None:
                raise CommandRefused(f"token {name!r} already exists: choose another name, or remove that token")
            token = secrets.token_urlsafe(32)
            await self._keeper.add(KeptToken(name, role, digest_of(token), self._now()))
            self._forget()
        return token

    async def remove_token(self, name: str) -> None:
        async with self._changing:
            kept = await self._keeper.all()
            if _find(kept, "name", name) is None:
                raise Unknown("token", name)
            if not any(each.role == "operator" and each.name != name for each in kept):
                raise CommandRefused(f"{name!r} is the last operator token: create another one first")
            await self._keeper.remove(name)
            self._forget()

    async def _tokens(self) -> tuple[KeptToken, ...]:
        return (await self._lookup())[0]

    async def _lookup(self) -> tuple[tuple[KeptToken, ...], Collection[str]]:
        """The tokens, and the sessions that were logged out."""
        now = time.monotonic()
        if self._known is not None and self._known[0] >= now:
            return self._known[1:]
        changes = self._changes
        found = await self._keeper.all(), await self._keeper.logged_out()
        if changes == self._changes:  # what was read before a change is not known after it
            self._known = (now + KNOWN_FOR_SECONDS, *found)
        return found

    def _forget(self) -> None:
        self._changes += 1
        self._known = None


def _mark_of(token: KeptToken) -> str:
    """What a session says of the token it came from: one that is made anew under the same name is another."""
    return digest_of(f"{token.name} {token.digest}")


def _find(tokens: tuple[KeptToken, ...], field: str, value: str) -> KeptToken | None:
    """The token with this value, compared in a time that does not depend on where they differ."""
    found = None
    for token in tokens:
        if hmac.compare_digest(str(getattr(token, field)).encode(), str(value).encode(errors="replace")):
            found = token
    return found
