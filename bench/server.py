"""A server of Pitstop beside Prefect with its own: runs from the request to the end, and a restart with many in flight.

    python bench/server.py                    # everything, about 10 minutes
    python bench/server.py --only restart     # some of it: runs, restart
    python bench/server.py --quick            # few runs: to see that it works, not to quote

Prefect 3 goes to an environment of its own (.venv-prefect), with its server on SQLite as it comes. With many runs at
once that answers 503, so for these it has a PostgreSQL of its own, and Pitstop stays on SQLite. Prefect's flow is
called in the process of the client, which saves it the start of a process for every run: the figures are the best that
it has.
"""

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from tests.databases import Postgres  # noqa: E402

PREFECT = ROOT / ".venv-prefect"
STEPS = 10
FLOW = "name: ten\nsteps:\n" + "  - sleep: 0s\n" * STEPS
WAITING = "name: waiting\nsteps:\n  - sleep: 0s\n  - sleep: 1h\n"
PREFECT_FLOW = """
import asyncio, sys, time
from prefect import flow, task
from prefect.exceptions import PrefectHTTPStatusError

@task
async def nothing():
    return None

@flow
async def ten():
    for _ in range({steps}):
        await nothing()

refused = 0

async def run_one():
    global refused
    while True:
        try:
            return await ten()
        except PrefectHTTPStatusError:  # its server has too much to do: as any client, ask again
            refused += 1

async def main(count, at_once):
    await ten()
    began = time.perf_counter()
    if at_once:
        await asyncio.gather(*(run_one() for _ in range(count)))
    else:
        for _ in range(count):
            await run_one()
    print("SECONDS", time.perf_counter() - began, refused)

asyncio.run(main(int(sys.argv[1]), sys.argv[2] == "at once"))
"""


@contextmanager
def pitstop_server(home: Path, port: int, workers: int = 16) -> Iterator[subprocess.Popen[bytes]]:
    """A server as people start it, ready to answer; killed at the end if it still lives."""
    words = [sys.executable, "-m", "pitstop", "serve", "--port", str(port), "--workers", str(workers)]
    words += ["--log-level", "error"]
    process = subprocess.Popen(words, env={**os.environ, "PITSTOP_HOME": str(home)})
    try:
        wait_ready(f"http://127.0.0.1:{port}/ready")
        yield process
    finally:
        process.kill()
        process.wait()


def wait_ready(url: str, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(url, timeout=1):
                return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


class Client:
    """One who starts runs and waits for them."""

    def __init__(self, home: Path, port: int) -> None:
        token = (home / "token").read_text().strip()
        self._port = port
        self._head = f"Host: localhost\r\nAuthorization: Bearer {token}\r\n"
        limits = httpx.Limits(max_connections=400, max_keepalive_connections=400)
        self._metrics = f"http://127.0.0.1:{port}/metrics"
        self._http = httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}/api/v1",
            headers={"Authorization": f"Bearer {token}"},
            timeout=120,
            limits=limits,
        )

    async def start(self, text: str) -> str:
        answer = await self._http.post("/runs", json={"flow": {"text": text, "name": "flow.yaml"}})
        answer.raise_for_status()
        run: str = answer.json()["id"]
        return run

    async def run_to_end(self, text: str) -> None:
        """From the request to the event that tells of its end, bare: httpx takes longer than the run."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            body = json.dumps({"flow": {"text": text, "name": "flow.yaml"}})
            kind = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            writer.write(f"POST /api/v1/runs HTTP/1.1\r\n{self._head}{kind}\r\n{body}".encode())
            told = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            size = int(told.partition("content-length: ")[2].partition("\r\n")[0])
            answer = json.loads(await reader.readexactly(size))
            if not told.startswith("http/1.1 201"):
                raise RuntimeError(f"the run was not started: {answer}")
            writer.write(f"GET /api/v1/runs/{answer['id']}/events HTTP/1.1\r\n{self._head}\r\n".encode())
            while line := await reader.readline():
                if line == b"event: run.ended\n":
                    return
            raise RuntimeError(f"run {answer['id']} has no end")
        finally:
            writer.close()

    async def status(self, status: str) -> int:
        """How many runs there are of this status, by the server's own figures."""
        answer = await self._http.get(self._metrics)
        for line in answer.text.splitlines():
            if line.startswith(f'pitstop_runs{{status="{status}"}}'):
                return int(float(line.split()[-1]))
        return 0

    async def events(self) -> int:
        answer = await self._http.get(self._metrics)
        found = [line for line in answer.text.splitlines() if line.startswith("pitstop_events_appended_total")]
        return int(float(found[0].split()[-1])) if found else 0

    async def close(self) -> None:
        await self._http.aclose()


async def time_pitstop(home: Path, port: int, count: int, *, at_once: bool) -> float:
    client = Client(home, port)
    try:
        await client.run_to_end(FLOW)
        began = time.perf_counter()
        if at_once:
            await asyncio.gather(*(client.run_to_end(FLOW) for _ in range(count)))
        else:
            for _ in range(count):
                await client.run_to_end(FLOW)
        return (time.perf_counter() - began) / count
    finally:
        await client.close()


@contextmanager
def prefect_server(scratch: Path, port: int, database: str | None = None) -> Iterator[dict[str, str]]:
    """Prefect's server, on SQLite or a database that is there; gives the environment that its clients need."""
    if not (PREFECT / "bin/prefect").exists():
        subprocess.run([sys.executable, "-m", "venv", str(PREFECT)], check=True)
        pip = [str(PREFECT / "bin/pip"), "install", "-q", "prefect>=3,<4", "fastapi<0.140"]
        subprocess.run(pip, check=True)
    env = {
        **os.environ,
        "PREFECT_HOME": str(scratch / "prefect"),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_LOGGING_LEVEL": "ERROR",
        "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
        "PREFECT_API_REQUEST_TIMEOUT": "900",  # on a busy machine it would give up before it is through
        "PREFECT_SERVER_DATABASE_TIMEOUT": "900",
        "PREFECT_SERVER_DATABASE_CONNECTION_TIMEOUT": "900",
        "PREFECT_SERVER_DATABASE_SQLALCHEMY_POOL_TIMEOUT": "900",
    }
    if database is not None:
        env["PREFECT_SERVER_DATABASE_CONNECTION_URL"] = database.replace("postgresql:", "postgresql+asyncpg:")
    words = [str(PREFECT / "bin/prefect"), "server", "start", "--port", str(port)]
    process = subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_ready(f"http://127.0.0.1:{port}/api/health")
        yield env
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def time_prefect(env: dict[str, str], scratch: Path, count: int, *, at_once: bool) -> float:
    script = scratch / "prefect_flow.py"
    script.write_text(PREFECT_FLOW.replace("{steps}", str(STEPS)))
    words = [str(PREFECT / "bin/python"), str(script), str(count), "at once" if at_once else "one by one"]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"Prefect did not get through: {done.stderr[-2000:]}")
    seconds, refused = done.stdout.rpartition("SECONDS")[2].split()
    if refused != "0":
        print(f"Prefect's server refused {refused} requests for good, and the run was begun again", flush=True)
    return float(seconds) / count


@contextmanager
def new_postgres(scratch: Path) -> Iterator[str]:
    """The URL of a database in a cluster that keeps what it is told, as people have it."""
    folder = scratch / "pg"
    folder.mkdir()
    postgres = Postgres(folder, fsync="on", shared_buffers="'256MB'")
    try:
        yield postgres.new_database()
    finally:
        postgres.stop()


def compare_runs(scratch: Path, *, quick: bool) -> dict[str, float]:
    one_by_one, at_once = (5, 20) if quick else (20, 200)
    figures: dict[str, float] = {}
    if quick and not (PREFECT / "bin/prefect").exists():
        print("Prefect is left out: it is not installed, and --quick installs nothing")
        with pitstop_server(scratch / "home", 7921):
            for count, how in ((one_by_one, "one by one"), (at_once, "at once")):
                seconds = asyncio.run(time_pitstop(scratch / "home", 7921, count, at_once=how == "at once"))
                print(f"run of {STEPS} steps, {count} {how}: {seconds * 1000:.1f} ms")
        return figures
    with pitstop_server(scratch / "home", 7921), prefect_server(scratch, 7922) as env:
        ours = asyncio.run(time_pitstop(scratch / "home", 7921, one_by_one, at_once=False))
        figures |= compared("one by one", ours, time_prefect(env, scratch, one_by_one, at_once=False))
    other = scratch / "at-once"
    other.mkdir()
    with pitstop_server(other / "home", 7921):
        ours = asyncio.run(time_pitstop(other / "home", 7921, at_once, at_once=True))
    with new_postgres(other) as database, prefect_server(other, 7922, database) as env:
        return figures | compared(f"{at_once} at once", ours, time_prefect(env, other, at_once, at_once=True))


def compared(name: str, ours: float, theirs: float) -> dict[str, float]:
    verdict = "reached" if theirs / ours >= 10 else "MISSED"
    print(
        f"run of {STEPS} steps, {name:14} pitstop {ours * 1000:8.1f} ms   prefect {theirs * 1000:8.1f} ms   "
        f"{theirs / ours:6.1f}x   >= 10x   {verdict}   (load {os.getloadavg()[0]:.1f})",
        flush=True,
    )
    return {f"pitstop, {name}": ours, f"prefect, {name}": theirs}


async def restart_with_many(scratch: Path, count: int) -> dict[str, float]:
    """Kill a server with so many runs at work, start it again, and wait until each has gone on."""
    home, port = scratch / "restart", 7923
    with pitstop_server(home, port, workers=count) as process:
        client = Client(home, port)
        for first in range(0, count, 100):
            await asyncio.gather(*(client.start(WAITING) for _ in range(first, min(count, first + 100))))
        async with asyncio.timeout(300):
            while await client.status("running") < count:  # noqa: ASYNC110 - the server is asked
                await asyncio.sleep(0.05)
        await client.close()
        process.kill()
        process.wait()
    began = time.perf_counter()
    with pitstop_server(home, port, workers=count) as process:
        ready = time.perf_counter() - began
        client = Client(home, port)
        # run.started, frame.opened, step.interrupted, step.started
        async with asyncio.timeout(300):
            while await client.events() < 4 * count:  # noqa: ASYNC110 - the server is asked
                await asyncio.sleep(0.02)
        seconds = time.perf_counter() - began
        cpu = cpu_seconds(process.pid)
        await client.close()
    verdict = "reached" if seconds < 5 else "MISSED"
    print(
        f"restart with {count} runs in flight: ready after {ready:.2f} s, all go on after {seconds:.2f} s   < 5 s   "
        f"{verdict}   ({cpu:.2f} s of CPU, load {os.getloadavg()[0]:.1f})"
    )
    return {"restart_seconds": seconds, "restart_cpu_seconds": cpu, "restart_runs": count}


def cpu_seconds(pid: int) -> float:
    """What a process has taken since it began, with all its threads: on a busy machine the better figure."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="runs,restart")
    parser.add_argument("--quick", action="store_true", help="few runs")
    parser.add_argument("--json", type=Path, help="where to keep the figures")
    options = parser.parse_args()
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="pitstop-bench-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL does not run as root
        if "runs" in options.only:
            figures |= compare_runs(Path(folder), quick=options.quick)
        if "restart" in options.only:
            figures |= asyncio.run(restart_with_many(Path(folder), 100 if options.quick else 1000))
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
