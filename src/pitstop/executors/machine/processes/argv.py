"""The words that a command is started with on this machine."""

import os
import sys
from pathlib import Path

from pitstop.engine.executor import PITSTOP_PACKAGE, PITSTOP_PYTHON, Command
from pitstop.engine.scripts import argv_reading

LONGEST_ARGUMENT_BYTES = 128 * 1024 - 1  # the kernel's limit for one argument
PACKAGE = Path(__file__).parents[3]


def argv_of(command: Command, log: str) -> tuple[str, ...]:
    """The words, with placeholders resolved. A script that is too long for a word is written beside the log."""
    if command.script is None:
        return tuple(map(_resolved, command.argv))
    if command.script_file is not None:
        return argv_reading(command.shell, command.script_file)
    if len(os.fsencode(command.script)) <= LONGEST_ARGUMENT_BYTES:
        return (*command.shell, "-c", command.script)
    file = Path(log + ".script")
    file.write_text(command.script, errors="surrogateescape")
    return (*command.shell, str(file))


def _resolved(word: str) -> str:
    if word == PITSTOP_PYTHON:
        return sys.executable
    return str(PACKAGE / word.removeprefix(PITSTOP_PACKAGE)) if word.startswith(PITSTOP_PACKAGE) else word
