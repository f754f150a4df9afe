"""The way in from the command line."""

import atexit
import gc
import os
import sys
from functools import partial

from pitstop.doors.cli.interrupts import Interrupts

TYPE_CHECKING = False  # that of `typing`, whose import `--help` need not wait for
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pitstop.executors.keeper_process import EarlyKeeper, KeeperProcess
    from pitstop.service.api import Service


GARBAGE_THRESHOLD = 100_000  # objects: with the usual 700 there is a search every few modules, all of which stay
RUNNING = ("run", "debug", "rerun")
RUNNING_NOTHING_HERE = ("--server", "--dry-run", "--help", "-h")


def main() -> None:
    open_standard_files()
    gc.set_threshold(GARBAGE_THRESHOLD)
    interrupts = Interrupts()
    interrupts.listen()
    words = sys.argv[1:]
    keeper = prepare_run() if will_run_commands(words, os.environ) else None
    from pitstop.doors.cli.app import run_cli

    try:
        code = run_cli(words, partial(open_service, keeper.take if keeper is not None else None), interrupts)
    except SystemExit as asked:  # by argparse: its messages are written
        code = asked.code if isinstance(asked.code, int) else 1
    leave(code, keeper)


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
    from pitstop.executors.keeper_process import EarlyKeeper
    from pitstop.lazy_modules import load_lazily

    keeper = EarlyKeeper()
    load_lazily()
    return keeper


def open_service(new_keeper: "Callable[[], KeeperProcess] | None") -> "Service":
    from pitstop.app import open_service as open_local

    return open_local(new_keeper=new_keeper)


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
