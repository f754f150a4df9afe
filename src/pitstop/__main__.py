"""The way in from the command line."""

import atexit
import gc
import os
import sys
from functools import partial
from importlib import import_module

from pitstop.doors.cli.interrupts import Interrupts

TYPE_CHECKING = False  # that of `typing`, whose import `--help` need not wait for
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from pitstop.doors.cli.app import Act
    from pitstop.executors.machine.processes.keeper_process import EarlyKeeper, KeeperProcess
    from pitstop.service.desks import Service


GARBAGE_THRESHOLD = 100_000  # objects: with the usual 700 there is a search every few modules, all of which stay
# Each command: its line in the help, and where it is. It is imported when it is called for, so that `--help` is fast.
COMMANDS = {
    "run": ("Run a flow", "pitstop.doors.cli.run:run_command"),
    "debug": ("Run a flow in the debugger, at a prompt", "pitstop.doors.cli.debug.command:debug_command"),
    "fix": ("Run tests, and let agents repair what fails", "pitstop.doors.cli.fix.command:fix_command"),
    "up": ("Start Pitstop on this machine and open it in the browser", "pitstop.serving.commands:up_command"),
    "login": ("Print a one-time login link to a running server", "pitstop.serving.login:login_command"),
    "shell": ("Open a shell in a running or paused step", "pitstop.doors.cli.shell:shell_command"),
    "runs": ("List runs, newest first", "pitstop.doors.cli.runs:runs_command"),
    "logs": ("Show the logs of a run", "pitstop.doors.cli.logs:logs_command"),
    "artifacts": ("List a run's artifacts, or print one", "pitstop.doors.cli.artifacts:artifacts_command"),
    "history": ("List the points of a run, or compare two", "pitstop.doors.cli.history:history_command"),
    "pin": ("Keep a run and its workspace until it is unpinned", "pitstop.doors.cli.pin:pin_command"),
    "rerun": ("Re-run a run, whole or from a step", "pitstop.doors.cli.rerun:rerun_command"),
    "cancel": ("Cancel a run and clean up", "pitstop.doors.cli.cancel:cancel_command"),
    "dap": ("Run the debug adapter for an editor (DAP)", "pitstop.doors.dap.command:dap_command"),
    "check": ("Validate flow files", "pitstop.doors.cli.check:check_command"),
    "show": ("Show a flow as a tree or as a Mermaid chart", "pitstop.doors.cli.show:show_command"),
    "steps": ("List the step types, or describe one", "pitstop.doors.cli.steps:steps_command"),
    "blame": ("Find the tool call of an agent that broke a command", "pitstop.doors.cli.blame:blame_command"),
    "compare": ("Compare two attempts of agents", "pitstop.doors.cli.compare:compare_command"),
    "agents": ("List agents and what they need, or build an image", "pitstop.doors.cli.agents:agents_command"),
    "schema": ("Print the JSON Schema of flow files, for editors", "pitstop.doors.cli.schema:schema_command"),
    "init": ("Write a first flow for this folder", "pitstop.doors.cli.init:init_command"),
    "ingest": ("Take a git repository in, on a server", "pitstop.doors.cli.repos.ingest:ingest_command"),
    "repos": ("List repositories, their flows and pushes", "pitstop.doors.cli.repos.command:repos_command"),
    "fire": ("Start a flow of a repository", "pitstop.doors.cli.repos.fire:fire_command"),
    "cards": (
        "Start, review and merge the cards of a repository",
        "pitstop.doors.cli.cards.command:cards_command",
    ),
    "land": ("Push branches to a repository's own remote", "pitstop.doors.cli.repos.land:land_command"),
    "serve": ("Start Pitstop as a service, for a team", "pitstop.serving.commands:serve_command"),
    "secrets": ("Store, list and remove secrets on a server", "pitstop.serving.secrets:secrets_command"),
    "tokens": ("Create, list and revoke tokens of a server", "pitstop.serving.tokens:tokens_command"),
    "git-credential": ("Tell git the token of a server", "pitstop.doors.cli.repos.credential:git_credential_command"),
    "gc": ("Delete old runs of a server", "pitstop.serving.commands:gc_command"),
    "backup": ("Back up a server's database to a file", "pitstop.serving.commands:backup_command"),
    "restore": ("Restore a backup into an empty database", "pitstop.serving.commands:restore_command"),
    "doctor": ("Check this machine's setup", "pitstop.doors.cli.doctor:doctor_command"),
    "completion": ("Print the completion script for a shell", "pitstop.doors.cli.completion:completion_command"),
}
RUNNING = ("run", "debug", "rerun", "fix")
RUNNING_NOTHING_HERE = ("--server", "--dry-run", "--help", "-h")


def main() -> None:
    open_standard_files()
    gc.set_threshold(GARBAGE_THRESHOLD)
    interrupts = Interrupts()
    interrupts.listen()
    words = sys.argv[1:]
    keeper = prepare_run() if will_run_commands(words, os.environ) else None
    from pitstop.doors.cli.app import Commands, run_cli

    commands = Commands({name: summary for name, (summary, _) in COMMANDS.items()}, load_command)
    try:
        code = run_cli(words, commands, partial(open_service, keeper.take if keeper is not None else None), interrupts)
    except SystemExit as asked:  # by argparse: its messages are written
        code = asked.code if isinstance(asked.code, int) else 1
    leave(code, keeper)


def load_command(name: str) -> "Act":
    if name == "complete":
        from pitstop.doors.cli.completion import complete

        return partial(complete, COMMANDS, load_command)
    module, _, attribute = COMMANDS[name][1].partition(":")
    act: Act = getattr(import_module(module), attribute)
    return act


def open_standard_files() -> None:
    """Have all three of them: the number of one that is closed would be that of the next file that is opened."""
    for fd, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # as the lowest number that is free
            setattr(sys, name, os.fdopen(fd, "r" if name == "stdin" else "w"))


def will_run_commands(words: "Sequence[str]", environment: "Mapping[str, str]") -> bool:
    """Whether commands will be started on this machine. A wrong answer takes a little time, and nothing else."""
    options = {word.partition("=")[0] for word in words}
    is_elsewhere = bool(environment.get("PITSTOP_SERVER")) or not options.isdisjoint(RUNNING_NOTHING_HERE)
    return words[:1] != [] and words[0] in RUNNING and not is_elsewhere


def prepare_run() -> "EarlyKeeper":
    """Do what has to be done first for a run to start fast."""
    from pitstop.executors.machine.processes.keeper_process import EarlyKeeper

    keeper = EarlyKeeper()
    from pitstop.lazy_modules import load_lazily

    load_lazily()
    return keeper


def open_service(new_keeper: "Callable[[], KeeperProcess] | None") -> "AbstractAsyncContextManager[Service]":
    from pitstop.app import open_service as open_local

    return open_local(new_keeper=new_keeper, new_attaching=SocketAttaching)


class SocketAttaching:
    """An Attaching. What serves runs is loaded when a client may attach."""

    def __init__(self, service: "Service") -> None:
        self._service = service

    def open(self, run: str) -> "AbstractAsyncContextManager[None]":
        from pitstop.serving.attaching import serve_run
        from pitstop.settings import read_settings

        return serve_run(self._service, read_settings(), run)


def leave(code: int, keeper: "EarlyKeeper | None") -> None:
    """End the process without taking it apart piece by piece, which takes longer than many a step."""
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    if keeper is not None:
        keeper.end()
    os._exit(code)


if __name__ == "__main__":
    main()
