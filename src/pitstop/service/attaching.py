"""Attaching to a run of another process of this user, over a Unix socket in the folder of the run."""

import os
import socket
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from pathlib import Path
from typing import Protocol

from pitstop.service.access import Access
from pitstop.service.caller import LOCAL, Caller
from pitstop.settings import Settings

SOCKET = "attach.sock"
LONGEST_PATH = 100  # bytes in the name of a socket, which is 103 or more wherever there are any


class Attaching(Protocol):
    """The desk that lets other processes of this user attach to the runs of this one."""

    def open(self, run: str) -> AbstractAsyncContextManager[None]:
        """Let them attach to a run, until the context is left."""
        ...


class SocketAccess(Access):
    """Access over a socket that only the user of this process can open: each caller is that user."""

    async def who(
        self, *, bearer: str | None = None, session: str | None = None, key: str | None = None
    ) -> Caller | None:
        return Caller(LOCAL.name, LOCAL.role, key)


def socket_of(settings: Settings, run: str) -> Path:
    return settings.runs / run / SOCKET


def newest_attachable(settings: Settings) -> str | None:
    """The newest run that can be attached to; the socket of a process that was killed accepts no connection."""
    runs = sorted((file.parent.name for file in settings.runs.glob(f"*/{SOCKET}")), reverse=True)
    return next((run for run in runs if is_attachable(settings, run)), None)


def is_attachable(settings: Settings, run: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe, suppress(OSError), short_name(socket_of(settings, run)) as name:
        probe.connect(name)
        return True
    return False


@contextmanager
def short_name(file: Path) -> Iterator[str]:
    """A name of the socket that fits into an address, however long its path is, while the context lasts."""
    if len(os.fsencode(file)) <= LONGEST_PATH:
        yield str(file)
        return
    folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{file.name}"
    finally:
        os.close(folder)
