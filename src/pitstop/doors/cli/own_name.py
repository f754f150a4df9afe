"""How this command was called, so that a line which it prints can be copied."""

import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

NAME = "pitstop"


def command_line(words: Sequence[str]) -> str:
    """A command line with these words, as it would run here."""
    return shlex.join([*own_words(), *words])


def own_words() -> list[str]:
    """`pitstop` if that is what a shell would find, else the way it was started."""
    started = sys.argv[0]
    if Path(started).name == "__main__.py":
        return [sys.orig_argv[0], "-m", NAME]
    found = shutil.which(NAME)
    if found is not None and Path(started).exists() and Path(found).samefile(started):
        return [NAME]
    return [started if Path(started).name == NAME else NAME]
