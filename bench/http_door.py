"""How fast the HTTP door tells and obeys, on the loopback: the server and its clients are processes of their own.

    python bench/http_door.py             # about a minute
    python bench/http_door.py --quick     # to see that it works, not to quote

Events to 200 clients come from a run that is paced by the clock, so that the rate is the same everywhere; hits and
steps are those of a real run. It ends with 0 when every target was reached, 1 when one was missed and not --quick.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvloop

sys.path.insert(0, str(Path(__file__).parents[1]))  # for what the tests have

API = "/api/v1"
CLIENTS = 200
EVENTS_PER_SECOND = 5000
STEPS = 1000
WARM_UPS = 20
MARK = b'data: {"schema"'


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: latencies in seconds, and how many events did not come."""

    work: str
    latencies: Sequence[float]
    to_reach_seconds: float
    lost: int = 0

    def quantile(self, share: float) -> float:
        return sorted(self.latencies)[min(len(self.latencies) - 1, int(share * len(self.latencies)))]

    @property
    def reached(self) -> bool:
        return self.lost == 0 and self.quantile(0.99) < self.to_reach_seconds

    def cells(self) -> tuple[str, ...]:
        figures = [statistics.median(self.latencies), self.quantile(0.99), max(self.latencies)]
        shown = [f"{1000 * figure:.1f}" for figure in figures]
        wanted = f"< {1000 * self.to_reach_seconds:.0f} ms"
        return (self.work, *shown, str(self.lost), wanted, "reached" if self.reached else "MISSED")

    def to_json(self) -> dict[str, Any]:
        p99 = self.quantile(0.99)
        return {
            "work": self.work,
            "samples": len(self.latencies),
            "p50_seconds": statistics.median(self.latencies),
            "p99_seconds": p99,
            "lost": self.lost,
        }


# --- The server, in a process of its own -----------------------------------------------------------------------------


class PacedRun:
    """A run whose events come by the clock; each has the time at which it came to be."""

    id = "paced"

    def __init__(self, seconds: float) -> None:
        self.count = int(seconds * EVENTS_PER_SECOND)
        self.started = asyncio.Event()

    async def info(self) -> Any:
        from pitstop.service.runs import RunInfo

        return RunInfo(id="paced", flow="paced", file="", status="running", created_at=0.0, last_event=0)

    async def events(self, after: int = 0) -> AsyncIterator[Any]:
        from pitstop.service.runs import EventInfo

        await self.started.wait()
        begun = time.time() - after / EVENTS_PER_SECOND
        number = after
        while number < self.count:
            due = min(self.count, int((time.time() - begun) * EVENTS_PER_SECOND))
            while number < due:
                number += 1
                fields = {"frame": "main", "step": "build", "occurrence": f"build[{number}]"}
                yield EventInfo(number, "step.started", time.time(), fields)
            await asyncio.sleep(0.002)

    def hear_progress(self, listener: object) -> Callable[[], None]:
        """It has no files, so there is no progress to report."""
        return lambda: None


class PacedRuns:
    """As much of the runs as a stream asks for."""

    def __init__(self, seconds: float) -> None:
        self._run = PacedRun(seconds)

    async def get(self, _caller: object, _run: str) -> PacedRun:
        return self._run

    def begin(self) -> None:
        self._run.started.set()


async def serve_paced(seconds: float) -> None:
    from pitstop.doors.http.app import create_app
    from pitstop.doors.http.server import HttpServer, allow_connections, open_socket
    from pitstop.service.access import Access
    from pitstop.service.desks import Service
    from pitstop.service.in_memory import MemoryTokens

    keeper = MemoryTokens()
    nothing: Any = object()
    runs: Any = PacedRuns(seconds)
    desks = {**dict.fromkeys(Service.__struct_fields__, nothing), "runs": runs, "access": Access(keeper)}
    asyncio.get_running_loop().add_reader(sys.stdin, lambda: (sys.stdin.readline(), runs.begin()))
    listening = open_socket("127.0.0.1", 0)
    print(json.dumps({"port": listening.getsockname()[1], "token": keeper.token}), flush=True)
    allow_connections()
    await HttpServer(create_app(Service(**desks), nothing, nothing, web=None)).serve(sockets=[listening])


async def serve_real(folder: Path) -> None:
    """A whole server, with its database."""
    from urllib.parse import urlsplit

    from pitstop.serving.house import Open, Serving, serve
    from pitstop.settings import Settings

    settings = Settings(folder)

    def tell(house: Open) -> None:
        token = settings.token_file.read_text().strip()
        print(json.dumps({"port": urlsplit(house.url).port, "token": token}), flush=True)

    await serve(Serving(settings=settings, port=0), tell)


class Server:
    """The other process."""

    def __init__(self, kind: str, seconds: float = 0.0) -> None:
        self._folder = tempfile.TemporaryDirectory()
        command = [sys.executable, __file__, "--serve", kind, "--seconds", str(seconds), "--folder", self._folder.name]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        told = json.loads(self.process.stdout.readline())
        self.port, self.token = told["port"], told["token"]

    def begin(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *error: object) -> None:
        self.process.terminate()
        self.process.wait()
        self._folder.cleanup()

    def request(self, path: str) -> bytes:
        head = f"GET {API}{path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.token}\r\n\r\n"
        return head.encode()


# --- Events to many clients ------------------------------------------------------------------------------------------


class Follower(asyncio.Protocol):
    """Counts events as they come, and looks at the oldest and the newest of each piece that it is given."""

    def __init__(self, request: bytes, latencies: list[float]) -> None:
        self._request = request
        self._latencies = latencies
        self.is_open = asyncio.get_running_loop().create_future()
        self.ended = asyncio.get_running_loop().create_future()
        self.events = 0
        self._tail = b""  # an event may come in two pieces

    def connection_made(self, transport: Any) -> None:
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        now = time.time()
        if not self.is_open.done():
            self.is_open.set_result(None)
        self.events += (self._tail + data).count(MARK)
        self._tail = data[-len(MARK) + 1 :]
        for start in (data.find(b'"at":'), data.rfind(b'"at":')):
            end = data.find(b",", start)
            if start >= 0 and end >= 0:
                self._latencies.append(now - float(data[start + 5 : end]))
        if b"event: end" in data and not self.ended.done():
            self.ended.set_result(None)


async def measure_fan_out(seconds: float) -> Row:
    latencies: list[float] = []
    with Server("paced", seconds) as server:
        loop = asyncio.get_running_loop()
        request = server.request("/runs/paced/events")
        followers = []
        for _ in range(CLIENTS):
            _, follower = await loop.create_connection(lambda: Follower(request, latencies), "127.0.0.1", server.port)
            followers.append(follower)
        await asyncio.gather(*(follower.is_open for follower in followers))
        server.begin()
        async with asyncio.timeout(seconds * 5 + 10):
            await asyncio.gather(*(follower.ended for follower in followers))
    wanted = int(seconds * EVENTS_PER_SECOND)
    lost = sum(wanted - follower.events for follower in followers)
    return Row(f"{EVENTS_PER_SECOND} events/s to {CLIENTS} clients", latencies, 0.1, lost)


# --- Hits and steps --------------------------------------------------------------------------------------------------


class Stops(asyncio.Protocol):
    """The stops that the event stream tells of, each with the time at which it was told."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._rest = b""
        self.told: asyncio.Queue[tuple[float, dict[str, Any]]] = asyncio.Queue()

    def connection_made(self, transport: Any) -> None:
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        now = time.time()
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if line.startswith(b"data: {") and b'"debug.stopped"' in line:
                self.told.put_nowait((now, json.loads(line[6:])))


class Client:
    """Requests one after the other on one connection, with nothing in between that takes time of its own."""

    def __init__(self, server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._head = f"Host: localhost\r\nAuthorization: Bearer {server.token}\r\nContent-Type: application/json\r\n"
        self._reader = reader
        self._writer = writer

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        content = json.dumps(body)
        head = f"POST {API}{path} HTTP/1.1\r\n{self._head}Content-Length: {len(content)}\r\n\r\n"
        self._writer.write((head + content).encode())
        told = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(told.partition("content-length: ")[2].partition("\r\n")[0])
        answer = json.loads(await self._reader.readexactly(length))
        if not told.startswith("http/1.1 2"):
            raise RuntimeError(f"{path}: {answer}")
        return answer


async def measure_steps(count: int) -> list[Row]:
    hits, steps = [], []
    lines = "".join(f"  - {{id: s{number}, sleep: 0s}}\n" for number in range(count + WARM_UPS + 2))
    with Server("real") as server:
        client = Client(server, *await asyncio.open_connection("127.0.0.1", server.port))
        body = {"flow": {"text": f"steps:\n{lines}"}, "debug": {"stop_at_entry": True}}
        run = (await client.post("/runs", body))["id"]
        request = server.request(f"/runs/{run}/events")
        loop = asyncio.get_running_loop()
        _, stops = await loop.create_connection(lambda: Stops(request), "127.0.0.1", server.port)
        _, stop = await stops.told.get()
        for _ in range(count + WARM_UPS):
            said_at = time.time()
            await client.post(f"/runs/{run}/debug/step", {"stop": stop["stop"], "kind": "over"})
            told_at, stop = await stops.told.get()
            steps.append(told_at - said_at)
            hits.append(told_at - stop["at"])
        await client.post(f"/runs/{run}/debug/abort", {})
    return [
        Row("hit of a stop -> event at the client", hits[WARM_UPS:], 0.01),
        Row("step command -> next stop at the client", steps[WARM_UPS:], 0.01),
    ]


def format_table(rows: Sequence[Row]) -> str:
    cells = [("work", "p50 ms", "p99 ms", "most ms", "lost", "p99 to reach", "verdict"), *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in cells
    ]
    return "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]])


async def measure(quick: bool) -> list[Row]:
    return [await measure_fan_out(2.0 if quick else 20.0), *await measure_steps(50 if quick else STEPS)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few seconds: to see it work, not to quote")
    parser.add_argument("--json", type=Path, default=Path(__file__).with_name("http_door.json"))
    parser.add_argument("--serve", choices=("paced", "real"), help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=0.0, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        is_paced = arguments.serve == "paced"
        uvloop.run(serve_paced(arguments.seconds) if is_paced else serve_real(arguments.folder))
        return 0
    rows = uvloop.run(measure(arguments.quick))
    print(format_table(rows))
    if not arguments.quick:
        arguments.json.write_text(json.dumps([row.to_json() for row in rows], indent=1) + "\n")
    return 0 if arguments.quick or all(row.reached for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
