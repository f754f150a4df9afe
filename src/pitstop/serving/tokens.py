"""`pitstop tokens`: who may use a server, and what for."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Any, get_args
from urllib.parse import quote

from pitstop.definition.durations import parse_duration
from pitstop.service.access import NewToken, TokenInfo
from pitstop.service.caller import Scope
from pitstop.serving.login import ask, server_of

ROLES = {"all": "viewer", "git:read": "viewer", "git:write": "operator"}  # that a token has unless another is given


def tokens_command(words: Sequence[str], open_service: Any, interrupts: Any) -> int:
    """NoServer."""
    parser = _parser()
    options = parser.parse_args(words)
    url, token = server_of(options.server)
    if options.act == "ls":
        for each in asyncio.run(ask(url, token, lambda server: server.get("/tokens", tuple[TokenInfo, ...]))):
            sys.stdout.write(f"{_line(each)}\n")
        return 0
    if options.name is None:
        parser.error(f"{options.act} needs the NAME of a token")
    if options.act == "rm":
        asyncio.run(ask(url, token, lambda server: server.ask("DELETE", f"/tokens/{quote(options.name, safe='')}")))
        return 0
    try:
        lasts_seconds = None if options.lasts is None else parse_duration(options.lasts)
    except ValueError as error:
        parser.error(f"--lasts {options.lasts}: {error}")
    form = {
        "name": options.name,
        "role": options.role or ROLES[options.scope],
        "scope": options.scope,
        "repo": options.repo,
        "lasts_seconds": lasts_seconds,
    }
    added = asyncio.run(ask(url, token, lambda server: server.post("/tokens", form, NewToken)))
    sys.stdout.write(f"{added.token}\n")
    sys.stderr.write("This is the only time that the token is shown.\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pitstop tokens",
        allow_abbrev=False,
        description="Create, list and revoke tokens of a server. With scope git:read or git:write, a token can only be "
        "used by git, as the password with any user name.",
    )
    parser.add_argument("act", choices=("add", "ls", "rm"), help="create one, list all, or revoke one")
    parser.add_argument("name", metavar="NAME", nargs="?", help="whose token it is")
    parser.add_argument("--role", choices=("viewer", "operator"), help="what it allows (viewer)")
    parser.add_argument("--scope", choices=get_args(Scope), default="all", help="what it can be used for (all)")
    parser.add_argument("--repo", metavar="REPO", help="restrict a token for git to this repository")
    parser.add_argument("--lasts", metavar="TIME", help="when it expires, such as 30d (never)")
    parser.add_argument(
        "--server",
        metavar="URL",
        help="the server to use, with the token in $PITSTOP_TOKEN (default: the one on this machine)",
    )
    return parser


def _line(token: TokenInfo) -> str:
    since = datetime.fromtimestamp(token.created_at).astimezone().strftime("%Y-%m-%d %H:%M")
    scope = "" if token.scope == "all" else f"  {token.scope}{f' {token.repo}' if token.repo else ''}"
    until = ""
    if token.expires_at is not None:
        until = f"  until {datetime.fromtimestamp(token.expires_at).astimezone().strftime('%Y-%m-%d %H:%M')}"
    return f"{token.name}  {token.role}{scope}  since {since}{until}"
