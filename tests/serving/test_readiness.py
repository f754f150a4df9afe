"""What a server says while its database, its disk or its keeper is away, and when they are back."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import httpx
import pytest
import websockets

from pitstop.errors import StoreUnavailable
from pitstop.runs import local_debugger
from pitstop.service import access, audit
from pitstop.service.remote.opening import open_remote_service
from pitstop.serving.house import Serving, open_house
from pitstop.settings import Settings
from tests.databases import Postgres, database_of, postgres, postgres_url  # noqa: F401 - fixtures
from tests.doors.http.bench import API, PATIENT
from tests.executors.processes import descendants_of, parent_of
from tests.patience import PATIENCE_SECONDS, wait_until

FLOW = {"flow": {"text": "steps: [{id: a, run: 'true'}, {id: b, run: 'true'}]"}, "debug": {"stop_at_entry": True}}


@asynccontextmanager
async def served(home: Path, database: str | None = None) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a server that renews its leases, and so writes, every two seconds."""
    settings = Settings(home, database)
    async with open_house(Serving(settings=settings, port=0, lease_seconds=6.0, drain_seconds=0.1)) as house:
        headers = {"Authorization": f"Bearer {settings.token_file.read_text().strip()}"}
        async with httpx.AsyncClient(base_url=house.url, headers=headers, timeout=PATIENCE_SECONDS) as client:
            assert (await client.get("/ready")).status_code == 200
            yield client


async def wait_not_ready(client: httpx.AsyncClient) -> str:
    async def ask() -> Any:
        answer = await client.get("/ready")
        return answer if answer.status_code == 503 else None

    answer: httpx.Response = await wait_until(ask, "it stays ready")
    assert int(answer.headers["retry-after"]) > 0
    assert (await client.get("/health")).status_code == 200
    detail: str = answer.json()["detail"]
    return detail


async def wait_ready(client: httpx.AsyncClient) -> None:
    async def ask() -> bool:
        return (await client.get("/ready")).status_code == 200

    await wait_until(ask, "it does not get ready again")


async def start_paused(client: httpx.AsyncClient) -> str:
    run = (await client.post(f"{API}/runs", json=FLOW)).json()["id"]

    async def is_paused() -> bool:
        return bool((await client.get(f"{API}/runs/{run}")).json()["status"] == "paused")

    await wait_until(is_paused)
    return f"{API}/runs/{run}"


def assert_unavailable(answer: httpx.Response) -> None:
    assert (answer.status_code, answer.json()["code"]) == (503, "store.unavailable"), answer.text
    assert int(answer.headers["retry-after"]) > 0


async def test_a_database_that_is_away_is_told_by_every_door(
    tmp_path: Path,
    postgres: Postgres,  # noqa: F811
    postgres_url: str,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(access, "KNOWN_FOR_SECONDS", 0.0)
    name = database_of(postgres_url)
    async with served(tmp_path, postgres_url) as client:
        run = await start_paused(client)
        postgres.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        postgres.end_connections(name)

        assert "does not answer" in await wait_not_ready(client)
        for method, path in (("GET", "/me"), ("GET", "/runs"), ("POST", "/runs"), ("GET", "/secrets")):
            assert_unavailable(await client.request(method, API + path, json=FLOW if method == "POST" else None))
        assert_unavailable(await client.post(f"{run}/debug/continue", json={"stop": 1}))
        assert_unavailable(await client.get(f"{run}/events"))
        await assert_socket_refused(client, run)
        with pytest.raises(StoreUnavailable):
            async with open_remote_service(str(client.base_url), token_of(client)):
                pass
        told = await complaint_of_cli(client)
        assert told.startswith("pitstop: the store is unavailable: ")
        assert told.count("\n") == 1

        postgres.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        await wait_ready(client)
        assert (await client.post(f"{run}/debug/continue", json={"stop": 1})).status_code == 200


async def complaint_of_cli(client: httpx.AsyncClient) -> str:
    listing = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "pitstop", "runs", "--server", str(client.base_url)),
        env={**os.environ, "PITSTOP_TOKEN": token_of(client)},
        stderr=asyncio.subprocess.PIPE,
    )
    _, told = await listing.communicate()
    assert listing.returncode == 1
    return told.decode()


def token_of(client: httpx.AsyncClient) -> str:
    return client.headers["Authorization"].removeprefix("Bearer ")


async def assert_socket_refused(client: httpx.AsyncClient, run: str) -> None:
    url = f"{client.base_url}".replace("http", "ws", 1).rstrip("/") + f"{run}/debug/socket"
    headers = {"Authorization": client.headers["Authorization"]}
    with pytest.raises(websockets.InvalidStatus) as refused:
        async with websockets.connect(url, additional_headers=headers, **PATIENT):
            pass
    assert refused.value.response.status_code == 503


async def test_a_database_that_is_read_only_is_not_ready(
    tmp_path: Path,
    postgres: Postgres,  # noqa: F811
    postgres_url: str,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(local_debugger, "STORE_SECONDS", 0.2)
    monkeypatch.setattr(audit, "PATIENCE_SECONDS", 0.2)
    async with served(tmp_path, postgres_url) as client:
        run = await start_paused(client)
        postgres.set_read_only(postgres_url, True)

        assert "read-only" in await wait_not_ready(client)
        assert_unavailable(await client.post(f"{API}/runs", json=FLOW))
        accepted = await client.post(f"{run}/debug/step", json={"stop": 1, "kind": "over"})
        assert_unavailable(accepted)
        assert "accepted" in accepted.json()["detail"]
        assert (await client.get(run)).status_code == 200

        postgres.set_read_only(postgres_url, False)
        await wait_ready(client)
        await wait_until(lambda: has_stop(client, run, 2), "the step that was accepted is not executed")
        entries = (await client.get(f"{API}/audit")).json()["entries"]
        assert "debug_step" in [entry["action"] for entry in entries]


async def has_stop(client: httpx.AsyncClient, run: str, stop: int) -> bool:
    state = (await client.get(f"{run}/debug")).json()
    return stop in [each["id"] for each in state["stops"]]


def takes_lock(database: sqlite3.Connection) -> bool:
    """Whether it has the lock now: the server, which may be writing, is on the same loop."""
    try:
        database.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError:
        return False
    return True


async def test_a_database_that_another_program_locks_is_not_ready(tmp_path: Path) -> None:
    file = tmp_path / "pitstop.db"
    async with served(tmp_path, f"sqlite:///{file}?busy_timeout=20") as client:
        with closing(sqlite3.connect(file, isolation_level=None, timeout=0)) as other:
            await wait_until(lambda: takes_lock(other))
            assert "locked" in await wait_not_ready(client)
            assert_unavailable(await client.post(f"{API}/runs", json=FLOW))
            other.execute("ROLLBACK")
        await wait_ready(client)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


async def test_a_full_disk_is_not_ready(tmp_path: Path, small_disk: Path) -> None:
    async with served(small_disk, f"sqlite:///{tmp_path}/pitstop.db") as client:
        filler = small_disk / "filler"
        filler.write_bytes(bytes(24 * 1024 * 1024))
        assert await wait_not_ready(client) == f"no space left on device: {small_disk}"
        filler.unlink()
        await wait_ready(client)


async def test_a_keeper_that_cannot_be_started_again_is_not_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(tmp_path) as client:
        await run_to_end(client)
        (keeper,) = [pid for pid in descendants_of(os.getpid()) if is_keeper(pid)]
        with monkeypatch.context() as patched:
            patched.setattr(sys, "executable", str(tmp_path / "missing"))
            os.kill(keeper, signal.SIGKILL)
            assert "keeper" in await wait_not_ready(client)
        await wait_ready(client)


async def run_to_end(client: httpx.AsyncClient) -> None:
    run = (await client.post(f"{API}/runs", json={"flow": FLOW["flow"]})).json()["id"]
    await client.get(f"{API}/runs/{run}/events")  # the stream ends with the run


def is_keeper(pid: int) -> bool:
    words = Path(f"/proc/{pid}/cmdline").read_bytes()
    return parent_of(pid) == os.getpid() and words.startswith(b"pitstop-keeper")
