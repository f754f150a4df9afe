"""`pitstop steps`: the types of steps that there are, and what each of them takes."""

import argparse
from collections.abc import Sequence

from pitstop.doors.cli.app import OpenService
from pitstop.doors.cli.choosing import ask
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.service.caller import LOCAL


def steps_command(words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> None:
    parser = argparse.ArgumentParser(prog="pitstop steps", description="List the step types, or describe one.")
    parser.add_argument("type", metavar="TYPE", nargs="?", help="the type to describe")
    options = parser.parse_args(words)
    opening = open_service()
    if options.type is not None:
        print(ask(opening, lambda service: service.flows.step_type(LOCAL, options.type)).text, end="")
        return
    types = ask(opening, lambda service: service.flows.step_types(LOCAL))
    width = max(len(each.name) for each in types)
    print("\n".join(f"{each.name:{width}}  {each.summary}" for each in types))
