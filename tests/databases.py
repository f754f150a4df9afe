"""Real databases for tests: SQLite in a file, and a throw-away PostgreSQL that starts once per test process.

A test module imports the fixtures that it needs: `postgres` is the cluster, `postgres_url` and `sqlite_url` are new
databases, and `database_url` runs the test on each. `postgres_url` and `database_url` need `postgres` beside them.
"""

import asyncio
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import asyncpg
import pytest

MISSING = "PostgreSQL is needed for this test: `apt-get install -y postgresql`, or put its `initdb` on the PATH"
SETTINGS = {
    "listen_addresses": "''",
    "max_connections": "200",
    "shared_buffers": "'32MB'",
    "fsync": "off",  # the machine is not going to lose power; the process is killed, which needs none
    "log_min_messages": "panic",
}


END_MS = 60_000  # that a connection may take to end
CLEAN_UP = 'read -r _; "$0" -D "$1/data" -m immediate stop; rm -rf "$1"'  # when the other end of its input is closed


class Postgres:
    """A cluster in a folder of its own, which is reached by a socket in it."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self._folder = folder
        self._data = folder / "data"
        self._bin = _find_programs()
        self._user = _unprivileged_user(folder)
        self._numbers = count(1)
        self._cleaner = self._start(["sh", "-c", CLEAN_UP, str(self._bin / "pg_ctl"), str(folder)])
        self._run("initdb", "-D", str(self._data), "-U", "pitstop", "-A", "trust", "-E", "UTF8", "--no-sync")
        lines = [f"{name} = {value}" for name, value in {**SETTINGS, **settings}.items()]
        with (self._data / "postgresql.conf").open("a") as file:
            file.write("\n".join([*lines, f"unix_socket_directories = '{folder}'"]) + "\n")
        self.start()

    def url(self, database: str) -> str:
        return f"postgresql://pitstop@/{database}?host={self._folder}"

    def new_database(self) -> str:
        """The URL of a new, empty database."""
        name = f"test_{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def execute(self, statement: str, database: str = "postgres") -> None:
        async def run() -> None:
            connection = await asyncpg.connect(host=str(self._folder), user="pitstop", database=database)
            try:
                await connection.execute(statement)
            finally:
                await connection.close()

        with ThreadPoolExecutor(1) as thread:  # where a loop of its own can run, also in an async test
            thread.submit(asyncio.run, run()).result()

    def set_read_only(self, url: str, is_so: bool) -> None:
        """Let a database refuse to be written, or not any more, also to whoever was connected before."""
        name = database_of(url)
        change = "SET default_transaction_read_only = on" if is_so else "RESET default_transaction_read_only"
        self.execute(f"ALTER DATABASE {name} {change}")
        self.end_connections(name)

    def end_connections(self, database: str) -> None:
        """They are over when this is: what somebody is about to write there is kept by then, or never."""
        others = f"datname = '{database}' AND pid <> pg_backend_pid()"
        self.execute(f"SELECT pg_terminate_backend(pid, {END_MS}) FROM pg_stat_activity WHERE {others}")

    def start(self) -> None:
        self._run("pg_ctl", "-D", str(self._data), "-w", "-l", str(self._folder / "log"), "start")

    def stop(self, mode: str = "fast") -> None:
        """`immediate` is a crash."""
        self._run("pg_ctl", "-D", str(self._data), "-w", "-m", mode, "stop")

    def remove(self) -> None:
        """Also done when this process is killed."""
        with self._cleaner as cleaner:
            assert cleaner.stdin is not None
            cleaner.stdin.close()

    def _run(self, program: str, *words: str) -> None:
        with self._start([str(self._bin / program), *words]) as started:
            assert started.stdin is not None
            started.stdin.close()
        if started.returncode != 0:
            log = self._folder / "log"
            raise RuntimeError(f"{program} ended with {started.returncode}: {log.read_text() if log.exists() else ''}")

    def _start(self, words: list[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            words,
            user=self._user,
            group=None if self._user is None else pwd.getpwuid(self._user).pw_gid,
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,  # the server would keep a pipe open
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # a Ctrl-C is for whoever tests
        )


def database_of(url: str) -> str:
    """The name of the database that a URL of a cluster is about."""
    return url.partition("@/")[2].partition("?")[0]


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    cluster = Postgres(Path(tempfile.mkdtemp(prefix="pitstop-pg-")))  # short: the path of a socket has 107 bytes
    try:
        yield cluster
    finally:
        cluster.remove()


@pytest.fixture
def postgres_url(postgres: Postgres) -> str:
    """A new, empty database."""
    return postgres.new_database()


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/pitstop.db"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.needs("postgres"))])
def database_url(request: pytest.FixtureRequest) -> str:
    """A new, empty database: the test runs on each kind."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


def _find_programs() -> Path:
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: path.stat().st_mtime)
    if not versions:
        pytest.fail(MISSING)
    return versions[-1].parent


def _unprivileged_user(folder: Path) -> int | None:
    """PostgreSQL refuses to be root's: then it is that of the user who came with it, and so is the folder."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            account = pwd.getpwnam(name)
        except KeyError:
            continue
        os.chown(folder, account.pw_uid, account.pw_gid)
        return account.pw_uid
    pytest.fail(f"{MISSING}; as root it also needs the user `postgres`")
