"""The table of commands. Each is imported when it is called for, so that `--help` costs next to nothing."""

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from pitstop.doors.cli.exit_codes import BAD_USAGE, FAILED, INTERRUPTED, PASSED
from pitstop.doors.cli.interrupts import Interrupts

if TYPE_CHECKING:
    from pitstop.service.api import Service

OpenService = Callable[[], "Service"]
Act = Callable[[Sequence[str], OpenService, Interrupts], int]  # what a command is: words in, exit code out


class Command(NamedTuple):
    """A command: its place in the help, and where it is."""

    summary: str
    home: str


COMMANDS = {
    "run": Command("Run a flow", "pitstop.doors.cli.run:run_command"),
    "debug": Command("Run a flow and stop in it, at a prompt", "pitstop.doors.cli.debug:debug_command"),
    "up": Command("Start Pitstop on this machine and open it in the browser", "pitstop.serving.commands:up_command"),
    "login": Command("Print a link to the server that runs, for a browser", "pitstop.serving.login:login_command"),
    "runs": Command("List runs, the newest first", "pitstop.doors.cli.runs:runs_command"),
    "logs": Command("Show what the steps of a run wrote", "pitstop.doors.cli.logs:logs_command"),
    "artifacts": Command(
        "List the files that a run handed on, or print one", "pitstop.doors.cli.artifacts:artifacts_command"
    ),
    "history": Command(
        "List the points of a run, and what changed between two", "pitstop.doors.cli.history:history_command"
    ),
    "pin": Command("Keep a run, and the files of its workspace", "pitstop.doors.cli.pin:pin_command"),
    "rerun": Command("Run again, whole or from a step on", "pitstop.doors.cli.rerun:rerun_command"),
    "cancel": Command("End a run, and clean up after it", "pitstop.doors.cli.cancel:cancel_command"),
    "dap": Command("Serve an editor that speaks the Debug Adapter Protocol", "pitstop.doors.dap.command:dap_command"),
    "check": Command("Tell every mistake in flow files", "pitstop.doors.cli.check:check_command"),
    "show": Command("Show a flow as a tree, or as a Mermaid chart", "pitstop.doors.cli.show:show_command"),
    "steps": Command("List the types of steps, or explain one", "pitstop.doors.cli.steps:steps_command"),
    "schema": Command("Print the JSON Schema of flow files, for editors", "pitstop.doors.cli.schema:schema_command"),
    "init": Command("Write a first flow for this folder", "pitstop.doors.cli.init:init_command"),
    "serve": Command("Start Pitstop as a service, for a team", "pitstop.serving.commands:serve_command"),
    "gc": Command("Forget old runs of a server", "pitstop.serving.commands:gc_command"),
    "backup": Command("Write the database of a server into a file", "pitstop.serving.commands:backup_command"),
    "restore": Command("Fill an empty database with a backup", "pitstop.serving.commands:restore_command"),
    "doctor": Command(
        "Tell what works on this machine, and what is missing", "pitstop.doors.cli.doctor:doctor_command"
    ),
    "completion": Command("Print the completion script of a shell", "pitstop.doors.cli.completion:completion_command"),
}
HIDDEN = {"complete": Command("", "pitstop.doors.cli.completion:complete_command")}

USAGE = """\
Usage: pitstop COMMAND [OPTIONS]

Runs work that has many steps, and lets you stop in it.

Commands:
{commands}

pitstop COMMAND --help explains a command, pitstop --version tells the version.
Exit codes: 0 passed, 1 failed, 2 bad usage or a bad file, 77 stopped with no terminal to debug in, 130 interrupted.
"""


def run_cli(words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> int:
    """Carry out one command line, and give its exit code."""
    match list(words):
        case [] | ["-h" | "--help" | "help", *_]:
            print(usage(), end="")
            return PASSED
        case ["--version" | "-V"]:
            from importlib.metadata import version

            print(f"pitstop {version('pitstop')}")
            return PASSED
        case [name, *rest] if name in COMMANDS or name in HIDDEN:
            return _carry_out(name, rest, open_service, interrupts)
        case [name, *_]:
            print(f"pitstop: there is no command {name!r}{_hint(name)}; pitstop --help lists them", file=sys.stderr)
    return BAD_USAGE


def usage() -> str:
    width = max(map(len, COMMANDS))
    lines = (f"  {name:{width}}  {command.summary}" for name, command in COMMANDS.items())
    return USAGE.format(commands="\n".join(lines))


def _carry_out(name: str, words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> int:
    from pitstop.errors import BadDefinition, CommandRefused, PitstopError

    module, _, attribute = {**COMMANDS, **HIDDEN}[name].home.partition(":")
    try:
        act: Act = getattr(import_module(module), attribute)
        code = act(words, open_service, interrupts)
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


def _hint(name: str) -> str:
    from difflib import get_close_matches

    nearest = get_close_matches(name, COMMANDS, n=1)
    return f": did you mean {nearest[0]!r}?" if nearest else ""
