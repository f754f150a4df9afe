"""What a remote service does that a local one need not: be without its server for a while, or altogether."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from pitstop.doors.http.routes import tokens
from pitstop.doors.http.streams import feeds
from pitstop.errors import NotKnown, OtherVersion, ServerTrouble, ServerUnreachable, UnknownRun
from pitstop.service.caller import LOCAL, Caller
from pitstop.service.debugging import verbs
from pitstop.service.remote import connection
from pitstop.service.remote.connection import Connection, parse_event, parse_stream
from pitstop.service.remote.opening import open_remote_service
from pitstop.service.runs import ActiveRun, BreakpointRequest, DebugRequest, Output, RerunRequest, RunRequest
from pitstop.serving.house import Serving, open_house
from pitstop.settings import Settings
from tests.doors.http.bench import Bench
from tests.patience import PATIENCE_SECONDS

FLOW = "steps: [{id: a, run: echo one}, {id: b, run: echo two}]"


async def test_a_server_that_is_not_there_is_told_with_what_to_do() -> None:
    with pytest.raises(ServerUnreachable, match="pitstop up"):
        async with open_remote_service("http://127.0.0.1:9", "token"):
            pass


@pytest.mark.parametrize("url", ["nonsense", "http://", "ftp://127.0.0.1", "http://127.0.0.1:99999"])
async def test_an_address_that_is_none_is_told(url: str) -> None:
    with pytest.raises(ServerUnreachable):
        async with open_remote_service(url, "token"):
            pass


@pytest.mark.parametrize("token", [None, "", "wrong"])
async def test_a_wrong_token_is_told(bench: Bench, token: str | None) -> None:
    with pytest.raises(NotKnown):
        async with open_remote_service(bench.url, token):
            pass


async def test_a_server_of_another_version_is_told(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "VERSION", "7.1.0")
    with pytest.raises(OtherVersion) as refused:
        async with open_remote_service(bench.url, bench.token):
            pass
    assert refused.value.theirs == "7.1.0"


async def test_a_download_that_breaks_off_is_told() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        await writer.drain()
        writer.close()

    breaking = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with breaking:
        server = Connection(f"http://127.0.0.1:{breaking.sockets[0].getsockname()[1]}", "token")
        received = []
        with pytest.raises(ServerUnreachable):
            async for block in server.download("/runs/x/log/download"):
                received.append(block)  # noqa: PERF401 - what came before the error counts
        await server.close()
    assert received == [b"half"]


async def test_a_server_that_is_no_pitstop_is_told() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\nConnection: close\r\n\r\nnope")
        await writer.drain()
        writer.close()

    other = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with other:
        port = other.sockets[0].getsockname()[1]
        with pytest.raises(ServerTrouble, match="is it a Pitstop"):
            async with open_remote_service(f"http://127.0.0.1:{port}", "token"):
                pass


async def test_a_run_and_who_follows_it_survive_a_restart_of_the_server(tmp_path: Path) -> None:
    settings, heard = Settings(tmp_path / "state"), []
    (tmp_path / "work").mkdir()
    stopped = asyncio.Event()

    async def follow(run: ActiveRun) -> None:
        async for event in run.events():
            heard.append(event)
            if event.kind == "debug.stopped":
                stopped.set()

    async with AsyncExitStack() as stack:
        async with open_house(Serving(settings=settings, port=0)) as house:
            port = urlsplit(house.url).port
            token = settings.token_file.read_text().strip()
            service = await stack.enter_async_context(open_remote_service(house.url, token))
            group = await stack.enter_async_context(asyncio.TaskGroup())
            debug, folder = DebugRequest(breakpoints=(BreakpointRequest(step="b"),)), str(tmp_path / "work")
            run = await service.runs.start(LOCAL, RunRequest(flow="x.yaml", text=FLOW, folder=folder, debug=debug))
            following = group.create_task(follow(run))
            await stopped.wait()
            (before,) = (await service.debugging.say(LOCAL, run.id, verbs.State())).stops
        assert not following.done()
        async with open_house(Serving(settings=settings, port=port)):
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not (stops := (await service.debugging.say(LOCAL, run.id, verbs.State())).stops):
                    pass
                assert [stop.id for stop in stops] == [before.id]
                await service.debugging.say(LOCAL, run.id, verbs.Continue(before.id))
                await following
            assert (await run.wait()).status == "passed"
            assert await run.log_tail("b") == ["two"]

    assert [event.number for event in heard] == list(range(1, len(heard) + 1))
    assert heard[-1].kind == "run.ended"


async def test_what_was_written_before_anybody_could_listen_is_heard(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "LATE_SECONDS", PATIENCE_SECONDS)
    heard: list[Output] = []
    async with open_remote_service(bench.url, bench.token) as service:
        run = await service.runs.start(LOCAL, RunRequest(flow="x.yaml", text=FLOW, folder=str(bench.folder)))
        await bench.wait_ended(run.id)
        run.hear_output(heard.append)
        await run.wait()
    assert [(each.occurrence, each.data) for each in heard] == [("a", b"one\n"), ("b", b"two\n")]


async def test_leaving_a_remote_service_leaves_its_runs_alone(bench: Bench) -> None:
    async with open_remote_service(bench.url, bench.token) as service:
        debug = DebugRequest(stop_at_entry=True)
        run = await service.runs.start(
            LOCAL, RunRequest(flow="x.yaml", text=FLOW, folder=str(bench.folder), debug=debug)
        )
        run.hear_output(lambda output: None)
        await anext(aiter(run.events()))
    (stop,) = await bench.wait_stops(run.id)
    await bench.post(f"/runs/{run.id}/debug/continue", stop=stop["id"])
    assert (await bench.wait_ended(run.id))["status"] == "passed"


async def test_a_run_that_there_is_not_is_the_same_error_as_without_a_server(bench: Bench) -> None:
    async with open_remote_service(bench.url, bench.token) as service:
        with pytest.raises(UnknownRun) as refused:
            await service.runs.get(LOCAL, "nope")
    assert refused.value.name == "nope"


async def test_a_flow_on_a_machine_elsewhere_is_sent_as_text(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    file = bench.folder / "mine.yaml"
    file.write_text(FLOW)
    monkeypatch.setattr(connection, "LOOPBACK", ())
    async with open_remote_service(bench.url, bench.token) as service:
        run = await service.runs.start(LOCAL, RunRequest(flow=str(file), folder="/only/here"))
        assert (await run.wait()).status == "passed"
        assert (await run.info()).file == "mine.yaml"


async def test_a_call_that_is_repeated_with_its_key_acts_once(bench: Bench) -> None:
    caller = Caller("the token says who it is", "viewer", "one-key")
    async with open_remote_service(bench.url, bench.token) as service:
        request = RunRequest(flow="x.yaml", text=FLOW, folder=str(bench.folder))
        runs = [await service.runs.start(caller, request) for _ in range(2)]
        again = [await service.runs.rerun(LOCAL, runs[0].id, RerunRequest()) for _ in range(2)]

    assert runs[0].id == runs[1].id
    assert len({runs[0].id, again[0].id, again[1].id}) == 3


async def test_a_stream_is_parsed_wherever_it_is_cut() -> None:
    text = b": hello\n\nid: 1\nevent: a\ndata: {}\n\ndata: x\ndata: y\n\n: still here\n\nid: 3\nda"

    async def blocks(size: int):  # type: ignore[no-untyped-def]
        for start in range(0, len(text), size):
            yield text[start : start + size]

    for size in (1, 2, 7, 100):
        events = [(each.id, each.name, each.data) async for each in parse_stream(blocks(size))]
        assert events == [("1", "a", b"{}"), (None, "message", b"x\ny")]
    assert parse_event(b": only a comment") is None


async def test_the_client_follows_no_proxy_of_the_environment(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    async with open_remote_service(bench.url, bench.token) as service:
        assert await service.flows.list(LOCAL) == ()
    with pytest.raises(httpx.ConnectError):
        async with httpx.AsyncClient() as client:
            await client.get(bench.url)
