"""The services that a session talks to: the one in this process, and servers."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any

from pitstop.service.desks import Service
from pitstop.settings import read_settings

OpenService = Callable[[], AbstractAsyncContextManager[Service]]


class Services:
    """Opens services when they are first needed, and closes them in the end.

    A service is a context, and has to be left by the task that entered it: each has one that waits for that.
    """

    def __init__(
        self, open_local: OpenService, spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]
    ) -> None:
        self._open_local = open_local
        self._spawn = spawn
        self._opened: dict[tuple[str, str], asyncio.Future[Service]] = {}
        self._keepers: list[asyncio.Task[None]] = []
        self._is_over = asyncio.Event()

    async def local(self) -> Service:
        return await self._get(("", ""), self._open_local)

    async def remote(self, server: str, token: str) -> Service:
        from pitstop.service.remote.opening import open_remote_service

        return await self._get((server, token), lambda: open_remote_service(server, token or None))

    async def attached(self, run: str) -> Service:
        """The service of another process of this user, which a run is in; NotAttachable."""
        from pitstop.service.remote.opening import open_attached_service

        return await self._get(("", run), lambda: open_attached_service(read_settings(), run))

    async def close(self) -> None:
        """Runs of the service in this process end now."""
        self._is_over.set()
        if self._keepers:
            await asyncio.wait(self._keepers)

    async def _get(self, key: tuple[str, str], open_service: OpenService) -> Service:
        if key not in self._opened:
            self._opened[key] = asyncio.get_running_loop().create_future()
            self._keepers.append(self._spawn(self._keep(self._opened[key], open_service)))
        try:
            return await asyncio.shield(self._opened[key])
        except BaseException:
            if self._opened[key].done() and self._opened[key].exception() is not None:
                del self._opened[key]  # the server may be there the next time
            raise

    async def _keep(self, opened: "asyncio.Future[Service]", open_service: OpenService) -> None:
        try:
            async with open_service() as service:
                opened.set_result(service)
                await self._is_over.wait()
        except Exception as error:
            if opened.done():
                raise
            opened.set_exception(error)
