"""One command line: finding its command, and its exit code. A command is imported when it is called for."""

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from pitstop.doors.cli.exit_codes import BAD_USAGE, FAILED, INTERRUPTED, PASSED
from pitstop.doors.cli.interrupts import Interrupts

if TYPE_CHECKING:
    from pitstop.service.desks import Service

Opening = AbstractAsyncContextManager["Service"]
OpenService = Callable[[], Opening]
# What a command is: words in, exit code out; None is the code of success
Act = Callable[[Sequence[str], OpenService, Interrupts], int | None]


class Commands:
    """The summary of each command in the order of the help, and how a command is loaded."""

    def __init__(self, summaries: Mapping[str, str], load: Callable[[str], Act]) -> None:
        self.summaries = summaries
        self.load = load


USAGE = """\
Usage: pitstop COMMAND [OPTIONS]

A workflow engine with a built-in debugger.

Commands:
{commands}

pitstop COMMAND --help describes a command; pitstop --version prints the version.
Exit codes: 0 passed, 1 failed, 2 invalid usage or file, 77 left paused, 130 interrupted.
"""


def run_cli(words: Sequence[str], commands: Commands, open_service: OpenService, interrupts: Interrupts) -> int:
    """Execute one command line, and return its exit code."""
    match list(words):
        case [] | ["-h" | "--help" | "help", *_]:
            print(usage(commands.summaries), end="")
            return PASSED
        case ["--version" | "-V"]:
            from importlib.metadata import version

            print(f"pitstop {version('pitstop')}")
            return PASSED
        case [name, *rest] if name in commands.summaries or name == "complete":  # which completion scripts call
            return _execute(lambda: commands.load(name)(rest, open_service, interrupts))
        case [name, *_]:
            print(
                f"pitstop: unknown command {name!r}{_hint(name, commands.summaries)}; see pitstop --help",
                file=sys.stderr,
            )
    return BAD_USAGE


def usage(summaries: Mapping[str, str]) -> str:
    width = max(map(len, summaries))
    lines = (f"  {name:{width}}  {summary}" for name, summary in summaries.items())
    return USAGE.format(commands="\n".join(lines))


def _execute(act: Callable[[], int | None]) -> int:
    from pitstop.errors import BadDefinition, CommandRefused, PitstopError

    try:
        code = act() or PASSED
        sys.stdout.flush()
        return code
    except (BadDefinition, CommandRefused) as error:
        print(f"pitstop: {error}" if isinstance(error, CommandRefused) else error, file=sys.stderr)
        return BAD_USAGE
    except PitstopError as error:
        print(f"pitstop: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("pitstop: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        return _reader_has_gone()


def _reader_has_gone() -> int:
    """Whoever read our output has stopped reading, as `head` does; Python shall not complain of it at its end."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return INTERRUPTED


def _hint(name: str, summaries: Mapping[str, str]) -> str:
    from difflib import get_close_matches

    nearest = get_close_matches(name, summaries, n=1)
    return f": did you mean {nearest[0]!r}?" if nearest else ""
