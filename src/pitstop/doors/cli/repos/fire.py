"""`pitstop fire`: starts a flow of a repository on a server, and returns at once."""

import argparse
from collections.abc import Sequence

from pitstop.doors.cli.app import OpenService
from pitstop.doors.cli.exit_codes import FAILED, PASSED
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.doors.cli.repos.servers import add_server_option, ask_server, desks_of, server_url
from pitstop.doors.cli.run_options import read_inputs
from pitstop.errors import CommandRefused
from pitstop.program import program
from pitstop.service.caller import LOCAL
from pitstop.service.repos import read_address


def fire_command(words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> int:
    parser = argparse.ArgumentParser(
        prog="pitstop fire",
        description="Start a flow of a repository on the server, and print the run's ID. "
        "`pitstop run` does the same and shows the run; `pitstop debug` debugs it.",
    )
    parser.add_argument("flow", metavar="REPO:FLOW[@REF]", help="the flow, at a branch, tag or commit")
    parser.add_argument(
        "-i", "--input", metavar="NAME=VALUE", action="append", default=[], dest="given", help="an input of the flow"
    )
    parser.add_argument("--inputs", metavar="FILE", help="inputs from a YAML or JSON file; -i overrides them")
    add_server_option(parser)
    options = parser.parse_args(words)
    named = read_address(options.flow)
    if named is None:
        raise CommandRefused(f"{options.flow!r} does not name a flow of a repository: use REPO:FLOW, or REPO:FLOW@REF")
    url, inputs = server_url(options), read_inputs(options.inputs, options.given)
    firing = ask_server(
        url, lambda service: desks_of(service)[1].fire(LOCAL, named.repo, named.flow, named.ref, inputs)
    )
    if firing.run is None:
        print(f"not started: {firing.reason}")
        return FAILED
    print(firing.run)
    print(f"follow it with: {program()} debug {firing.run} --server {url}")
    return PASSED
