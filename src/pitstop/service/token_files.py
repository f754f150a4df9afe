"""Tokens in private files: the owner's in clear text, for programs of this user; those of others as digests."""

import json
import secrets
import time
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from pitstop.service.access import OWNER, TokenRecord, digest_of
from pitstop.service.private_files import make_private, replace_private


class TokenFiles:
    """A TokenStore. A missing `token_file` is created with a new token; the other files are next to it."""

    def __init__(self, token_file: Path) -> None:
        self._token_file = token_file
        self._others_file = token_file.with_name("tokens.json")
        self._key_file = token_file.with_name("session.key")
        self._logged_out_file = token_file.with_name("logged_out.json")
        make_private(token_file, secrets.token_urlsafe(32) + "\n")
        make_private(self._key_file, secrets.token_hex(32) + "\n")
        self._key = bytes.fromhex(self._key_file.read_text().strip())

    @property
    def token(self) -> str:
        """The owner's token."""
        return self._token_file.read_text().strip()

    async def all(self) -> tuple[TokenRecord, ...]:
        made_at = self._token_file.stat().st_mtime
        return (TokenRecord(OWNER, "operator", digest_of(self.token), made_at), *self._others())

    async def add(self, token: TokenRecord) -> None:
        self._write([*self._others(), token])

    async def remove(self, name: str) -> None:
        """The owner's token cannot be removed, only replaced."""
        if name == OWNER:
            replace_private(self._token_file, secrets.token_urlsafe(32) + "\n")
        self._write([each for each in self._others() if each.name != name])

    async def session_key(self) -> bytes:
        return self._key

    async def log_out(self, session: str, until: float) -> None:
        lasting = {each: over_at for each, over_at in self._sessions().items() if over_at > time.time()}
        replace_private(self._logged_out_file, json.dumps({**lasting, session: until}) + "\n")

    async def logged_out(self) -> frozenset[str]:
        return frozenset(self._sessions())

    def _sessions(self) -> dict[str, float]:
        return dict(_read_json(self._logged_out_file) or {})

    def _others(self) -> list[TokenRecord]:
        return [TokenRecord(**each) for each in _read_json(self._others_file) or ()]

    def _write(self, tokens: list[TokenRecord]) -> None:
        replace_private(self._others_file, json.dumps([asdict(each) for each in tokens], indent=1) + "\n")


def _read_json(file: Path) -> Any:
    """The content of a file; None if there is none."""
    try:
        return json.loads(file.read_text())
    except FileNotFoundError:
        return None
