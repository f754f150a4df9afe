"""The options of a command that starts a run, and the request that they make."""

import argparse
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from posixpath import normpath
from typing import TYPE_CHECKING, Any, cast

from pitstop.errors import BadBreakpoint, BadInputs

if TYPE_CHECKING:
    from pitstop.service.api import BreakpointRequest, BreakPosition, DebugRequest, RunRequest

FRESH = "fresh"
_BREAK = re.compile(r"(?P<place>.*?)(?::(?P<position>before|after|error))?(?:\s+if\s+(?P<condition>.+))?", re.DOTALL)
_LINE = re.compile(r"(?P<file>.*):(?P<line>\d+)")


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """FLOW, and what says how it is to run."""
    parser.add_argument("flow", metavar="FLOW", help="the flow file")
    parser.add_argument(
        "-i", "--input", metavar="NAME=VALUE", action="append", default=[], dest="given", help="an input of the flow"
    )
    parser.add_argument("--inputs", metavar="FILE", help="inputs from a YAML or JSON file; -i goes over them")
    parser.add_argument(
        "--secret",
        metavar="NAME[=VALUE]",
        action="append",
        default=[],
        help="a secret, from the environment when it has no value here; masked wherever it would show",
    )
    parser.add_argument(
        "--from", metavar="STEP", dest="from_step", help="begin at this step; what came before is that of the last run"
    )
    parser.add_argument("--only", metavar="STEP", help="run this step and no other")
    parser.add_argument(
        "--break",
        metavar="STEP[:before|after|error][ if JQ]",
        action="append",
        default=[],
        dest="breaks",
        help="stop there, if the condition holds; also FILE:LINE",
    )
    parser.add_argument(
        "--workspace",
        metavar="DIR|fresh",
        default=".",
        help="the folder to run in (the current one), or a fresh one that is removed afterwards",
    )


def read_request(options: argparse.Namespace, debug: "DebugRequest | None", *, can_ask: bool) -> "RunRequest":
    """BadInputs, BadBreakpoint."""
    from pitstop.service.api import RunRequest

    return RunRequest(
        flow=options.flow,
        inputs=read_inputs(options.inputs, options.given),
        secrets=read_secrets(options.secret, os.environ),
        folder=None if options.workspace == FRESH else options.workspace,
        from_step=options.from_step,
        only=options.only,
        debug=debug,
        can_ask=can_ask,
    )


def read_inputs(file: str | None, given: Sequence[str]) -> dict[str, Any]:
    """Values by name. Those of the command line are text: the flow knows which of them are to be more than that."""
    inputs = {} if file is None else _read_input_file(file)
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name:
            raise BadInputs([f"-i {each!r}: write it as NAME=VALUE"])
        inputs[name] = value
    return inputs


def read_secrets(given: Sequence[str], environment: Mapping[str, str]) -> dict[str, str]:
    secrets = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals and name not in environment:
            raise BadInputs([f"--secret {name}: there is no such variable in the environment"])
        secrets[name] = value if equals else environment[name]
    return secrets


def read_breakpoints(given: Sequence[str]) -> "tuple[BreakpointRequest, ...]":
    return tuple(read_breakpoint(each) for each in given)


def read_breakpoint(text: str) -> "BreakpointRequest":
    """`STEP[:before|after|error][ if JQ]` or `FILE:LINE[ if JQ]`; BadBreakpoint."""
    from pitstop.service.api import BreakpointRequest

    found = _BREAK.fullmatch(text.strip())
    place = found["place"] if found is not None else ""
    line = _LINE.fullmatch(place)
    if found is None or not place or (":" in place and line is None):
        raise BadBreakpoint(f"--break {text!r}: write STEP[:before|after|error][ if JQ], or FILE:LINE")
    position = cast("BreakPosition", found["position"] or "before")
    if line is None:
        return BreakpointRequest(step=place, position=position, condition=found["condition"])
    file = normpath(line["file"])
    return BreakpointRequest(file=file, line=int(line["line"]), position=position, condition=found["condition"])


def _read_input_file(path: str) -> dict[str, Any]:
    try:
        text = Path(path).read_text(encoding="utf-8")
        inputs = json.loads(text) if path.endswith(".json") else _read_yaml(text)
    except (OSError, ValueError) as error:
        raise BadInputs([f"--inputs {path}: {getattr(error, 'strerror', None) or error}"]) from error
    if not isinstance(inputs, dict) or not all(isinstance(name, str) for name in inputs):
        raise BadInputs([f"--inputs {path}: it must have a value for each name, as in `name: value`"])
    return inputs


def _read_yaml(text: str) -> Any:
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
