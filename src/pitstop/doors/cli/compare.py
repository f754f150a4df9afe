"""`pitstop compare`: two attempts of agents beside each other."""

import argparse
import json
from collections.abc import Iterator, Sequence

from msgspec import to_builtins

from pitstop.doors.cli.app import OpenService
from pitstop.doors.cli.choosing import add_server_option, ask, open_chosen
from pitstop.doors.cli.exit_codes import PASSED
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.service.caller import LOCAL
from pitstop.service.comparing import Comparison, Pair, Side, compare

WIDTH = 56
EPILOG = """\
An attempt is a run, or a run and a step: RUN:STEP, or RUN:STEP#2 for the second attempt of a step that was retried.

  pitstop compare 20261118-101500-4f2e 20261118-103012-81aa
  pitstop compare 20261118-101500-4f2e:fix 20261118-101500-4f2e:fix#2
"""


def compare_command(words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> int:
    parser = argparse.ArgumentParser(
        prog="pitstop compare",
        description="Compare two attempts of agents: their tool calls, costs and tests.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("left", metavar="RUN[:STEP]", help="the first attempt")
    parser.add_argument("right", metavar="RUN[:STEP]", help="the second attempt")
    parser.add_argument("--json", action="store_true", help="the comparison as JSON")
    add_server_option(parser)
    options = parser.parse_args(words)
    left, right = _attempt(options.left), _attempt(options.right)
    found = ask(open_chosen(options, open_service), lambda service: compare(service, LOCAL, left, right))
    print(json.dumps(to_builtins(found), ensure_ascii=False) if options.json else "\n".join(_lines(found)))
    return PASSED


def _attempt(text: str) -> tuple[str, str | None]:
    run, _, step = text.partition(":")
    return run, step or None


def _lines(found: Comparison) -> Iterator[str]:
    for name, left, right in zip(_NAMES, _facts(found.left), _facts(found.right), strict=True):
        if left or right:
            yield f"{name:<8} {left:<{WIDTH}} {right}".rstrip()
    yield ""
    for index, pair in enumerate(found.pairs):
        yield from _pair(pair, is_first=index == found.first_difference)
    if found.first_difference is None:
        yield "both made the same calls"


_NAMES = ("run", "step", "agent", "status", "turns", "cost", "tokens", "tests", "calls")


def _facts(side: Side) -> tuple[str, ...]:
    tokens = side.tokens or {}
    return (
        side.run,
        side.occurrence,
        f"{side.profile} {side.model or ''}".strip(),
        side.status,
        "" if side.turns is None else str(side.turns),
        "" if side.cost is None else f"{side.cost:.4f} USD",
        f"{tokens.get('in', 0):,} in, {tokens.get('out', 0):,} out" if tokens else "",
        "" if side.tests is None else f"{side.tests[0]}, {side.tests[1]} failed",
        str(side.calls),
    )


def _pair(pair: Pair, *, is_first: bool) -> Iterator[str]:
    sides = [
        "" if call is None else f"{call.number} {call.title}"[:WIDTH].ljust(WIDTH - 8) + f" {call.state}"
        for call in (pair.left, pair.right)
    ]
    mark = "=" if pair.is_same else "≠"
    yield f"{mark:<8} {sides[0]:<{WIDTH}} {sides[1]}{'   first difference' if is_first else ''}".rstrip()
