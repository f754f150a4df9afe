"""`pitstop secrets`: the secrets that a server stores."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from datetime import datetime
from getpass import getpass
from typing import Any

from pitstop.errors import BadSecret
from pitstop.service.secret_scopes import SERVER, check_secret
from pitstop.service.secrets import SecretInfo
from pitstop.serving.login import ask, server_of


def secrets_command(words: Sequence[str], open_service: Any, interrupts: Any) -> int:
    """BadSecret, NoServer."""
    parser = _parser()
    options = parser.parse_args(words)
    url, token = server_of(options.server)
    if options.act == "ls":
        for each in asyncio.run(ask(url, token, lambda server: server.get("/secrets", tuple[SecretInfo, ...]))):
            sys.stdout.write(f"{_line(each)}\n")
        return 0
    if options.name is None:
        parser.error(f"{options.act} needs the NAME of a secret")
    method, body, repos = "DELETE", None, options.repos.split(",") if options.repos else []
    check_secret(options.name, options.scope, repos)
    if options.act == "set":
        method, body = "PUT", {"value": _read_value(options.name), "repos": repos}
    path = f"/secrets/{options.name}"
    asyncio.run(ask(url, token, lambda server: server.ask(method, path, body, scope=options.scope)))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pitstop secrets",
        allow_abbrev=False,
        description="Store, list and remove secrets on a server. A value can be written, but never read.",
    )
    parser.add_argument(
        "act", choices=("set", "ls", "rm"), help="store one, list all without their values, or remove one"
    )
    parser.add_argument(
        "name", metavar="NAME", nargs="?", help="name of the secret; `set` reads its value from standard input"
    )
    parser.add_argument(
        "--scope",
        default=SERVER,
        help="which runs may get it: server (the default), repo:REPO, flow:REPO:FLOW, or flow::FLOW for a stored flow",
    )
    parser.add_argument(
        "--repos", metavar="A,B|*", help="repositories whose runs may get a secret with scope server (default: none)"
    )
    parser.add_argument(
        "--server",
        metavar="URL",
        help="the server to use, with the token in $PITSTOP_TOKEN (default: the one on this machine)",
    )
    return parser


def _read_value(name: str) -> str:
    """The value from the input, without the line break at its end; a terminal does not show it."""
    if sys.stdin.isatty():
        return getpass(f"Value of {name}: ")
    try:
        return sys.stdin.buffer.read().decode().removesuffix("\n")
    except UnicodeDecodeError as error:
        raise BadSecret(f"the value of {name} is not UTF-8: encode it, for example with base64") from error


def _line(secret: SecretInfo) -> str:
    since = datetime.fromtimestamp(secret.created_at).astimezone().strftime("%Y-%m-%d %H:%M")
    repos = f"  for {', '.join(secret.repos)}" if secret.repos else ""
    return f"{secret.name}  {secret.scope}  since {since}{repos}"
