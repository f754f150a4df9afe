"""The database: its connections, its clock, and what SQLite and PostgreSQL do differently."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import asyncpg
from sqlalchemy import (
    URL,
    ColumnElement,
    Connection,
    Delete,
    Double,
    Engine,
    NullPool,
    Row,
    Table,
    create_engine,
    event,
    func,
    literal_column,
    make_url,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.sql.selectable import CompoundSelect, Select

from pitstop.errors import BadStore, StoreUnavailable

DRIVER_ERRORS = (SQLAlchemyError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError)
PRAGMAS = {
    "busy_timeout": "5000",  # the first: the next one may meet others
    "journal_mode": "WAL",
    "synchronous": "NORMAL",
    "foreign_keys": "ON",
    "cache_size": "-16000",
    "wal_autocheckpoint": "10000",  # pages; a commit that does it waits for the disk, so others do it before
    "max_page_count": "",
}
# In seconds since the epoch; they go on within a transaction
SQLITE_NOW: ColumnElement[float] = literal_column("((julianday('now') - 2440587.5) * 86400.0)", Double())
POSTGRES_NOW: ColumnElement[float] = func.extract("epoch", func.clock_timestamp()).cast(Double())
IDLE_SECONDS = 10.0  # until PostgreSQL ends a transaction whose server is frozen: it may lock a run
_BLOBS_LOCK, _FEED_LOCK = 0x70697401, 0x70697402  # advisory locks of ours; the numbers are arbitrary
_WRITES = "pitstop_writes"
_SNAPSHOT = "pitstop_snapshot"
_READERS = 4  # threads

T = TypeVar("T")


class Database:
    """Connections that say in our words what goes wrong.

    On SQLite there is one writer at a time, so those of one process queue here instead of at the file.
    `now` is the time of leases and of rows: the database's own, the same for every server, unless another is given.
    """

    def __init__(self, url: str, now: ColumnElement[float] | None = None) -> None:
        self.url = _checked(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self.now = (SQLITE_NOW if self.is_sqlite else POSTGRES_NOW) if now is None else now
        self.writing = asyncio.Lock()  # of SQLite
        self.engine = _sqlite_engine(self.url) if self.is_sqlite else _postgres_engine(self.url)
        self._readers = _Threads(self.url, _READERS) if self.is_sqlite else None
        self._writer = _Threads(self.url, 1, is_writing=True) if self.is_sqlite else None

    async def read_clock(self) -> float:
        return await self.ask(lambda connection: float(connection.execute(select(self.now)).scalar_one()))

    @asynccontextmanager
    async def read(self, *, snapshot: bool = False) -> AsyncIterator[AsyncConnection]:
        """A connection to read with. With `snapshot` everything is read as it was at the first question."""
        with telling_problems():
            async with self.engine.connect() as connection:
                if snapshot and self.is_sqlite:
                    await connection.execution_options(**{_SNAPSHOT: True})
                elif snapshot:
                    await connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
                yield connection

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """A transaction, kept when the block ends well."""
        with telling_problems():
            if not self.is_sqlite:
                async with self.engine.connect() as connection, connection.begin():
                    yield connection
                return
            async with self.writing, self.engine.connect() as connection:  # those who queue hold no connection
                await connection.execution_options(**{_WRITES: True})
                async with connection.begin():
                    yield connection

    async def ask(self, work: Callable[[Connection], T]) -> T:
        """What `work` reads, for short questions that are often asked: SQLite answers in one visit to a thread."""
        with telling_problems():
            if self._readers is not None:
                return await self._readers.run(work)
            async with self.engine.connect() as connection:
                return await connection.run_sync(work)

    async def rows(self, query: Select[Any] | CompoundSelect[Any]) -> "Sequence[Row[Any, *tuple[Any, ...]]]":
        """All rows of a short query."""
        return await self.ask(lambda connection: connection.execute(query).all())

    async def put(self, table: Table, row: Mapping[str, Any]) -> None:
        """Insert a row, or replace the one with the same primary key."""
        statement = self.insert(table).values(row)
        key = [column.name for column in table.primary_key]
        changed = {column.name: statement.excluded[column.name] for column in table.c if column.name not in key}
        async with self.write() as connection:
            await connection.execute(statement.on_conflict_do_update(index_elements=key, set_=changed))

    async def put_new(self, table: Table, row: Mapping[str, Any]) -> None:
        """Insert a row unless there is one with the same primary key."""
        key = [column.name for column in table.primary_key]
        async with self.write() as connection:
            await connection.execute(self.insert(table).values(row).on_conflict_do_nothing(index_elements=key))

    async def delete(self, statement: Delete) -> int:
        """How many rows were deleted."""
        async with self.write() as connection:
            return (await connection.execute(statement)).rowcount

    async def transact(self, work: Callable[[Connection], T]) -> T:
        """`write`, in the same way; what the driver raises is raised as it is."""
        if self._writer is not None:
            async with self.writing:
                return await self._writer.run(work)
        async with self.engine.connect() as connection, connection.begin():
            return await connection.run_sync(work)

    @asynccontextmanager
    async def outside_transactions(self) -> AsyncIterator[AsyncConnection]:
        """For what no transaction can do, such as VACUUM."""
        with telling_problems():
            async with self.writing, self.engine.connect() as connection:
                await connection.execution_options(isolation_level="AUTOCOMMIT")
                yield connection

    def lock_blobs(self, connection: Connection, *, to_delete: bool = False) -> None:
        """Nobody deletes blobs while somebody adds them; SQLite's transactions see to it by themselves."""
        if not self.is_sqlite:
            lock = func.pg_advisory_xact_lock if to_delete else func.pg_advisory_xact_lock_shared
            connection.execute(select(lock(_BLOBS_LOCK)))

    def lock_feed(self, connection: Connection) -> None:
        """Numbers of the feed are given in the order of the commits; SQLite's transactions see to it by themselves."""
        if not self.is_sqlite:
            connection.execute(select(func.pg_advisory_xact_lock(_FEED_LOCK)))

    def locked(self, rows: Select[Any], *, skip_locked: bool = False) -> Select[Any]:
        """The same rows, held until the transaction ends."""
        return rows if self.is_sqlite else rows.with_for_update(key_share=True, skip_locked=skip_locked)

    def insert(self, table: Any) -> Any:
        """An INSERT that can be told what to do when the row is there already."""
        return sqlite.insert(table) if self.is_sqlite else postgresql.insert(table)

    async def close(self) -> None:
        for threads in (self._readers, self._writer):
            if threads is not None:
                await threads.close()
        await self.engine.dispose()


class _Threads:
    """Threads, each with a connection to SQLite that it keeps until there is an error."""

    def __init__(self, url: URL, count: int, *, is_writing: bool = False) -> None:
        plain = url.set(drivername="sqlite", query={})
        self._engine = _prepare_sqlite(create_engine(plain, poolclass=NullPool), url)
        self._options = {_WRITES: True} if is_writing else {}
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="pitstop-database")
        self._connections: dict[int, Connection] = {}  # by thread

    async def run(self, work: Callable[[Connection], T]) -> T:
        def visit() -> T:
            thread = threading.get_ident()
            if thread not in self._connections:
                self._connections[thread] = self._engine.connect().execution_options(**self._options)
            try:
                with self._connections[thread].begin():
                    return work(self._connections[thread])
            except DRIVER_ERRORS:
                self._drop(thread)
                raise

        return await asyncio.get_running_loop().run_in_executor(self._threads, visit)

    async def close(self) -> None:
        await asyncio.to_thread(self._threads.shutdown)
        for thread in list(self._connections):
            self._drop(thread)

    def _drop(self, thread: int) -> None:
        connection = self._connections.pop(thread)
        with suppress(SQLAlchemyError):  # it was of no use any more
            connection.invalidate()
            connection.close()


class telling_problems:  # noqa: N801 - reads as what it does, like `suppress`
    """Whatever a driver raises, as StoreUnavailable."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, DRIVER_ERRORS):
            raise StoreUnavailable(reason_of(error)) from error


def reason_of(error: BaseException) -> str:
    """What the database said, on one line."""
    said = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    return " ".join(str(said).removeprefix(f"{type(said)}: ").split()) or type(said).__name__


def _checked(url: str) -> URL:
    """The URL with our drivers; a path alone is that of a SQLite file."""
    is_path = "://" not in url and ":" not in url.partition("/")[0]
    try:
        parsed = make_url(f"sqlite:///{url}" if is_path else url)
    except ArgumentError as error:
        raise BadStore(f"invalid database URL {url!r}: use sqlite:///PATH or postgresql://USER@HOST/NAME") from error
    match parsed.get_backend_name():
        case "sqlite" if parsed.database and parsed.database != ":memory:":
            return parsed.set(drivername="sqlite+aiosqlite")
        case "postgresql" | "postgres":
            return parsed.set(drivername="postgresql+asyncpg")
    shown = parsed.render_as_string(hide_password=True)
    raise BadStore(f"unsupported database {shown!r}: use sqlite:///PATH or postgresql://USER@HOST/NAME")


def _sqlite_engine(url: URL) -> AsyncEngine:
    engine = create_async_engine(url.set(query={}), pool_size=5, max_overflow=15)
    _prepare_sqlite(engine.sync_engine, url)
    return engine


def _prepare_sqlite(engine: Engine, url: URL) -> Engine:
    pragmas = {**PRAGMAS, **_pragmas_in(url)}
    path = Path(url.database or "")

    @event.listens_for(engine, "do_connect")
    def make_file(*_: object) -> None:
        """The runs of a person are nobody else's business."""
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: object) -> None:
        connection.isolation_level = None  # `begin` below says what a transaction is
        cursor = connection.cursor()
        cursor.execute("PRAGMA page_count")
        if cursor.fetchone()[0] == 0:  # only a file with nothing in it can take it
            cursor.execute("PRAGMA auto_vacuum=INCREMENTAL")
        for name, value in pragmas.items():
            if value:
                cursor.execute(f"PRAGMA {name}={value}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        options = connection.get_execution_options()
        if _WRITES in options:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        elif _SNAPSHOT in options:
            connection.exec_driver_sql("BEGIN")

    return engine


def _pragmas_in(url: URL) -> Mapping[str, str]:
    """`sqlite:///runs.db?synchronous=FULL` sets a pragma."""
    given = {name: value for name, value in url.query.items() if isinstance(value, str)}
    wrong = [name for name, value in given.items() if name not in PRAGMAS or not value.isalnum()]
    if wrong:
        raise BadStore(f"{', '.join(wrong)} cannot be set in an SQLite URL; available: {', '.join(PRAGMAS)}")
    return given


def _postgres_engine(url: URL) -> AsyncEngine:
    return create_async_engine(
        url,
        pool_size=10,
        max_overflow=20,
        pool_pre_ping=True,  # a server that was restarted is no error of whoever asks next
        connect_args={
            "timeout": 10,
            "server_settings": {
                "application_name": "pitstop",
                "idle_in_transaction_session_timeout": f"{1000 * IDLE_SECONDS:.0f}",
            },
        },
    )
