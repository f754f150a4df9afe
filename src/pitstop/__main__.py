"""The way in from the command line."""

import atexit
import gc
import os
import sys

from pitstop.doors.cli.interrupts import Interrupts

TYPE_CHECKING = False  # that of `typing`, whose import `--help` need not wait for
if TYPE_CHECKING:
    from pitstop.service.api import Service


GARBAGE_THRESHOLD = 100_000  # objects: with the usual 700 there is a search every few modules, all of which stay


def main() -> None:
    gc.set_threshold(GARBAGE_THRESHOLD)
    interrupts = Interrupts()
    interrupts.listen()
    from pitstop.doors.cli.app import run_cli

    try:
        leave(run_cli(sys.argv[1:], open_service, interrupts))
    except SystemExit as asked:  # by argparse: its messages are written
        leave(asked.code if isinstance(asked.code, int) else 1)


def open_service() -> "Service":
    from pitstop.app import open_service as open_local

    return open_local()


def leave(code: int) -> None:
    """End the process without taking it apart piece by piece, which takes longer than many a step."""
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
