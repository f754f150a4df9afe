"""`pitstop login`: a fresh link to a server that runs already."""

import argparse
import asyncio
import os
import sys
import webbrowser
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pitstop.errors import NoServer, PitstopError
from pitstop.service.wire import LoginLink
from pitstop.settings import Settings, read_settings

if TYPE_CHECKING:
    from pitstop.service.remote.connection import Connection

T = TypeVar("T")


def login_command(words: Sequence[str], open_service: Any, interrupts: Any) -> int:
    """Print the link, and open it where there is a screen."""
    parser = argparse.ArgumentParser(
        prog="pitstop login",
        description="Print a login link to a running server. It works once and expires in five minutes.",
        allow_abbrev=False,
    )
    parser.add_argument("--server", metavar="URL", help="use this server, with the token in $PITSTOP_TOKEN")
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    options = parser.parse_args(words)
    url, token = server_of(options.server)
    show_link(asyncio.run(new_link(url, token)), options.no_browser)
    return 0


def server_of(chosen: str | None) -> tuple[str, str | None]:
    """The URL of the chosen server, or of the one on this machine, and the token for it; NoServer."""
    settings = read_settings()
    url = chosen or os.environ.get("PITSTOP_SERVER") or _line_in(settings.address_file)
    if url is None:
        raise NoServer
    return url, os.environ.get("PITSTOP_TOKEN") or _line_in(settings.token_file)


def link_to_running(settings: Settings) -> str | None:
    """A link to the server of this user that runs; None when none does."""
    url = _line_in(settings.address_file)  # where it is, or was before it was killed
    if url is None:
        return None
    with suppress(PitstopError):  # it is gone, and perhaps somebody else listens there now
        return asyncio.run(new_link(url, _line_in(settings.token_file)))
    return None


async def new_link(url: str, token: str | None) -> str:
    return (await ask(url, token, lambda server: server.post("/login-links", None, LoginLink))).url


async def ask(url: str, token: str | None, question: "Callable[[Connection], Awaitable[T]]") -> T:
    """The answer of a server to one question."""
    from pitstop.service.remote.connection import Connection  # noqa: PLC0415 - `--help` and a server do not need it

    connection = Connection(url, token)
    try:
        return await question(connection)
    finally:
        await connection.close()


def show_link(link: str, no_browser: bool) -> None:
    sys.stdout.write(f"One-time login link: {link}\n")
    sys.stdout.flush()
    if not no_browser and _has_screen():
        webbrowser.open(link)


def _line_in(file: Path) -> str | None:
    try:
        return file.read_text().strip() or None
    except OSError:
        return None


def _has_screen() -> bool:
    return sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
