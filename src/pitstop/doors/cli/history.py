"""`pitstop history`: the points of a run, also of one that is over, and what is different between two of them."""

import argparse
from collections.abc import Sequence

from rich.text import Text

from pitstop.doors.cli.app import OpenService
from pitstop.doors.cli.choosing import add_server_option, ask, open_chosen
from pitstop.doors.cli.debug import render
from pitstop.doors.cli.debug.listings import history_list
from pitstop.doors.cli.debug.screen import Screen
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.errors import NoFiles
from pitstop.service.caller import LOCAL
from pitstop.service.debugging import Debugger, verbs
from pitstop.service.desks import Service

MOST_FILES = 1000


def history_command(words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> None:
    parser = argparse.ArgumentParser(
        prog="pitstop history", description="List the points of a run, or compare two of them."
    )
    parser.add_argument("run", metavar="RUN", help="the run ID, as `pitstop runs` shows it")
    parser.add_argument("before", metavar="POINT", nargs="?", type=int, help="the number of a point")
    parser.add_argument("after", metavar="LATER", nargs="?", type=int, help="the number of another point, to compare")
    parser.add_argument("--file", metavar="PATH", help="show the diff of this workspace file")
    add_server_option(parser)
    options = parser.parse_args(words)
    if (options.before is None) != (options.after is None) or (options.file and options.before is None):
        parser.error("--file needs two points to compare")
    lines = ask(open_chosen(options, open_service), lambda service: _told(service, options))
    Screen().say(*lines)


async def _told(service: Service, options: argparse.Namespace) -> list[Text]:
    debugger = Debugger(service.debugging, LOCAL, options.run)
    if options.before is None:
        points = await debugger.say(verbs.History())
        return history_list(points, list(dict.fromkeys(point.frame for point in points)))
    if options.file is not None:
        return render.file_diff_lines(await debugger.say(verbs.FilesDiff(options.file, options.before, options.after)))
    values = render.change_lines(await debugger.say(verbs.Diff(before=options.before, after=options.after)))
    try:
        found = await debugger.say(verbs.Files(options.before, options.after, limit=MOST_FILES))
        files = render.file_lines(found) or [Text("  no file has changed", style="dim")]
    except NoFiles as error:
        files = [Text(f"  {error}", style="dim")]
    return [Text("values"), *(values or [Text("  no value has changed", style="dim")]), Text("files"), *files]
