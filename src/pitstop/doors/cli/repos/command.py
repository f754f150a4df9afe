"""`pitstop repos`: the repositories on a server, their flows and tests, and what was pushed to them."""

import argparse
import json
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import TypeVar, get_args

from msgspec import to_builtins

from pitstop.doors.cli.app import OpenService
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.doors.cli.repos.servers import add_server_option, ask_server, desks_of, server_url
from pitstop.errors import CommandRefused, NeedsServer
from pitstop.program import program
from pitstop.service.caller import LOCAL
from pitstop.service.desks import Service
from pitstop.service.repos import FiringInfo, PushInfo, RepoChanges, RepoFlowInfo, RepoInfo
from pitstop.service.test_history import StateFilter, TestPage, TestSummary

DONE = {"protect": "protected", "unprotect": "unprotected", "enable": "enabled", "disable": "disabled"}
ACTS = ("ls", "flows", "pushes", "tests", *DONE, "rm")

T = TypeVar("T")


def repos_command(words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> None:
    options = _parser().parse_args(words)
    url = server_url(options)
    if options.act == "ls":
        repos = ask_server(url, lambda service: desks_of(service)[0].list(LOCAL))
        _show(options, repos, _repo_line)
        if not repos and not options.json:
            print(f"no repositories: take one in with `{program()} ingest`")
        return
    if options.repo is None:
        raise CommandRefused(f"`pitstop repos {options.act}` needs the name of a repository")
    match options.act:
        case "flows":
            _show(options, ask_server(url, lambda service: desks_of(service)[1].flows(LOCAL, options.repo)), _flow_line)
        case "pushes":
            page = ask_server(
                url, lambda service: desks_of(service)[0].pushes(LOCAL, options.repo, limit=options.limit)
            )
            _show(options, page.pushes, _push_lines)
        case "tests":
            _show_tests(url, options)
        case "rm":
            ask_server(url, lambda service: desks_of(service)[0].delete(LOCAL, options.repo))
            print(f"deleted {options.repo}; its runs are kept")
        case _:
            _change(url, options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pitstop repos",
        description="List repositories, the flows of one, its tests, or its pushes with what each started. Protect "
        "branches, switch flows on or off, or delete a repository.",
    )
    parser.add_argument("act", choices=ACTS, nargs="?", default="ls", help="what to do (ls)")
    parser.add_argument("repo", metavar="REPO", nargs="?", help="the repository")
    parser.add_argument("names", metavar="NAME", nargs="*", help="branches to protect, or flows to enable or disable")
    parser.add_argument("--limit", metavar="N", type=int, default=20, help="maximum number of pushes or tests (20)")
    parser.add_argument("--state", choices=get_args(StateFilter), default="failing", help="which tests (failing)")
    parser.add_argument("--branch", metavar="B", help="of which branch the tests are (the default branch)")
    parser.add_argument("--json", action="store_true", help="newline-delimited JSON")
    add_server_option(parser)
    return parser


def _show_tests(url: str, options: argparse.Namespace) -> None:
    page = ask_server(url, partial(_tests_of, options, options.state))
    _show(options, page.tests, _test_line)
    if page.tests or options.json:
        return
    branch = options.branch or "the default branch"
    if ask_server(url, partial(_tests_of, options, "all")).tests:
        print(f"no {options.state} tests on {branch}")
    else:
        print(f"no test reports on {branch} yet: `tests:` of a step says where its report is")


async def _tests_of(options: argparse.Namespace, state: StateFilter, service: Service) -> TestPage:
    if service.test_history is None:
        raise NeedsServer("this command")
    asked = {"ref": options.branch, "state": state, "limit": options.limit}
    return await service.test_history.tests(LOCAL, options.repo, **asked)


def _change(url: str, options: argparse.Namespace) -> None:
    """Protect branches, or switch flows."""
    if not options.names:
        raise CommandRefused(f"`pitstop repos {options.act}` needs at least one name")
    if options.act in ("enable", "disable"):
        is_on = options.act == "enable"
        ask_server(
            url, lambda service: desks_of(service)[1].set_enabled(LOCAL, options.repo, options.names, enabled=is_on)
        )
    else:
        repo = ask_server(url, lambda service: desks_of(service)[0].get(LOCAL, options.repo))
        named = {*options.names}
        protected = {*repo.protected} | named if options.act == "protect" else {*repo.protected} - named
        changes = RepoChanges(protected=tuple(sorted(protected)))
        ask_server(url, lambda service: desks_of(service)[0].update(LOCAL, options.repo, changes))
    print(f"{DONE[options.act]} in {options.repo}: {', '.join(options.names)}")


def _show(options: argparse.Namespace, values: Sequence[T], line: Callable[[T], str]) -> None:
    for each in values:
        print(json.dumps(to_builtins(each), ensure_ascii=False) if options.json else line(each))


def _repo_line(repo: RepoInfo) -> str:
    head = f"{repo.head.sha[:10]} {repo.head.subject}" if repo.head else "no commit yet"
    state = "" if repo.state == "ready" else f"  [{repo.state}{f': {repo.error}' if repo.error else ''}]"
    broken = f", {repo.broken_flows} with errors" if repo.broken_flows else ""
    return f"{repo.id}{state}  {repo.default_branch} {head}  {repo.flows} flow{'s' * (repo.flows != 1)}{broken}"


def _flow_line(flow: RepoFlowInfo) -> str:
    state = "" if flow.is_enabled else "  disabled"
    lines = [f"{flow.name}  {', '.join(flow.triggers) or 'started by hand'}{state}"]
    lines += [f"  {each.file}:{each.line}:{each.column}: {each.message}" for each in flow.problems]
    return "\n".join(lines)


def _push_lines(push: PushInfo) -> str:
    time = datetime.fromtimestamp(push.at).astimezone().strftime("%Y-%m-%d %H:%M")
    moved = f"{(push.old or '(new)')[:10]} -> {(push.new or '(deleted)')[:10]}{' forced' if push.is_forced else ''}"
    ref = push.ref.removeprefix("refs/heads/").replace("refs/tags/", "tag ", 1)
    head = f"{time}  {ref}  {moved}  {push.via} by {push.who or 'unknown'}  {push.subject}"
    return "\n".join([head, *([f"  {push.note}"] if push.note else []), *map(_firing_line, push.firings)])


def _firing_line(firing: FiringInfo) -> str:
    return f"  {firing.outcome:9}  {firing.flow}  {firing.run or firing.reason or ''}"


def _test_line(test: TestSummary) -> str:
    failed = f"failed in {test.failed_runs} of {test.runs} runs"
    return f"{test.state:8}  {test.suite}  {test.name}  {failed}, {test.p50_milliseconds} ms  {test.flow} {test.step}"
