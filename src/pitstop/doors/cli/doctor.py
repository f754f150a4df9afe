"""`pitstop doctor`: what works on this machine, and what is missing."""

import argparse
from collections.abc import Sequence

from pitstop.doors.cli.app import OpenService
from pitstop.doors.cli.choosing import ask
from pitstop.doors.cli.exit_codes import FAILED, PASSED
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.service.caller import LOCAL


def doctor_command(words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> int:
    parser = argparse.ArgumentParser(prog="pitstop doctor", description="Check this machine's setup.")
    parser.parse_args(words)
    findings = ask(open_service(), lambda service: service.flows.examine(LOCAL))
    width = max(len(each.name) for each in findings)
    for each in findings:
        state = "ok" if each.works else "BROKEN" if each.is_needed else "missing"
        print(f"{state:8}{each.name:{width}}  {each.detail}")
    return PASSED if all(each.works for each in findings if each.is_needed) else FAILED
