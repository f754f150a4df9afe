"""The words that a command is started with on this machine."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from pitstop.engine.executor import PITSTOP_PACKAGE, PITSTOP_PYTHON, Command

LONGEST_ARGUMENT_BYTES = 128 * 1024 - 1  # the kernel's limit for one argument
PACKAGE = Path(__file__).parents[3]


def argv_of(command: Command, log: str) -> tuple[str, ...]:
    """The words, with placeholders resolved. A script that is too long for a word is written beside the log."""
    if command.script is None:
        return tuple(map(_resolved, command.argv))
    return script_argv(command.shell, command.script, Path(log + ".script"))


def script_argv(shell: Sequence[str], script: str, file: Path) -> tuple[str, ...]:
    """The words that run a script; one that is too long for an argument goes to the file."""
    if len(os.fsencode(script)) <= LONGEST_ARGUMENT_BYTES:
        return (*shell, "-c", script)
    file.write_text(script, errors="surrogateescape")
    return (*shell, str(file))


def _resolved(word: str) -> str:
    if word == PITSTOP_PYTHON:
        return sys.executable
    return str(PACKAGE / word.removeprefix(PITSTOP_PACKAGE)) if word.startswith(PITSTOP_PACKAGE) else word
