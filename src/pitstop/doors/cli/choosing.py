"""Which service a command asks: the one in this process, or a server."""

import argparse
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from pitstop.doors.cli.app import Opening, OpenService

if TYPE_CHECKING:
    from pitstop.service.desks import Service

T = TypeVar("T")


def add_server_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--server", metavar="URL", help="use this server ($PITSTOP_SERVER), with the token in $PITSTOP_TOKEN"
    )


def server_of(options: argparse.Namespace) -> str | None:
    """The URL of the server to ask; None for this process."""
    return options.server or os.environ.get("PITSTOP_SERVER") or None


def open_chosen(options: argparse.Namespace, open_service: OpenService) -> Opening:
    url = server_of(options)
    if url is None:
        return open_service()
    from pitstop.service.remote.opening import open_remote_service

    return open_remote_service(url, _token())


def elsewhere_of(options: argparse.Namespace) -> str | None:
    """The words with which other commands reach a run of the server; None for a run in this process."""
    server = server_of(options)
    return None if server is None else f" --server {server}"


def ask(opening: Opening, question: Callable[["Service"], Awaitable[T]]) -> T:
    """The answer to one question."""
    import asyncio

    async def asked() -> T:
        async with opening as service:
            return await question(service)

    return asyncio.run(asked())


def _token() -> str | None:
    """The token in the environment, or the one that a server of this user has left in the state folder."""
    given = os.environ.get("PITSTOP_TOKEN")
    if given:
        return given
    from pitstop.settings import read_settings

    try:
        return read_settings().token_file.read_text().strip() or None
    except OSError:
        return None
