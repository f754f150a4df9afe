"""Thousands of clients that never finish a request, and one that is served all the time."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from pitstop.doors.http.server import allow_connections
from tests.amounts import amount
from tests.patience import PATIENCE_SECONDS, wait_until
from tests.serving.test_commands import House

HALF_OPEN = amount(100, soak=10_050)
ROUNDS = amount(1, soak=5)


@pytest.mark.repeats
async def test_half_open_connections_shut_nobody_out(tmp_path: Path) -> None:
    allow_connections()
    with House(tmp_path, command="serve").open() as house:
        token = (house.state / "token").read_text().strip()
        async with being_served(house.url, token) as statuses:
            for _ in range(ROUNDS):
                with ExitStack() as stack:
                    for number in range(HALF_OPEN):
                        await open_half(house.url, f"127.0.0.{1 + number % 4}", stack)
                    wanted = len(statuses) + 20
                    await wait_until(partial(has_more, statuses, wanted))
        assert set(statuses) == {200}


def has_more(statuses: list[int], count: int) -> bool:
    return len(statuses) >= count


async def open_half(url: str, source: str, stack: ExitStack) -> None:
    half = stack.enter_context(socket.socket())
    half.setblocking(False)
    half.bind((source, 0))
    address = urlsplit(url)
    await asyncio.get_running_loop().sock_connect(half, (address.hostname, address.port))
    half.send(b"GET / HTTP/1.1\r\nHost: a")


@asynccontextmanager
async def being_served(url: str, token: str) -> AsyncIterator[list[int]]:
    """A client that asks again and again, on a connection that it keeps and on new ones: what it is answered."""
    statuses: list[int] = []
    headers = {"Authorization": f"Bearer {token}"}
    kept = httpx.Limits(max_keepalive_connections=1)
    fresh = httpx.Limits(max_keepalive_connections=0)

    async def ask(limits: httpx.Limits) -> None:
        async with httpx.AsyncClient(headers=headers, timeout=PATIENCE_SECONDS, limits=limits) as client:
            while True:
                statuses.append((await client.get(f"{url}/api/v1/me")).status_code)

    async with asyncio.TaskGroup() as group:
        asking = [group.create_task(ask(limits)) for limits in (kept, fresh)]
        try:
            yield statuses
        finally:
            for task in asking:
                task.cancel()
