"""Secrets at rest: sealed with a key that is in a file of its own, beside the database and never in it."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken

from pitstop.errors import SealBroken


class Seal:
    """Seals and opens values with one key."""

    def __init__(self, key: bytes) -> None:
        self._fernet = Fernet(key)

    def close(self, secrets: Mapping[str, str]) -> bytes:
        return self._fernet.encrypt(json.dumps(dict(secrets)).encode())

    def open(self, sealed: bytes) -> dict[str, str]:
        """SealBroken for what was sealed with another key, or changed since."""
        try:
            opened: dict[str, str] = json.loads(self._fernet.decrypt(sealed))
        except InvalidToken as error:
            raise SealBroken from error
        return opened


def read_seal(key_file: Path) -> Seal:
    """The seal of a key file; where there is none it is made, for its owner alone. SealBroken when it holds no key."""
    key_file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        fd = os.open(key_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        pass
    else:
        with os.fdopen(fd, "wb") as file:
            file.write(Fernet.generate_key())
    try:
        return Seal(key_file.read_bytes().strip())
    except ValueError as error:
        raise SealBroken(f"{key_file} holds no key: put the one back that the database was made with") from error
