import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pitstop.doors.http.gate.limits import Limits
from pitstop.doors.http.metrics import Metrics
from pitstop.doors.http.streams import events, feeds
from pitstop.doors.http.streams.streams import Streams
from pitstop.runs.live_run import LiveRun
from pitstop.service.caller import LOCAL
from tests.doors.http.bench import API, Bench
from tests.patience import PATIENCE_SECONDS

MANY = "steps: [{id: a, repeat: {times: 40}, steps: [{id: s, sleep: 1ms}]}]"


async def test_every_event_comes_with_its_number_and_kind_and_then_an_end(bench: Bench) -> None:
    run = await bench.start("steps: [{id: a, run: 'true'}]")

    told = [each async for each in bench.stream(f"/runs/{run['id']}/events")]

    *events, end = told
    assert [int(id or 0) for id, _, _ in events] == list(range(1, len(events) + 1))
    assert all(data["kind"] == name and data["number"] == int(id or 0) for id, name, data in events)
    assert (events[0][1], events[-1][1]) == ("run.started", "run.ended")
    assert end == (None, "end", {})


async def test_who_hears_of_the_end_of_a_run_finds_it_ended(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    run = await bench.start("steps: [{id: a, run: 'true'}]", debug={"stop_at_entry": True})
    (stop,) = await bench.wait_stops(run["id"])
    live = await bench.service.runs.get(LOCAL, run["id"])
    assert isinstance(live, LiveRun)
    kept: Any = live.kept
    keep, is_told = kept.keep_artifacts, asyncio.Event()

    async def keep_slowly(files: Any) -> None:
        for _ in range(20):  # enough for somebody who hears of it meanwhile
            await bench.get("/me")
            if is_told.is_set():
                break
        await keep(files)

    monkeypatch.setattr(kept, "keep_artifacts", keep_slowly)
    monkeypatch.setattr(events, "ENDING_SECONDS", PATIENCE_SECONDS)
    await bench.post(f"/runs/{run['id']}/debug/continue", stop=stop["id"])
    async for event in bench.events(run["id"]):
        if event["kind"] == "run.ended":
            is_told.set()
    assert is_told.is_set()
    assert (await bench.get(f"/runs/{run['id']}"))["status"] == "passed"


async def test_a_client_that_comes_back_goes_on_where_it_was(bench: Bench) -> None:
    run = await bench.start(MANY, debug={"breakpoints": [{"step": "s", "hits": "== 20"}]})
    await bench.wait_stops(run["id"])
    path = f"/runs/{run['id']}/events"
    first: list[int] = []
    async with aclosing(bench.stream(path)) as stream:
        async for id, _, _ in stream:
            first.append(int(id or 0))
            if len(first) == 50:
                break
    await bench.post(f"/runs/{run['id']}/debug/continue", all=True)

    rest = [int(id) async for id, _, _ in bench.stream(path, last_id=str(first[-1])) if id]
    late = [int(id) async for id, _, _ in bench.stream(f"{path}?after={first[-1]}") if id]

    assert first + rest == list(range(1, rest[-1] + 1))
    assert late == rest
    assert [name async for _, name, _ in bench.stream(f"{path}?after={rest[-1]}")] == ["end"]


async def test_a_last_event_id_that_is_none_of_ours_begins_at_the_beginning(bench: Bench) -> None:
    run = await bench.start("steps: [{run: 'true'}]")
    await bench.wait_ended(run["id"])
    for id in ("what", "-1", "9" * 30):
        stream = bench.stream(f"/runs/{run['id']}/events", last_id=id)
        assert [int(id) async for id, _, _ in stream if id][:2] == [1, 2]


async def test_everybody_who_follows_gets_every_event_in_order(bench: Bench) -> None:
    run = await bench.start(MANY, debug={"stop_at_entry": True})
    (stop,) = await bench.wait_stops(run["id"])

    async def follow() -> list[int]:
        async with bench.new_client(bench.token) as client:
            return [event["number"] async for event in bench.events(run["id"], client=client)]

    async with asyncio.TaskGroup() as group:
        followers = [group.create_task(follow()) for _ in range(20)]
        await bench.post(f"/runs/{run['id']}/debug/continue", stop=stop["id"])

    numbers = followers[0].result()
    assert numbers == list(range(1, len(numbers) + 1))
    assert all(follower.result() == numbers for follower in followers)


async def test_what_steps_write_is_streamed_in_batches(bench: Bench) -> None:
    run = await bench.start("steps: [{id: a, run: 'seq 1 2000; echo end >&2'}]", debug={"stop_at_entry": True})
    (stop,) = await bench.wait_stops(run["id"])
    await wait_streams(bench, 0)  # that of waiting, too
    batches: list[Any] = []
    told: list[Any] = []

    async def listen() -> None:
        async for _, name, data in bench.stream(f"/runs/{run['id']}/output"):
            (told if name == "told" else batches).append((name, data))

    async with asyncio.TaskGroup() as group:
        group.create_task(listen())
        await wait_streams(bench, 1)
        await bench.post(f"/runs/{run['id']}/debug/continue", stop=stop["id"])

    *written, end = batches
    pieces = [piece for _, data in written for piece in data]
    out = "".join(piece["text"] for piece in pieces if piece["stream"] == "stdout")
    assert out == "".join(f"{number}\n" for number in range(1, 2001))
    assert [piece["text"] for piece in pieces if piece["stream"] == "stderr"] == ["end\n"]
    assert {piece["occurrence"] for piece in pieces} == {"a"}
    assert len(written) < 100
    assert end == ("end", {})


async def test_output_that_came_before_the_listener_is_kept_for_one_who_said_so(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "LATE_SECONDS", PATIENCE_SECONDS)
    body = {"flow": {"text": "steps: [{id: a, run: echo early}]"}, "folder": str(bench.folder)}
    run = (await bench.client.post(f"{API}/runs", params={"hear": "true"}, json=body)).json()
    await bench.wait_ended(run["id"])

    told = [data async for _, _, data in bench.stream(f"/runs/{run['id']}/output?after=0")]

    assert [piece["text"] for piece in told[0]] == ["early\n"]


async def test_a_character_that_comes_in_two_parts_is_told_whole(bench: Bench) -> None:
    script = r"printf '\303'; sleep 0.2; printf '\244\n'"
    body = {"flow": {"text": f"steps: [{{id: a, run: {json.dumps(script)}}}]"}, "folder": str(bench.folder)}
    run = (await bench.client.post(f"{API}/runs", params={"hear": "true"}, json=body)).json()

    told = [data async for _, name, data in bench.stream(f"/runs/{run['id']}/output?after=0") if name is None]

    assert "".join(piece["text"] for batch in told for piece in batch) == "ä\n"


# Clients that do not read


async def wait_streams(bench: Bench, count: int) -> None:
    """Until so many streams are open."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await open_streams(bench) != count:
            pass


async def open_streams(bench: Bench) -> int:
    text = (await bench.client.get("/metrics")).text
    return int(float(next(line.split()[1] for line in text.splitlines() if line.startswith("pitstop_sse_clients "))))


@asynccontextmanager
async def stalled(bench: Bench, run: str, count: int) -> AsyncIterator[list[asyncio.StreamWriter]]:
    """Clients that ask for the events of a run and then do not read a byte."""
    request = f"GET {API}/runs/{run}/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {bench.token}\r\n\r\n"
    writers = []
    try:
        for _ in range(count):
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.setblocking(False)
            await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", bench.port))
            reader, writer = await asyncio.open_connection(sock=connection, limit=1)
            reader._transport.pause_reading()  # type: ignore[attr-defined]
            writers.append(writer)
            writer.write(request.encode())
        yield writers
    finally:
        for writer in writers:
            writer.transport.abort()


async def test_a_client_that_stalls_holds_nobody_up(bench: Bench) -> None:
    run = await bench.start(MANY, debug={"stop_at_entry": True})
    (stop,) = await bench.wait_stops(run["id"])
    await wait_streams(bench, 0)

    async with stalled(bench, run["id"], 5):
        await wait_streams(bench, 5)
        await bench.post(f"/runs/{run['id']}/debug/continue", stop=stop["id"])
        async with asyncio.timeout(PATIENCE_SECONDS):
            kinds = [event["kind"] async for event in bench.events(run["id"])]

    assert kinds[-1] == "run.ended"
    await wait_streams(bench, 0)


async def test_a_thousand_stalled_clients_are_served_and_let_go(tmp_path: Path) -> None:
    async with Bench(tmp_path).serving() as bench:
        run = await bench.start("steps: [{id: a, run: 'true'}]", debug={"stop_at_entry": True})
        (stop,) = await bench.wait_stops(run["id"])
        await wait_streams(bench, 0)

        async with stalled(bench, run["id"], 1000):
            await wait_streams(bench, 1000)
            await bench.post(f"/runs/{run['id']}/debug/set", stop=stop["id"], path=".vars.x", value="x" * 100_000)
            await bench.post(f"/runs/{run['id']}/debug/continue", stop=stop["id"])
            assert (await bench.wait_ended(run["id"]))["status"] == "passed"

        await wait_streams(bench, 0)


async def test_a_stream_that_nobody_reads_is_closed_after_a_while(tmp_path: Path) -> None:
    limits = Limits(stalled_seconds=0.2, heartbeat_seconds=0.05)
    async with Bench(tmp_path, limits).serving() as bench:
        run = await bench.start("steps: [{id: a, run: 'true'}]", debug={"stop_at_entry": True})
        (stop,) = await bench.wait_stops(run["id"])
        await wait_streams(bench, 0)
        async with stalled(bench, run["id"], 1):
            await wait_streams(bench, 1)
            for number in range(60):
                body = {"stop": stop["id"], "path": f".vars.x{number}", "value": "x" * 200_000}
                await bench.post(f"/runs/{run['id']}/debug/set", **body)
            await wait_streams(bench, 0)


async def test_a_quiet_stream_has_heartbeats(tmp_path: Path) -> None:
    async with Bench(tmp_path, Limits(heartbeat_seconds=0.05)).serving() as bench:
        run = await bench.start("steps: [{run: 'true'}]", debug={"stop_at_entry": True})
        await bench.wait_stops(run["id"])
        for path in ("events", "output"):
            comments = 0
            async with bench.client.stream("GET", f"{API}/runs/{run['id']}/{path}") as response:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    async for line in response.aiter_lines():
                        comments += line.startswith(": still here")
                        if comments == 3:
                            break
            assert comments == 3


@pytest.mark.parametrize(
    ("limits", "status", "code"),
    [
        (Limits(streams=2), 503, "server.busy"),
        (Limits(streams_of_one=2), 429, "server.too_many"),
    ],
)
async def test_there_are_only_so_many_streams(tmp_path: Path, limits: Limits, status: int, code: str) -> None:
    async with Bench(tmp_path, limits).serving() as bench:
        run = await bench.start("steps: [{run: 'true'}]", debug={"stop_at_entry": True})
        await bench.wait_stops(run["id"])
        await wait_streams(bench, 0)
        path = f"{API}/runs/{run['id']}/events"
        async with bench.client.stream("GET", path), bench.client.stream("GET", path):
            refused = await bench.client.get(path)
        assert (refused.status_code, refused.json()["code"]) == (status, code)
        assert int(refused.headers["retry-after"]) > 0
        await wait_streams(bench, 0)
        async with bench.client.stream("GET", path) as again:
            assert again.status_code == 200


async def test_a_server_that_ends_lets_its_streams_go_and_they_can_be_taken_up_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    async with bench.serving():
        run = await bench.start("steps: [{run: 'true'}]")
        await bench.wait_ended(run["id"])
        live = await bench.start("steps: [{run: 'true'}]", debug={"stop_at_entry": True})
        await bench.wait_stops(live["id"])
        stream = bench.stream(f"/runs/{live['id']}/events", client=(other := bench.new_client(bench.token)))
        await anext(stream)
    names = [name async for _, name, _ in stream]
    await other.aclose()
    assert "end" not in names

    async with bench.serving():
        assert [event["kind"] async for event in bench.events(run["id"])][-1] == "run.ended"


async def test_who_begins_to_follow_while_the_server_ends_is_let_go_too(bench: Bench) -> None:
    started = await bench.start("steps: [{run: 'true'}]", debug={"stop_at_entry": True})
    await bench.wait_stops(started["id"])
    run = await bench.service.runs.get(LOCAL, started["id"])
    streams = Streams(Limits(), Metrics())

    async with asyncio.timeout(PATIENCE_SECONDS), streams.open():
        streams.close()
        told = b"".join([block async for block in streams.events.blocks(run, 0)])
        told += b"".join([block async for block in streams.output.blocks(run, None)])

    assert b"event: run.started" in told
    assert b"event: end" not in told
