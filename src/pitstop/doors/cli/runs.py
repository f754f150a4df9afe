"""`pitstop runs`: the runs that are kept, the newest first."""

import argparse
import json
from collections.abc import Sequence
from datetime import datetime
from typing import get_args

from msgspec import to_builtins

from pitstop.doors.cli.app import OpenService
from pitstop.doors.cli.choosing import add_server_option, ask, open_chosen
from pitstop.doors.cli.closing import format_seconds
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.doors.cli.signs import sign_of
from pitstop.service.caller import LOCAL
from pitstop.service.runs import RunInfo, RunQuery, RunStatus

STATUSES = get_args(RunStatus)


def runs_command(words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> None:
    parser = argparse.ArgumentParser(prog="pitstop runs", description="List runs, newest first.")
    parser.add_argument("search", metavar="TEXT", nargs="?", help="only runs with this text in their ID, flow or file")
    parser.add_argument("--status", choices=STATUSES, action="append", default=[], help="only runs with this status")
    parser.add_argument("--flow", metavar="NAME", help="only runs of the flow with this name")
    parser.add_argument("--repo", metavar="REPO", help="only runs of this repository")
    parser.add_argument("--ref", metavar="BRANCH", help="only runs of this branch or tag")
    parser.add_argument("--limit", metavar="N", type=int, default=20, help="maximum number of runs (20)")
    parser.add_argument("--json", action="store_true", help="newline-delimited JSON, one run per line")
    add_server_option(parser)
    options = parser.parse_args(words)
    chosen = {name: getattr(options, name) for name in ("flow", "repo", "ref", "search", "limit")}
    query = RunQuery(status=tuple(options.status), **chosen)
    page = ask(open_chosen(options, open_service), lambda service: service.runs.list(LOCAL, query))
    for run in page.runs:
        print(json.dumps(to_builtins(run), ensure_ascii=False) if options.json else line_of(run))
    if page.next is not None and not options.json:
        print("there are more: raise --limit to show them")


def line_of(run: RunInfo) -> str:
    """A run in one line: its id, how it is doing, when and how long, its flow, and where it failed."""
    began = run.started_at or run.created_at
    time = _moment(began)
    took = format_seconds(run.ended_at - began) if run.ended_at is not None else ""
    where = f"  at {run.failures[0].step}" if run.failures else f"  {run.error}" if run.error else ""
    after = f"  from {run.from_step}" if run.from_step else ""
    by_hand = "  intervened" if run.intervened else ""
    pinned = "  pinned" if run.is_pinned else ""
    kept = f"  files until {_moment(run.kept_until)}" if run.kept_until is not None and not run.is_pinned else ""
    sign = sign_of(run.status).shape
    of_repo = f"  {run.repo} {run.ref or ''}@{run.commit.sha[:7]}" if run.repo and run.commit else ""
    by = f"  {run.started_by}" if run.repo and run.started_by else ""
    rest = f"{of_repo}{by}{after}{where}{by_hand}{pinned}{kept}"
    return f"{run.id}  {sign} {run.status:9}  {time}  {took:>7}  {run.flow}{rest}"


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")
