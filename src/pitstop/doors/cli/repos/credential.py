"""`pitstop git-credential`: tells git the token of a server, so that no URL or file has to contain it."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from pitstop.doors.cli.app import OpenService
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.doors.cli.repos.servers import server_url, token_for
from pitstop.errors import NoServer
from pitstop.settings import read_settings

USER = "pitstop"  # any name will do: the token says who it is


def git_credential_command(words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> None:
    parser = argparse.ArgumentParser(
        prog="pitstop git-credential",
        description="A credential helper for git: it answers `get` with the token of the server ($PITSTOP_TOKEN, or "
        "the one of a server of this user), and stores nothing. `pitstop ingest` configures it.",
    )
    parser.add_argument("--server", metavar="URL", help="answer only for this server ($PITSTOP_SERVER)")
    parser.add_argument("operation", metavar="get|store|erase", help="what git asks for")
    options = parser.parse_args(words)
    if options.operation != "get":
        return
    asked = dict(line.partition("=")[::2] for line in sys.stdin.read().splitlines())
    try:
        url = server_url(options)
    except NoServer:
        return
    token = token_for(url, read_settings()) if is_for(url, asked) else None
    if token is not None:
        print(f"username={USER}\npassword={token}")


def is_for(url: str, asked: Mapping[str, str]) -> bool:
    """Whether git asks for the credentials of this very server."""
    parts = urlsplit(url)
    return asked.get("protocol") == parts.scheme and asked.get("host", "").lower() == parts.netloc.lower()
