"""Connections on real sockets: what clients that send half a request can do to those that send a whole one."""

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from pitstop.doors.http.gate.limits import Limits
from tests.doors.http.bench import API, Bench
from tests.patience import PATIENCE_SECONDS, wait_until

HALF = b"GET / HTTP/1.1\r\nHost: a"
WHOLE = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"


@asynccontextmanager
async def connected(bench: Bench, *, source: str = "127.0.0.1") -> AsyncIterator[tuple[StreamReader, StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", bench.port, local_addr=(source, 0))
    try:
        yield reader, writer
    finally:
        writer.close()


async def read_end(reader: StreamReader) -> bytes:
    """What is sent until the server closes the connection."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        return await reader.read()


async def ask(reader: StreamReader, writer: StreamWriter) -> bytes:
    """Send a request, and return the status line and body of its answer. The connection stays open."""
    writer.write(WHOLE)
    async with asyncio.timeout(PATIENCE_SECONDS):
        head = await reader.readuntil(b"\r\n\r\n")
        return head.split(b"\r\n")[0] + b" " + await reader.readexactly(len(b"alive\n"))


async def is_served(bench: Bench) -> bool:
    """Whether a request on a new connection is answered."""
    async with connected(bench) as connection:
        return await ask(*connection) == b"HTTP/1.1 200 OK alive\n"


async def test_a_head_that_does_not_arrive_in_time_is_answered_and_its_connection_closed(tmp_path: Path) -> None:
    async with Bench(tmp_path, Limits(head_seconds=0.1)).serving() as bench, connected(bench) as (reader, writer):
        writer.write(HALF)
        answer = await read_end(reader)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'"code":"request.timeout"' in answer
    assert b"connection: close" in answer


async def test_the_next_head_on_a_connection_has_the_same_time(tmp_path: Path) -> None:
    async with Bench(tmp_path, Limits(head_seconds=0.1)).serving() as bench, connected(bench) as (reader, writer):
        assert await ask(reader, writer) == b"HTTP/1.1 200 OK alive\n"
        writer.write(HALF)
        assert (await read_end(reader)).startswith(b"HTTP/1.1 408 ")


async def test_a_connection_on_which_nothing_is_sent_is_closed_without_an_answer(tmp_path: Path) -> None:
    async with Bench(tmp_path, Limits(head_seconds=0.1)).serving() as bench, connected(bench) as (reader, _):
        assert await read_end(reader) == b""


async def test_an_answered_request_whose_body_never_ends_does_not_keep_its_connection(tmp_path: Path) -> None:
    async with Bench(tmp_path, Limits(head_seconds=0.1)).serving() as bench, connected(bench) as (reader, writer):
        writer.write(b"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n")
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert (await reader.readline()).startswith(b"HTTP/1.1 401 ")
        writer.write(b"{")
        await read_end(reader)


@pytest.mark.parametrize("end", [b"\r\n\r\n", b""])
async def test_a_head_that_is_too_large_is_refused_whether_it_is_whole_or_not(bench: Bench, end: bytes) -> None:
    async with connected(bench) as (reader, writer):
        writer.write(HALF + b"a" * 70_000 + end)
        answer = await read_end(reader)
    assert answer.startswith(b"HTTP/1.1 431 ")
    assert b'"code":"request.head_too_large"' in answer


@pytest.mark.parametrize("limits", [Limits(connections=8), Limits(connections_of_one=8)])
async def test_half_requests_give_way_to_whole_ones(tmp_path: Path, limits: Limits) -> None:
    async with Bench(tmp_path, limits).serving() as bench, AsyncExitStack() as stack:
        run = await bench.start("steps: [{run: 'true'}]", debug={"stop_at_entry": True})
        await bench.wait_stops(run["id"])
        stream = await stack.enter_async_context(bench.client.stream("GET", f"{API}/runs/{run['id']}/events"))
        idle = await stack.enter_async_context(connected(bench))
        assert await ask(*idle) == b"HTTP/1.1 200 OK alive\n"
        first: StreamReader | None = None
        for _ in range(20):
            reader, writer = await stack.enter_async_context(connected(bench))
            writer.write(HALF)
            first = first or reader
            assert await is_served(bench)
        assert first is not None
        assert await read_end(first) == b""
        assert await ask(*idle) == b"HTTP/1.1 200 OK alive\n"
        assert not stream.is_closed


async def test_idle_connections_give_way_when_there_is_no_half_request(tmp_path: Path) -> None:
    async with Bench(tmp_path, Limits(connections=3)).serving() as bench, AsyncExitStack() as stack:
        idle = [await stack.enter_async_context(connected(bench)) for _ in range(3)]
        for each in idle:
            assert await ask(*each) == b"HTTP/1.1 200 OK alive\n"
        assert await is_served(bench)
        assert await read_end(idle[0][0]) == b""
        assert await ask(*idle[2]) == b"HTTP/1.1 200 OK alive\n"


async def test_connections_of_one_address_leave_room_for_another(tmp_path: Path) -> None:
    limits = Limits(connections=4, connections_of_one=2)
    async with Bench(tmp_path, limits).serving() as bench, AsyncExitStack() as stack:
        others = [await stack.enter_async_context(connected(bench, source="127.0.0.2")) for _ in range(2)]
        for each in others:
            assert await ask(*each) == b"HTTP/1.1 200 OK alive\n"
        ours = [await stack.enter_async_context(connected(bench)) for _ in range(4)]
        for each in ours:
            each[1].write(HALF)
        for reader, _ in ours[:2]:
            assert await read_end(reader) == b""
        for each in others:
            assert await ask(*each) == b"HTTP/1.1 200 OK alive\n"


@pytest.mark.parametrize(
    ("limits", "status", "code"),
    [
        (Limits(connections=2), b"503", b"server.busy"),
        (Limits(connections_of_one=2), b"429", b"server.too_many"),
    ],
)
async def test_a_connection_is_refused_when_all_others_are_being_answered(
    tmp_path: Path, limits: Limits, status: bytes, code: bytes
) -> None:
    async with Bench(tmp_path, limits).serving() as bench:
        run = await bench.start("steps: [{run: 'true'}]", debug={"stop_at_entry": True})
        await bench.wait_stops(run["id"])
        path = f"{API}/runs/{run['id']}/events"
        streams = bench.client.stream("GET", path), bench.client.stream("GET", path)
        async with streams[0], streams[1], connected(bench) as (reader, _):
            answer = await read_end(reader)
        assert answer.startswith(b"HTTP/1.1 %s " % status)
        assert b'"code":"%s"' % code in answer
        assert b"retry-after: " in answer
        await wait_until(lambda: is_served(bench))
