"""Finds secrets where none may be, in every form that they are likely to have."""

import base64
import json
import shlex
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from msgspec import Struct


class Leaks(Struct, frozen=True):
    """Looks for these secrets. Their forms are made here, so that none is found by the code that masks it."""

    secrets: tuple[str, ...]

    def forms(self) -> Iterator[bytes]:
        for secret in self.secrets:
            raw = secret.encode()
            yield raw
            yield from (raw.hex().encode(), raw.hex().upper().encode())
            yield quote(secret, safe="").encode()
            yield json.dumps(secret)[1:-1].encode()
            yield shlex.quote(secret).strip("'").encode()
            for encode in (base64.b64encode, base64.urlsafe_b64encode):
                for before in (b"", b"a", b"ab"):
                    yield encode(before + raw + b"xyz")[4:-8]

    def found_in(self, data: bytes) -> list[bytes]:
        joined = data.replace(b"\r", b"").replace(b"\n", b"")
        return [form for form in self.forms() if form in data or form in joined]

    def found_below(self, home: Path) -> dict[str, list[bytes]]:
        """The files that contain a secret. The files of a workspace itself are the user's."""
        leaks = {}
        for path in home.rglob("*"):
            parts = path.relative_to(home).parts
            is_users = parts[0] == "workspaces" and len(parts) > 2 and parts[2] != ".pitstop"
            with suppress(FileNotFoundError):
                if path.is_file() and not is_users:
                    leaks[str(path)] = self.found_in(path.read_bytes())
        return {path: found for path, found in leaks.items() if found}

    def found_in_backup(self, backup: Path) -> dict[str, list[bytes]]:
        """Every value of every table, as it was before it was packed."""
        leaks = {}
        with zipfile.ZipFile(backup) as packed:
            for name in packed.namelist():
                text = packed.read(name)
                values = [text]
                for line in text.splitlines() if name.endswith(".jsonl") else ():
                    for value in json.loads(line):
                        with suppress(ValueError, TypeError):
                            values.append(base64.b64decode(value, validate=True))
                if found := [form for value in values for form in self.found_in(value)]:
                    leaks[name] = found
        return leaks
