"""A server of Pitstop beside Prefect with its own: runs from the request to the end, and a restart with many in flight.

    python bench/server.py                    # everything, about 10 minutes
    python bench/server.py --only restart     # some of it: runs, restart
    python bench/server.py --quick            # few runs: to see that it works, not to quote

Prefect 3 goes to an environment of its own (.venv-prefect), with its server on SQLite as it comes. Its flow is called
in the process of the client, which saves it the start of a process for every run: the figures are the best that it has.
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

async def main(count, side_by_side):
    await ten()
    places = asyncio.Semaphore(side_by_side)

    async def in_turn():
        async with places:
            while True:
                try:
                    return await ten()
                except PrefectHTTPStatusError:  # its server has too much to do: as any client, ask again
                    continue

    began = time.perf_counter()
    await asyncio.gather(*(in_turn() for _ in range(count)))
    print("SECONDS", time.perf_counter() - began)

asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
"""
PREFECT_SIDE_BY_SIDE = 4  # of those at once: its server on SQLite takes longer for 8, and answers 503 to more


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
        """From the request to the event that tells of its end."""
        run = await self.start(text)
        async with self._http.stream("GET", f"/runs/{run}/events") as events:
            async for line in events.aiter_lines():
                if line == "event: run.ended":
                    return
        raise RuntimeError(f"run {run} has no end")

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
def prefect_server(scratch: Path, port: int) -> Iterator[dict[str, str]]:
    """Prefect's server; gives the environment that its clients need."""
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
    }
    words = [str(PREFECT / "bin/prefect"), "server", "start", "--port", str(port)]
    process = subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_ready(f"http://127.0.0.1:{port}/api/health")
        yield env
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def time_prefect(env: dict[str, str], scratch: Path, count: int, side_by_side: int) -> float:
    script = scratch / "prefect_flow.py"
    script.write_text(PREFECT_FLOW.replace("{steps}", str(STEPS)))
    words = [str(PREFECT / "bin/python"), str(script), str(count), str(side_by_side)]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"Prefect did not get through: {done.stderr[-2000:]}")
    return float(done.stdout.rpartition("SECONDS")[2]) / count


def compare_runs(scratch: Path, *, quick: bool, prefect_at_once: int | None) -> dict[str, float]:
    one_by_one, at_once = (5, 20) if quick else (20, 200)
    figures: dict[str, float] = {}
    with pitstop_server(scratch / "home", 7921), prefect_server(scratch, 7922) as env:
        for name, count, together in (("one by one", one_by_one, False), (f"{at_once} at once", at_once, True)):
            ours = asyncio.run(time_pitstop(scratch / "home", 7921, count, at_once=together))
            given = prefect_at_once or count if together else count
            theirs = time_prefect(env, scratch, given, PREFECT_SIDE_BY_SIDE if together else 1)
            figures[f"pitstop, {name}"], figures[f"prefect, {name}"] = ours, theirs
            verdict = "reached" if theirs / ours >= 10 else "MISSED"
            print(
                f"run of {STEPS} steps, {name:14} pitstop {ours * 1000:8.1f} ms   prefect {theirs * 1000:8.1f} ms   "
                f"{theirs / ours:6.1f}x   >= 10x   {verdict}   (load {os.getloadavg()[0]:.1f})",
                flush=True,
            )
    return figures


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
    parser.add_argument("--prefect-at-once", type=int, help="how many runs Prefect is timed with (as many as Pitstop)")
    parser.add_argument("--json", type=Path, help="where to keep the figures")
    options = parser.parse_args()
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="pitstop-bench-") as folder:
        if "runs" in options.only:
            figures |= compare_runs(Path(folder), quick=options.quick, prefect_at_once=options.prefect_at_once)
        if "restart" in options.only:
            figures |= asyncio.run(restart_with_many(Path(folder), 100 if options.quick else 1000))
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
