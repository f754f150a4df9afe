"""The way in from the command line."""

import sys
from typing import TYPE_CHECKING

from pitstop.doors.cli.interrupts import Interrupts

if TYPE_CHECKING:
    from pitstop.service.api import Service


def main() -> None:
    interrupts = Interrupts()
    interrupts.listen()
    from pitstop.doors.cli.app import run_cli

    sys.exit(run_cli(sys.argv[1:], open_service, interrupts))


def open_service() -> "Service":
    from pitstop.app import open_service as open_local

    return open_local()


if __name__ == "__main__":
    main()
