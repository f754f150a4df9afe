"""`pitstop fix`: run a command, and let agents repair what it finds."""

import argparse
import asyncio
import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pitstop.doors.cli import exit_codes
from pitstop.doors.cli.app import Opening, OpenService
from pitstop.doors.cli.choosing import add_server_option, open_chosen, server_of
from pitstop.doors.cli.fix.delivering import STEP, finish
from pitstop.doors.cli.fix.own_tree import SHOWN_IGNORED, OwnTree, take_tree
from pitstop.doors.cli.fix.ways import CHOICES, return_to, way_command
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.doors.cli.run_options import read_secrets
from pitstop.doors.cli.watching import add_display_options, is_at_terminal, watch_run
from pitstop.errors import BadInputs
from pitstop.service.caller import LOCAL
from pitstop.service.desks import Service
from pitstop.service.runs import ActiveRun, DebugRequest, FixRequest, RerunRequest, RunQuery, RunRequest

LEASE_SECONDS = 4 * 3600.0
MOST_RUNS = 50  # that are looked at for the last one that failed
EPILOG = """\
The command runs in a copy of this folder, with changes that are not committed. If it fails, the failure is examined
first: tests that cannot run, that pass when run again, or that failed before your change, are reported and not fixed.
Then an agent diagnoses and writes debug/TOPIC/NNN_NAME.md, another repairs, and the command runs again, at most three
times. A fix is applied to this folder. Otherwise you get everything in a paused session.

  pitstop fix -- pytest -q
  pitstop fix --agent codex --secret OPENAI_API_KEY --cost 2 -- npm test
  pitstop fix --resume 20260131-120000-a1b2c3      return to a loop that was left or killed
  pitstop fix 20260131-120000-a1b2c3 guide "The rounding is done in tax.py."

Exit codes: 0 fixed, flaky or skipped; 1 not fixed; 77 paused for you, without a terminal here.
"""


def fix_command(words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> int:
    own, command = _split(words)
    if command is None and len(own) > 1 and own[1] in CHOICES:
        return way_command(own, open_service, interrupts)
    options = _parser().parse_args(own)
    options.workspace, options.given, options.inputs, options.flow = ".", [], None, None
    opening = open_chosen(options, open_service)
    if options.resume is not None:
        options.run, options.way = options.resume, None
        return asyncio.run(return_to(opening, options, interrupts))
    if command is None:
        return asyncio.run(_fix_run(opening, options, interrupts))
    if not command:
        raise BadInputs(["name the command that fails, such as `pitstop fix -- pytest -q`"])
    if options.run is not None:
        raise BadInputs([f"{options.run}: name a run or a command, not both"])
    if server_of(options) is not None:
        raise BadInputs(["a command runs on this machine: with --server, name a failed run to fix"])
    return asyncio.run(_fix_command(opening, options, command, interrupts))


def _split(words: Sequence[str]) -> tuple[list[str], list[str] | None]:
    """The options, and the command behind `--`; None if there is none."""
    given = list(words)
    if "--" not in given:
        return given, None
    at = given.index("--")
    return given[:at], given[at + 1 :]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pitstop fix",
        allow_abbrev=False,
        usage="pitstop fix [OPTIONS] -- COMMAND...\n       pitstop fix [OPTIONS] [RUN]\n"
        "       pitstop fix RUN take-over|continue|guide|roll-back|skip|stop [TEXT]",
        description="Run a command, and let agents repair what it finds.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", metavar="RUN", nargs="?", help="the failed run to fix (the last one of this folder)")
    parser.add_argument("--agent", metavar="PROFILE", default="claude", help="the agent for both roles (claude)")
    parser.add_argument("--diagnose", metavar="PROFILE", help="the agent that diagnoses")
    parser.add_argument("--fix", metavar="PROFILE", help="the agent that repairs")
    parser.add_argument("--model", metavar="NAME", help="the model of the agents")
    parser.add_argument("--goal", metavar="TEXT", help="what the change is for, for the prompts")
    parser.add_argument("--iterations", metavar="N", type=int, help="iterations of a round, 1 to 10 (3)")
    parser.add_argument("--cost", metavar="USD", type=float, help="maximum cost of all agents together")
    parser.add_argument("--time", metavar="DURATION", help="maximum time at work (30m)")
    parser.add_argument("--lines", metavar="N", type=int, help="maximum number of changed lines (400)")
    parser.add_argument("--base", metavar="REV", help="the commit to compare with, or `none`")
    parser.add_argument("--tests", metavar="PATTERN", action="append", default=[], help="JUnit reports of the command")
    parser.add_argument("--allow-tests", action="store_true", help="let agents change tests")
    parser.add_argument("--allow-pre-existing", action="store_true", help="exit with 0 if all failures are older")
    parser.add_argument("--no-early-stop", action="store_true", help="use all iterations, even without progress")
    parser.add_argument("--in-place", action="store_true", help="work in this folder, and not in a copy")
    parser.add_argument("--ci", action="store_true", help="never pause: what is not fixed fails")
    parser.add_argument("--summary", metavar="FILE", help="append a summary in Markdown ($GITHUB_STEP_SUMMARY)")
    parser.add_argument("--resume", metavar="RUN", help="return to a loop that was left, or whose process was killed")
    parser.add_argument(
        "--secret", metavar="NAME[=VALUE]", action="append", default=[], help="a secret that only the agents get"
    )
    add_display_options(parser)
    add_server_option(parser)
    return parser


def read_options(options: argparse.Namespace, base: str | None = None) -> dict[str, Any]:
    """What `fix` in a flow would say."""
    numbers = {name: getattr(options, name) for name in ("iterations", "cost", "time", "lines", "goal")}
    roles = {"agent": options.agent, "diagnose": options.diagnose, "fix": options.fix}
    return {
        **{name: value for name, value in {**numbers, **roles}.items() if value is not None},
        **({} if options.model is None else {"with": {"model": options.model}}),
        "secrets": [each.partition("=")[0] for each in options.secret],
        "base": options.base or base or "auto",
        "allow_tests": options.allow_tests,
        "allow_pre_existing": options.allow_pre_existing,
        "early_stop": not options.no_early_stop,
    }


def flow_text(options: argparse.Namespace, command: Sequence[str], base: str | None) -> str:
    """The flow of the loop: one step, as JSON, which is YAML too."""
    script = shlex.join(command) if len(command) > 1 else command[0]
    reports = options.tests or (["pytest"] if _is_pytest(command) else [])
    step = {"id": STEP, "run": script, **({"tests": reports} if reports else {}), "fix": read_options(options, base)}
    return json.dumps({"name": "fix", "steps": [step]}, indent=1)


def _is_pytest(command: Sequence[str]) -> bool:
    words = shlex.split(command[0]) if len(command) == 1 else command
    return any(Path(word).name in ("pytest", "py.test") for word in words)


async def _fix_command(
    opening: Opening, options: argparse.Namespace, command: Sequence[str], interrupts: Interrupts
) -> int:
    folder = Path.cwd()
    tree = None if options.in_place else take_tree(folder)
    if tree is not None and tree.ignored:
        shown = ", ".join(tree.ignored[:SHOWN_IGNORED]) + (", …" if len(tree.ignored) > SHOWN_IGNORED else "")
        print(f"not in the copy, because git ignores it: {shown} (--in-place works here instead)", file=sys.stderr)
    base = None if tree is None else tree.base or "none"
    request = RunRequest(
        flow=str(folder / "fix.yaml"),
        text=flow_text(options, command, base),
        secrets=read_secrets(options),
        folder=str(folder if tree is None else tree.source),
        commit=None if tree is None else tree.commit,
        debug=_debug_of(options),
        can_ask=is_at_terminal(options),
    )
    async with opening as service:
        run = await service.runs.start(LOCAL, request)
        return await _watch(service, run, options, interrupts, shlex.join(command), tree)


async def _fix_run(opening: Opening, options: argparse.Namespace, interrupts: Interrupts) -> int:
    """Run the failed step of a run again, in a loop. It works where the run did."""
    async with opening as service:
        failed = options.run or await _last_failed(service)
        request = RerunRequest(
            fix=FixRequest(options=read_options(options)),
            secrets=read_secrets(options),
            debug=_debug_of(options),
            can_ask=is_at_terminal(options),
        )
        run = await service.runs.rerun(LOCAL, failed, request)
        return await _watch(service, run, options, interrupts, f"run {failed}")


async def _last_failed(service: Service) -> str:
    page = await service.runs.list(LOCAL, RunQuery(status=("failed", "timed_out"), limit=MOST_RUNS))
    here = Path.cwd()
    found = next((each.id for each in page.runs if Path(each.file).is_relative_to(here) and each.failures), None)
    if found is None:
        raise BadInputs(["no run of this folder has failed: name a command, such as `pitstop fix -- pytest -q`"])
    return found


def _debug_of(options: argparse.Namespace) -> DebugRequest | None:
    """The session of the loop; none in CI, where nothing pauses."""
    if options.ci:
        return None
    return DebugRequest(
        stop_on_error=False,
        flow_breakpoints=False,
        remembers=False,
        lease_seconds=LEASE_SECONDS,
        on_lease_end="continue",
    )


async def _watch(
    service: Service,
    run: ActiveRun,
    options: argparse.Namespace,
    interrupts: Interrupts,
    what: str,
    tree: OwnTree | None = None,
) -> int:
    code = await watch_run(service, run, options, interrupts)
    return code if code == exit_codes.DETACHED else await finish(run, tree, options, what, code)
