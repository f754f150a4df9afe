"""`pitstop blame`: the tool call of an agent after which a command fails."""

import argparse
import sys
from collections.abc import Sequence

from pitstop.doors.cli.app import OpenService
from pitstop.doors.cli.choosing import add_server_option, ask, open_chosen
from pitstop.doors.cli.exit_codes import FAILED, PASSED
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.errors import BadCommand
from pitstop.service.agent_calls import StoredFiles
from pitstop.service.blame import Blame, Probe, blame
from pitstop.service.caller import LOCAL

EPILOG = """\
The command runs on the files that were stored before the tool calls of the agent, each time in a fresh workspace, until
the call is found: 6 times for 40 calls. Files are stored if the run had a workspace of its own, or if the step has
`snapshot: true`.

  pitstop blame 20261118-101500-4f2e -- pytest -q tests/test_login.py
"""


def blame_command(words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> int:
    parser = argparse.ArgumentParser(
        prog="pitstop blame",
        description="Find the tool call of an agent after which a command fails.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="pitstop blame RUN [--step STEP] [--image IMAGE] [--server URL] -- COMMAND...",
    )
    parser.add_argument("run", metavar="RUN", help="the run ID, as `pitstop runs` shows it")
    parser.add_argument("--step", metavar="STEP", help="the agent step, if the run has several")
    parser.add_argument("--image", metavar="IMAGE", help="container image to run the command in")
    add_server_option(parser)
    own, command = _split(words)
    options = parser.parse_args(own)
    if not command:
        raise BadCommand("`pitstop blame` needs a command after `--`, such as `-- pytest -q`")

    def tell(files: StoredFiles) -> None:
        where = f"before call {files.call} ({files.title})" if files.call else "after the last call"
        print(f"testing the files {where} ...", file=sys.stderr, flush=True)

    found = ask(
        open_chosen(options, open_service),
        lambda service: blame(
            service, LOCAL, options.run, command, step=options.step, image=options.image, on_probe=tell
        ),
    )
    for probe in found.probes:
        print(_line(probe))
    print(_verdict(found))
    return FAILED if found.call is None else PASSED


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    at = list(words).index("--") if "--" in words else len(words)
    return [*words[:at]], [*words[at + 1 :]]


def _line(probe: Probe) -> str:
    where = f"before call {probe.files.call}" if probe.files.call else "after the last call"
    return f"{where:<20} {'passed' if probe.passed else 'failed'}  run {probe.run}"


def _verdict(found: Blame) -> str:
    if found.call is None:
        return f"no call of {found.step} is to blame: {found.reason}"
    return f"call {found.call} of {found.step} broke it: {found.title}"
