"""`pitstop artifacts`: the files that a run handed on, and what is in them."""

import argparse
import sys
from collections.abc import Sequence
from contextlib import aclosing, nullcontext
from pathlib import Path

from pitstop.doors.cli.app import OpenService
from pitstop.doors.cli.choosing import add_server_option, ask, open_chosen
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.service.caller import LOCAL
from pitstop.service.desks import Service


def artifacts_command(words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> None:
    parser = argparse.ArgumentParser(
        prog="pitstop artifacts", description="List a run's artifacts, or print one of them."
    )
    parser.add_argument("run", metavar="RUN", help="the run ID, as `pitstop runs` shows it")
    parser.add_argument("path", metavar="PATH", nargs="?", help="the artifact to print")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write the artifact to this file")
    add_server_option(parser)
    options = parser.parse_args(words)
    if options.path is None:
        ask(open_chosen(options, open_service), lambda service: _list(service, options.run))
    else:
        ask(open_chosen(options, open_service), lambda service: _write(service, options))


async def _list(service: Service, run: str) -> None:
    for each in await (await service.runs.get(LOCAL, run)).artifacts():
        print(_printable(each.path))


async def _write(service: Service, options: argparse.Namespace) -> None:
    run = await service.runs.get(LOCAL, options.run)
    listed = [each.path for each in await run.artifacts() if _printable(each.path) == options.path]
    blocks = run.artifact(listed[0] if listed else options.path)
    with nullcontext(sys.stdout.buffer) if options.output is None else options.output.open("wb") as file:
        async with aclosing(blocks):  # type: ignore[type-var]
            async for block in blocks:
                file.write(block)
        file.flush()


def _printable(path: str) -> str:
    """The path as it is listed, and may be given: with escapes for what a terminal cannot show."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in path)
