"""A server whose database is away for a while: runs wait where they must, and nothing of them is lost."""

import asyncio
import sqlite3
import textwrap
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from pitstop.app import open_server_service
from pitstop.errors import StoreUnavailable
from pitstop.events.types import StepFinished
from pitstop.runs.live_run import LiveRun
from pitstop.runs.server_runs import ServerOptions
from pitstop.service.caller import LOCAL
from pitstop.service.in_memory import MemorySecrets
from pitstop.service.local.server import ServerService
from pitstop.service.runs import RunRequest
from pitstop.service.sealing import read_seal
from pitstop.service.secrets import Secrets
from pitstop.settings import Settings
from pitstop.store.port import FileChunk
from pitstop.store.sql.run import SqlRun
from pitstop.store.sql.store import open_sql_store
from tests.databases import Postgres, postgres, postgres_url
from tests.patience import wait_until

__all__ = ["postgres", "postgres_url"]

WAITS = """
    steps:
      - {id: first, run: echo first >> done.txt}
      - id: second
        run: |
          echo second >> done.txt
          while [ ! -e go ]; do sleep 0.02; done
          for number in $(seq 2000); do echo "line $number"; done
      - {id: third, run: echo third >> done.txt}
"""
HANDS_ON = """
    steps:
      - id: made
        run: "echo made >> done.txt; while [ ! -e go ]; do sleep 0.02; done; echo made > made.txt"
        artifacts: made.txt
"""
FLOODS = """
    steps:
      - id: flood
        run: "while [ ! -e go ]; do sleep 0.02; done; head -c 16777216 /dev/zero; touch written"
"""

WRITES = """
    steps:
      - {id: first, run: "echo first >> done.txt; head -c 2000000 /dev/urandom | base64"}
      - {id: last, run: echo last >> done.txt}
"""


class Server:
    """A server that works in a folder, on some database."""

    def __init__(self, folder: Path, database: str) -> None:
        self.folder = folder / "work"
        self.folder.mkdir()
        self.settings = Settings(folder / "state", database)
        self.settings.home.mkdir()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[ServerService]:
        store = await open_sql_store(self.settings.database)
        seal = read_seal(self.settings.key_file)
        options = ServerOptions(lease_seconds=600.0)  # a test that stands still for a while is not to lose its runs
        async with open_server_service(self.settings, store, seal, options, Secrets(MemorySecrets(), seal)) as service:
            yield service

    def request(self, text: str) -> RunRequest:
        return RunRequest(flow="flow.yaml", text=textwrap.dedent(text), folder=str(self.folder))

    def let_go(self) -> None:
        (self.folder / "go").touch()

    def done(self) -> list[str]:
        file = self.folder / "done.txt"
        return file.read_text().split() if file.exists() else []


async def check_that_it_goes_on(
    server: Server, take_away: Callable[[], Awaitable[None]], bring_back: Callable[[], Awaitable[None]]
) -> None:
    """The database goes in the middle of the second step, which ends meanwhile, and comes back."""
    async with server.open() as service:
        run = await service.runs.start(LOCAL, server.request(WAITS))
        assert isinstance(run, LiveRun)
        await wait_until(lambda: server.done() == ["first", "second"])
        await take_away()
        server.let_go()
        await wait_until(lambda: run.kept.problem is not None)
        done_meanwhile = server.done()
        with pytest.raises(StoreUnavailable):
            await service.runs.start(LOCAL, server.request(WAITS))
        await bring_back()
        summary = await run.wait()
        problem = run.kept.problem

    async with server.open() as service:
        past = await service.runs.get(LOCAL, run.id)
        numbers = [event.number async for event in past.events()]
        written = b"".join([block async for block in past.log_bytes("second")])

    assert done_meanwhile == ["first", "second"]  # no step begins that nobody would know of
    assert (summary.status, problem, server.done()) == ("passed", None, ["first", "second", "third"])
    assert numbers == list(range(1, len(numbers) + 1))
    assert written == b"".join(b"line %d\n" % number for number in range(1, 2001))


async def test_a_run_goes_on_after_postgres_was_restarted(
    tmp_path: Path, postgres: Postgres, postgres_url: str
) -> None:
    async def crash() -> None:
        await asyncio.to_thread(postgres.stop, "immediate")

    async def start() -> None:
        await asyncio.to_thread(postgres.start)

    await check_that_it_goes_on(Server(tmp_path, postgres_url), crash, start)


async def test_a_run_goes_on_after_postgres_was_read_only(
    tmp_path: Path, postgres: Postgres, postgres_url: str
) -> None:
    async def set_read_only(is_so: bool) -> None:
        await asyncio.to_thread(postgres.set_read_only, postgres_url, is_so)

    await check_that_it_goes_on(
        Server(tmp_path, postgres_url), lambda: set_read_only(True), lambda: set_read_only(False)
    )


async def test_a_run_goes_on_after_its_database_was_full(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/pitstop.db"
    server = Server(tmp_path, url)
    async with server.open() as service:
        old = await service.runs.start(LOCAL, server.request(WRITES))
        assert (await old.wait()).status == "passed"
    (server.folder / "done.txt").unlink()
    with closing(sqlite3.connect(tmp_path / "pitstop.db")) as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
    server.settings = Settings(server.settings.home, f"{url}?max_page_count={pages + 100}")

    async with server.open() as service:
        run = await service.runs.start(LOCAL, server.request(WRITES))
        assert isinstance(run, LiveRun)
        await wait_until(lambda: "full" in str(run.kept.problem))
        done_meanwhile = server.done()
        await service.runs.delete(LOCAL, old.id)
        summary = await run.wait()

    assert (done_meanwhile, server.done()) == (["first"], ["first", "last"])
    assert summary.status == "passed"


@pytest.fixture
def sqlite_server(tmp_path: Path) -> Server:
    return Server(tmp_path, f"sqlite:///{tmp_path}/pitstop.db?busy_timeout=20")


@asynccontextmanager
async def locked(file: Path) -> AsyncIterator[None]:
    """Somebody else writes, and does not come to an end."""
    connection = sqlite3.connect(file, isolation_level=None, timeout=90, check_same_thread=False)
    try:
        # Elsewhere, for the server may be in the middle of a transaction: it needs the loop to come to its end
        await asyncio.to_thread(connection.execute, "BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")
    finally:
        connection.close()


async def test_a_run_goes_on_after_sqlite_was_locked_by_another(tmp_path: Path, sqlite_server: Server) -> None:
    lock = locked(tmp_path / "pitstop.db")

    async def unlock() -> None:
        await lock.__aexit__(None, None, None)

    await check_that_it_goes_on(sqlite_server, lock.__aenter__, unlock)


async def test_what_a_step_floods_a_locked_database_with_is_all_kept_in_the_end(
    tmp_path: Path, sqlite_server: Server
) -> None:
    async with sqlite_server.open() as service:
        run = await service.runs.start(LOCAL, sqlite_server.request(FLOODS))
        assert isinstance(run, LiveRun)
        heard = 0

        def hear(size: int) -> None:
            nonlocal heard
            heard += size

        run.hear_output(lambda output: hear(len(output.data)))
        async for event in run.events():  # it is kept by then that the step has begun
            if event.kind == "step.started":
                break
        async with locked(tmp_path / "pitstop.db"):
            sqlite_server.let_go()
            await wait_until(lambda: (sqlite_server.folder / "written").exists() and run.kept.problem is not None)
            for _ in range(2000):  # rounds of the loop, in which all of it could be read
                await asyncio.sleep(0)
            held = heard
        await run.wait()
        written = sum([len(block) async for block in run.log_bytes("flood")])

    assert held < 8 * 1024 * 1024  # the rest waits where the command wrote it
    assert written == 16 * 1024 * 1024


async def test_a_log_has_ended_only_when_all_of_it_can_be_read(tmp_path: Path, sqlite_server: Server) -> None:
    async with sqlite_server.open() as service:
        run = await service.runs.start(LOCAL, sqlite_server.request(WAITS))
        assert isinstance(run, LiveRun)
        await wait_until(lambda: sqlite_server.done() == ["first", "second"])
        async with locked(tmp_path / "pitstop.db"):
            sqlite_server.let_go()
            await wait_until(
                lambda: [each.step for each in run.journal.read() if isinstance(each, StepFinished)][-1:] == ["second"]
            )
            meanwhile = await run.log("second")
        async for event in run.events():
            if event.kind == "step.finished" and event.fields["step"] == "second":
                break
        in_the_end = await run.log("second", limit=5000)

    assert (meanwhile.lines, meanwhile.is_ended) == ((), False)
    assert (len(in_the_end.lines), in_the_end.is_ended) == (2000, True)


async def test_what_steps_hand_on_is_kept_when_the_database_is_back(
    tmp_path: Path, sqlite_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_artifacts, was_refused = SqlRun.keep_artifacts, asyncio.Event()

    async def keep_or_tell(self: SqlRun, files: AsyncIterator[FileChunk]) -> None:
        try:
            await keep_artifacts(self, files)
        except StoreUnavailable:
            was_refused.set()
            raise

    monkeypatch.setattr(SqlRun, "keep_artifacts", keep_or_tell)
    async with sqlite_server.open() as service, asyncio.timeout(90):
        run = await service.runs.start(LOCAL, sqlite_server.request(HANDS_ON))
        await wait_until(lambda: sqlite_server.done() == ["made"])
        async with locked(tmp_path / "pitstop.db"):
            sqlite_server.let_go()
            await was_refused.wait()
            problem = (await run.info()).problem
        summary = await run.wait()
        handed_on = [each.path for each in await run.artifacts()]

    assert problem is not None
    assert "locked" in problem
    assert summary.status == "passed"
    assert len(handed_on) == 1
