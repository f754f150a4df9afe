"""Files for their owner alone, such as keys and tokens."""

import os
import secrets
from contextlib import suppress
from pathlib import Path


def make_private(file: Path, text: str) -> None:
    """Write the file if it is not there, at one stroke: whoever is killed meanwhile leaves no half of it."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    unfinished = _written(file, text)
    try:
        with suppress(FileExistsError):
            os.link(unfinished, file)
    finally:
        unfinished.unlink()
    file.chmod(0o600)


def replace_private(file: Path, text: str) -> None:
    """Write the file anew: whoever reads it finds the old text or the new one."""
    _written(file, text).replace(file)


def _written(file: Path, text: str) -> Path:
    path = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
        opened.write(text)
    return path
