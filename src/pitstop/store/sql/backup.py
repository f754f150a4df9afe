"""A copy of a whole store in one file that either database can be restored from.

A zip: `backup.json` tells the format, the revision of the tables and their columns; then one file per table, with a
row of values per line. Bytes are base64.
"""

import asyncio
import base64
import json
import os
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import msgspec
from sqlalchemy import Boolean, LargeBinary, Table, column, func, insert, select, table
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import TypeEngine

from pitstop.errors import BadStore
from pitstop.store.sql.database import Database
from pitstop.store.sql.revision import bring_to
from pitstop.store.sql.schema import REVISION, stored_tables

FORMAT = 1
_LEFT_OUT = ("servers",)  # those that run now are not those that ran then
_BYTES_AT_ONCE = 4 * 1024 * 1024
_ROWS_AT_ONCE = 500


async def write_backup(database: Database, path: Path) -> None:
    """Copy everything, as it is at one moment, into a file; it is there when it is whole. Runs go on meanwhile."""
    unfinished = path.with_name(f"{path.name}.{os.urandom(4).hex()}.unfinished")  # others may do the same
    try:
        with (
            _create(unfinished) as file,
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed,
        ):
            async with database.read(snapshot=True) as connection:
                tables = await _copied_tables(connection)
                packed.writestr("backup.json", json.dumps(_description(tables), indent=1))
                for each in tables:
                    with packed.open(f"{each.name}.jsonl", "w", force_zip64=True) as rows:
                        await _write_rows(connection, each, rows)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


async def restore_backup(database: Database, path: Path) -> None:
    """Fill a database that has no runs yet, whichever made the backup; one of an older version is brought up.

    All of it or nothing. BadStore when the database is in use or the file is no backup.
    """
    try:
        with zipfile.ZipFile(path) as packed:
            described = json.loads(packed.read("backup.json"))
            if described["format"] != FORMAT:
                raise BadStore(f"{path} is a backup of a later version of Pitstop")
            await _make_empty_tables(database, described["revision"])
            async with database.write() as connection:
                for name, columns in described["tables"].items():
                    with packed.open(f"{name}.jsonl") as rows:
                        await _read_rows(connection, name, columns, rows)
                await _let_numbers_go_on(database, connection)
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise BadStore(f"{path} is not a backup, or is damaged: {error}") from error
    await bring_to(database)


async def _copied_tables(connection: AsyncConnection) -> list[Table]:
    return [each for each in await connection.run_sync(stored_tables) if each.name not in _LEFT_OUT]


def _description(tables: Iterable[Table]) -> dict[str, Any]:
    """The tables in the order in which they can be filled, with their columns and what is in these."""
    described = {each.name: {one.name: _kind_of(one.type) for one in each.columns} for each in tables}
    return {"format": FORMAT, "revision": REVISION, "tables": described}


def _kind_of(type: TypeEngine[Any]) -> str:
    if isinstance(type, Boolean):
        return "truth"
    return "bytes" if isinstance(type, LargeBinary) else "plain"


def _as_kind(kind: str, value: Any) -> Any:
    """A value of a backup as either database takes it: SQLite writes truths as numbers."""
    if value is None or kind == "plain":
        return value
    return base64.b64decode(value) if kind == "bytes" else bool(value)


def _create(path: Path) -> IO[bytes]:
    """What is in a store is nobody else's business."""
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b")


async def _write_rows(connection: AsyncConnection, copied: Table, rows: IO[bytes]) -> None:
    columns: list[Any] = [column(each.name) for each in copied.columns]  # without a type: as they are stored
    result = await connection.stream(select(*columns).select_from(table(copied.name, *columns)))
    async for some in result.partitions(_ROWS_AT_ONCE if copied.name != "blobs" else 16):
        lines = b"".join(msgspec.json.encode(list(row)) + b"\n" for row in some)
        await asyncio.to_thread(rows.write, lines)


async def _read_rows(connection: AsyncConnection, name: str, columns: dict[str, str], rows: IO[bytes]) -> None:
    statement = insert(table(name, *(column(each) for each in columns)))
    for some in _batches(rows):
        values = [
            {
                name: _as_kind(kind, value)
                for (name, kind), value in zip(columns.items(), msgspec.json.decode(line), strict=True)
            }
            for line in some
        ]
        await connection.execute(statement, values)


def _batches(rows: IO[bytes]) -> Iterator[list[bytes]]:
    some: list[bytes] = []
    size = 0
    for line in rows:
        some.append(line)
        size += len(line)
        if len(some) >= _ROWS_AT_ONCE or size >= _BYTES_AT_ONCE:
            yield some
            some, size = [], 0
    if some:
        yield some


async def _make_empty_tables(database: Database, revision: str) -> None:
    await bring_to(database)
    async with database.read() as connection:
        for each in await _copied_tables(connection):
            if (await connection.execute(select(each).limit(1))).first() is not None:
                raise BadStore(f"the database is not empty (it has {each.name}): restore into an empty one")
    await bring_to(database, revision)


async def _let_numbers_go_on(database: Database, connection: AsyncConnection) -> None:
    """Let the ids of new rows follow those that were restored; SQLite does it by itself."""
    for each in [] if database.is_sqlite else await _copied_tables(connection):
        number = each.autoincrement_column
        if number is not None:
            sequence = func.pg_get_serial_sequence(each.name, number.name)  # NULL, and then nothing is set, for others
            following = select(func.coalesce(func.max(number), 0) + 1).scalar_subquery()
            await connection.execute(select(func.setval(sequence, following, False)))
