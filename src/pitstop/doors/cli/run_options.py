"""The options of a command that starts a run, and the request that they make."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from posixpath import normpath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from msgspec.structs import replace

from pitstop.doors.cli.choosing import server_of
from pitstop.errors import BadBreakpoint, BadInputs

if TYPE_CHECKING:
    from pitstop.service.runs import BreakpointRequest, DebugRequest, RunInfo, RunRequest

argparse._ = str  # type: ignore[attr-defined] # skips the lookup of translations: there are none
FRESH = "fresh"
LOOPBACK = ("localhost", "127.0.0.1", "::1")


def has_terminal() -> bool:
    """Whether a person can answer, and debug."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """What says how a flow is to run."""
    add_given_options(parser)
    parser.add_argument("--only", metavar="STEP", help="run only this step")
    add_break_option(parser)
    parser.add_argument(
        "--workspace",
        metavar="DIR|fresh",
        default=".",
        help="the folder to run in (default: the current one), or `fresh` for a temporary one",
    )


def add_given_options(parser: argparse.ArgumentParser) -> None:
    """What a run is given, and where it begins."""
    parser.add_argument(
        "-i", "--input", metavar="NAME=VALUE", action="append", default=[], dest="given", help="an input of the flow"
    )
    parser.add_argument("--inputs", metavar="FILE", help="inputs from a YAML or JSON file; -i overrides them")
    parser.add_argument(
        "--secret",
        metavar="NAME[=VALUE]",
        action="append",
        default=[],
        help="a secret for the steps that list it, read from the environment if no value is given; always masked",
    )
    parser.add_argument(
        "--from", metavar="STEP", dest="from_step", help="start at this step; earlier results come from the last run"
    )


def add_commit_options(parser: argparse.ArgumentParser) -> None:
    """Which commit a run again is of."""
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--commit", metavar="REV", help="re-run on this commit, branch or tag, in a fresh checkout")
    chosen.add_argument("--same-commit", action="store_true", help="re-run on the commit of the original run")


def read_commit(options: argparse.Namespace, info: "RunInfo") -> str | None:
    """BadInputs when the run was of no commit."""
    if not options.same_commit:
        commit: str | None = options.commit
        return commit
    if info.commit is None:
        raise BadInputs([f"--same-commit: run {info.id} was not in a git repository"])
    return info.commit.sha


def add_break_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--break",
        metavar="STEP[:before|after|error][ if JQ]",
        action="append",
        default=[],
        dest="breaks",
        help="pause there, if the condition is true; also FILE:LINE",
    )


def read_debug(options: argparse.Namespace, from_step: str | None, **more: Any) -> "DebugRequest":
    """Stop at the first step; that is the one to begin at, whatever runs beside it."""
    from pitstop.service.runs import BreakpointRequest, DebugRequest

    breakpoints = read_breakpoints(options.breaks)
    if from_step is not None:
        breakpoints = (BreakpointRequest(step=from_step, once=True), *breakpoints)
    return DebugRequest(breakpoints=breakpoints, stop_at_entry=from_step is None, **more)


def read_request(options: argparse.Namespace, debug: "DebugRequest | None", *, can_ask: bool) -> "RunRequest":
    """BadInputs, BadBreakpoint. A server is sent the text of a file; one on this machine runs it in the same folder."""
    from pitstop.service.flows import read_target
    from pitstop.service.runs import RunRequest

    flow, text = options.flow, None
    folder = None if options.workspace == FRESH else options.workspace
    server = server_of(options)
    if server is not None:
        text = read_text(flow)
        flow = flow if text is None else str(Path(flow).resolve())
        is_here = urlsplit(server).hostname in LOOPBACK
        folder = str(Path(folder).resolve()) if folder is not None and is_here else None
    return RunRequest(
        flow=flow,
        text=text,
        inputs=read_inputs(options.inputs, options.given, of_graph=read_target(flow) is not None),
        secrets=read_secrets(options),
        folder=folder,
        from_step=options.from_step,
        only=options.only,
        debug=debug,
        can_ask=can_ask,
    )


def read_text(flow: str) -> str | None:
    """The text of a flow file; None for what is no file here."""
    return Path(flow).read_text(encoding="utf-8", errors="replace") if Path(flow).is_file() else None


def read_inputs(file: str | None, given: Sequence[str], *, of_graph: bool = False) -> dict[str, Any]:
    """Values by name. Those of the command line are text: the flow knows which of them are to be more than that.

    A graph says nothing of its state, so what is JSON is read as such.
    """
    inputs = {} if file is None else _read_input_file(file)
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name:
            raise BadInputs([f"-i {each!r}: use NAME=VALUE"])
        inputs[name] = _read_value(value) if of_graph else value
    return inputs


def _read_value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def read_secrets(options: argparse.Namespace) -> dict[str, str]:
    """BadInputs. What is taken from the environment leaves it: commands here have it only where it is listed."""
    environment = os.environ if server_of(options) is None else dict(os.environ)
    secrets: dict[str, str] = {}
    for each in options.secret:
        name, equals, value = each.partition("=")
        if not equals and name not in environment and name not in secrets:
            raise BadInputs([f"--secret {name}: there is no such variable in the environment"])
        secrets[name] = value if equals else environment.pop(name, secrets.get(name, ""))
    return secrets


def read_breakpoints(given: Sequence[str]) -> "tuple[BreakpointRequest, ...]":
    """BadBreakpoint."""
    return tuple(_read_breakpoint(each) for each in given)


def _read_breakpoint(text: str) -> "BreakpointRequest":
    from pitstop.doors.cli.breakpoint_text import read_breakpoint

    try:
        wanted = read_breakpoint(text)
    except BadBreakpoint as error:
        raise BadBreakpoint(f"--break {error}") from error
    if wanted.line is None:
        return wanted
    if not wanted.file:
        raise BadBreakpoint(f"--break {text!r}: line {wanted.line} needs a file: use FILE:LINE")
    return replace(wanted, file=normpath(wanted.file))


def _read_input_file(path: str) -> dict[str, Any]:
    try:
        text = Path(path).read_text(encoding="utf-8")
        inputs = json.loads(text) if path.endswith(".json") else _read_yaml(text)
    except (OSError, ValueError) as error:
        raise BadInputs([f"--inputs {path}: {getattr(error, 'strerror', None) or error}"]) from error
    if not isinstance(inputs, dict) or not all(isinstance(name, str) for name in inputs):
        raise BadInputs([f"--inputs {path}: it must be a mapping, as in `name: value`"])
    return inputs


def _read_yaml(text: str) -> Any:
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
