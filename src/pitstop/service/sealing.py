"""Secrets at rest: sealed with a key that is in a file of its own, beside the database and never in it."""

import json
from collections.abc import Mapping
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken

from pitstop.errors import SealBroken
from pitstop.service.private_files import make_private


class Seal:
    """Seals and opens values with one key."""

    def __init__(self, key: bytes) -> None:
        self._fernet = Fernet(key)

    def close(self, secrets: Mapping[str, str]) -> bytes:
        return self.seal(json.dumps(dict(secrets)).encode())

    def open(self, sealed: bytes) -> dict[str, str]:
        """SealBroken for what was sealed with another key, or changed since."""
        opened: dict[str, str] = json.loads(self.unseal(sealed))
        return opened

    def seal(self, data: bytes) -> bytes:
        return self._fernet.encrypt(data)

    def unseal(self, sealed: bytes) -> bytes:
        """SealBroken, as `open`."""
        try:
            return self._fernet.decrypt(sealed)
        except InvalidToken as error:
            raise SealBroken from error


def read_seal(key_file: Path) -> Seal:
    """The seal of a key file; where there is none it is made, for its owner alone. SealBroken when it holds no key."""
    make_private(key_file, Fernet.generate_key().decode())
    try:
        return Seal(key_file.read_bytes().strip())
    except ValueError as error:
        raise SealBroken(f"{key_file} does not contain a key: restore the key file of this database") from error
