"""Which server the commands for repositories ask: the one that is named, or the one of this user."""

import argparse
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pitstop.doors.cli.choosing import add_server_option
from pitstop.errors import NeedsServer, NoServer
from pitstop.settings import Settings, read_settings

if TYPE_CHECKING:  # git asks for credentials with every command: that has to be quick
    from pitstop.service.desks import Service
    from pitstop.service.repos import Repos, Triggers

__all__ = ["add_server_option", "ask_server", "desks_of", "server_url", "token_for"]

T = TypeVar("T")


def server_url(options: argparse.Namespace) -> str:
    """The URL of the server; NoServer."""
    found = options.server or os.environ.get("PITSTOP_SERVER") or _line_in(read_settings().address_file)
    if not found:
        raise NoServer
    return str(found).rstrip("/")


def token_for(url: str, settings: Settings) -> str | None:
    """The token for a server: the one in the environment, or for a server of this user the one in its file."""
    given = os.environ.get("PITSTOP_TOKEN")
    if given:
        return given
    own = _line_in(settings.address_file)
    return _line_in(settings.token_file) if own is not None and own.rstrip("/") == url.rstrip("/") else None


def ask_server(url: str, question: "Callable[[Service], Awaitable[T]]") -> T:
    """The answer of a server to some questions."""
    import asyncio

    from pitstop.service.remote.opening import open_remote_service

    settings = read_settings()
    token = os.environ.get("PITSTOP_TOKEN") or _line_in(settings.token_file)

    async def asked() -> T:
        async with open_remote_service(url, token) as service:
            return await question(service)

    return asyncio.run(asked())


def desks_of(service: "Service") -> "tuple[Repos, Triggers]":
    if service.repos is None or service.triggers is None:
        raise NeedsServer("this command")
    return service.repos, service.triggers


def _line_in(file: Path) -> str | None:
    try:
        return file.read_text().strip() or None
    except OSError:
        return None
