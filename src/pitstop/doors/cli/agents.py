"""`pitstop agents`: the agents that a flow can use on this machine, and images to run them in."""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, get_args

from msgspec import to_builtins

from pitstop.doors.cli.app import OpenService
from pitstop.doors.cli.choosing import ask
from pitstop.doors.cli.exit_codes import FAILED, PASSED
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.errors import CommandRefused
from pitstop.program import program
from pitstop.service.agents import AgentInfo, Agents, EngineName
from pitstop.service.caller import LOCAL

if TYPE_CHECKING:
    from pitstop.service.desks import Service

STOPS = {
    "guarantee": "a guarantee: a held tool call cannot run, even if Pitstop ends",
    "convenience": "a convenience: if the agent's own hook fails, a held tool call runs",
    "none": "none: its tool calls cannot be held",
}
EPILOG = """\
  pitstop agents                list agents, and what each needs
  pitstop agents image claude   build an image with Claude Code
  pitstop agents image test     build one with git and Python, to test flows
"""


def agents_command(words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> int:
    options = _parser().parse_args(words)
    if options.act == "image":
        return _build_image(options, open_service)
    if options.name is not None or options.engine is not None or options.tag is not None:
        raise CommandRefused("NAME, --engine and --tag are for `pitstop agents image`")
    agents = ask(open_service(), lambda service: _desk(service).list(LOCAL))
    if options.json:
        print("\n".join(json.dumps(to_builtins(agent), ensure_ascii=False) for agent in agents))
    else:
        print("\n\n".join("\n".join(_lines(agent)) for agent in agents))
    return PASSED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pitstop agents",
        description="List the agents that flows can use, or build a container image with one of them.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("act", choices=("ls", "image"), nargs="?", default="ls", help="what to do (ls)")
    parser.add_argument("name", metavar="NAME", nargs="?", help="the image to build")
    parser.add_argument(
        "--engine", choices=get_args(EngineName), help="command to build with (that of the engine that steps run in)"
    )
    parser.add_argument("--tag", metavar="TAG", help="name and tag of the image (pitstop-agent-NAME:VERSION)")
    parser.add_argument("--json", action="store_true", help="newline-delimited JSON")
    return parser


def _desk(service: "Service") -> Agents:
    if service.agents is None:
        raise CommandRefused("agents are listed on the machine where they are installed, and not by a server")
    return service.agents


def _lines(agent: AgentInfo) -> Iterator[str]:
    """The agent as a paragraph, with its name first."""
    yield f"{agent.name}: {agent.title}"
    if agent.path is None:
        yield f"  program  not installed; to install it: {agent.install}"
    else:
        yield f"  program  {agent.version or agent.problem} ({agent.path})"
    yield f"  needs    {_any_of(agent.secrets)}"
    yield f"  stops    {STOPS[agent.stops]}"
    if agent.image is not None:
        yield f"  image    {agent.image}; to build it: {program()} agents image {agent.name}"


def _any_of(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def _build_image(options: argparse.Namespace, open_service: OpenService) -> int:
    """Run the engine's program in this terminal. Its output goes to stderr, so that stdout has only the result."""
    if options.name is None:
        images = ask(open_service(), lambda service: _desk(service).images(LOCAL))
        raise CommandRefused(f"`pitstop agents image` needs the name of an image: {', '.join(images)}")
    build = ask(
        open_service(),
        lambda service: _desk(service).image_build(LOCAL, options.name, engine=options.engine, image=options.tag),
    )
    done = subprocess.run(build.argv, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False)
    if done.returncode != 0:
        print(f"pitstop: {build.engine} failed to build {build.image} (exit code {done.returncode})", file=sys.stderr)
        return FAILED
    if options.json:
        print(json.dumps({"image": build.image, "engine": build.engine}))
    else:
        print(f"{build.image}\nin a flow: `image: {build.image}`")
    return PASSED
