"""`pitstop schema`: what editors complete and check flow files with."""

import argparse
import json
from collections.abc import Sequence

from pitstop.doors.cli.app import OpenService
from pitstop.doors.cli.choosing import ask
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.service.caller import LOCAL


def schema_command(words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> None:
    parser = argparse.ArgumentParser(prog="pitstop schema", description="Print the JSON Schema of flow files.")
    parser.parse_args(words)
    print(json.dumps(ask(open_service(), lambda service: service.flows.schema(LOCAL)), indent=2, ensure_ascii=False))
