"""One batch of changes written in one transaction.

It does not wait for anything but the database, so SQLite does all of it in one go in a thread, and PostgreSQL by
`run_sync`.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, Table, Update, bindparam, insert, select, update

from pitstop.store.sql.blobs import keep_blobs
from pitstop.store.sql.changes import AddedRow, Taken
from pitstop.store.sql.columns import name_to_column
from pitstop.store.sql.database import Database
from pitstop.store.sql.output import blocks_of
from pitstop.store.sql.schema import events, output, runs

_ROWS_AT_ONCE = 5_000
_ARRAYS = {"TEXT": "text[]", "BIGINT": "bigint[]", "DOUBLE PRECISION": "float8[]", "BYTEA": "bytea[]"}


# Is told of the runs whose status changes, by their ids, within the transaction that stores it
OnStatus = Callable[[Database, Connection, Mapping[str, str]], None]


class BatchWriter:
    """Writes batches, with statements that are made once."""

    def __init__(self, database: Database, on_status: OnStatus | None = None) -> None:
        self._database = database
        self._on_status = on_status
        self._insert = _insert_many if database.is_sqlite else _insert_arrays
        self._events = _driver_insert(database, events)
        self._output = _driver_insert(database, output)

    def write(
        self, connection: Connection, batch: Sequence[Taken], added: Sequence[AddedRow], is_doubtful: bool
    ) -> list[Taken]:
        """Write all that may be written; those whose run is another's now are given back.

        `is_doubtful` says that an attempt may have been kept without our hearing of it. Under our epoch nobody else
        writes, so what is there already is ours.
        """
        ours, lost = self._owned(connection, batch)
        self.write_rows(connection, ours, " ON CONFLICT DO NOTHING" if is_doubtful else "")
        _update(connection, ours)
        self.tell_statuses(connection, {each.changes.run: each.updates["status"] for each in ours if _has_status(each)})
        if added:
            _write_added(connection, added, is_doubtful)
        return lost

    def tell_statuses(self, connection: Connection, changed: Mapping[str, str]) -> None:
        if self._on_status is not None and changed:
            self._on_status(self._database, connection, changed)

    def write_rows(self, connection: Connection, ours: Sequence[Taken], rule: str = "") -> None:
        if any(taken.blobs for taken in ours):
            self._database.lock_blobs(connection)
            keep_blobs(connection, self._database, [(taken.changes.run, taken.blobs) for taken in ours])
        rows: list[Any] = ours[0].events if len(ours) == 1 else [row for taken in ours for row in taken.events]
        self._insert(connection, self._events + rule, rows)
        self._insert(
            connection, self._output + rule, [row for taken in ours for row in _output_rows(connection, taken)]
        )

    def _owned(self, connection: Connection, batch: Sequence[Taken]) -> tuple[list[Taken], list[Taken]]:
        """Whose run is still ours; they are held until the transaction ends. Asked at every commit: kept short."""
        if not batch:
            return [], []
        names = [taken.changes.column for taken in batch]
        if self._database.is_sqlite:
            wanted: tuple[Any, ...] = tuple(names)
            statement = f"SELECT id, epoch FROM runs WHERE id IN ({', '.join('?' for _ in names)})"
        else:
            wanted = (names,)
            statement = "SELECT id, epoch FROM runs WHERE id = ANY($1::text[]) ORDER BY id FOR NO KEY UPDATE"
        epochs: dict[str, int] = {row[0]: row[1] for row in connection.exec_driver_sql(statement, wanted)}
        ours: list[Taken] = []
        lost: list[Taken] = []
        for taken in batch:
            epoch = epochs.get(taken.changes.column)
            is_ours = epoch is not None and taken.changes.epoch in (None, epoch)
            (ours if is_ours else lost).append(taken)
        return ours, lost


def _output_rows(connection: Connection, taken: Taken) -> list[Any]:
    """The blocks of what steps wrote, numbered once: they are the same at the next attempt."""
    if taken.output is None:
        next_line = taken.changes.next_line
        for occurrence in taken.pieces:
            if occurrence not in next_line:
                is_new = taken.changes.is_new
                next_line[occurrence] = 1 if is_new else _last_line(connection, taken.changes.run, occurrence) + 1
        taken.output = []
        for occurrence, pieces in taken.pieces.items():
            for lines, size, body in blocks_of(pieces):
                place = (taken.changes.column, name_to_column(occurrence), next_line[occurrence])
                taken.output.append((*place, lines, size, body))
                next_line[occurrence] += lines
    return taken.output


def _last_line(connection: Connection, run: str, occurrence: str) -> int:
    of_it = (output.c.run == run, output.c.occurrence == occurrence)
    last = select(output.c.first_line + output.c.lines - 1).where(*of_it).order_by(output.c.first_line.desc()).limit(1)
    return connection.execute(last).scalar_one_or_none() or 0


def _update(connection: Connection, batch: Sequence[Taken]) -> None:
    """Records, those together that have the same fields changed."""
    changed = sorted((taken for taken in batch if taken.updates), key=_changed_fields)
    for names, group in groupby(changed, _changed_fields):
        rows = [
            {"run": taken.changes.run, **{f"new_{name}": value for name, value in taken.updates.items()}}
            for taken in group
        ]
        connection.execute(_updating(names), rows)


def _has_status(taken: Taken) -> bool:
    return "status" in taken.updates


@cache
def _updating(names: tuple[str, ...]) -> Update:
    values = {name: bindparam(f"new_{name}", type_=runs.c[name].type) for name in names}
    return update(runs).where(runs.c.id == bindparam("run")).values(values)


def _changed_fields(taken: Taken) -> tuple[str, ...]:
    return tuple(sorted(taken.updates))


def _write_added(connection: Connection, added: Sequence[AddedRow], is_doubtful: bool) -> None:
    """`is_doubtful` says that an attempt may have been stored without our hearing of it."""
    rows: dict[Table, list[Mapping[str, Any]]] = {}
    for each in added:
        if not (is_doubtful and _is_there(connection, each)):
            rows.setdefault(each.table, []).append(each.row)
    for table, new in rows.items():
        connection.execute(insert(table), new)


def _is_there(connection: Connection, added: AddedRow) -> bool:
    table = added.table
    is_same = [table.c[name] == added.row[name] for name in added.same]
    return connection.execute(select(*table.primary_key).where(*is_same).limit(1)).first() is not None


def _insert_many(connection: Connection, statement: str, rows: list[Any]) -> None:
    if rows:
        connection.exec_driver_sql(statement, rows)


def _insert_arrays(connection: Connection, statement: str, rows: list[Any]) -> None:
    """PostgreSQL takes a column at a time faster than a row at a time."""
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        columns = tuple(map(list, zip(*rows[first : first + _ROWS_AT_ONCE], strict=True)))
        connection.exec_driver_sql(statement, columns)


def _driver_insert(database: Database, table: Table) -> str:
    """The INSERT as the driver takes it: rows are tuples already, and nothing is left to be done for each."""
    names = ", ".join(column.name for column in table.columns)
    if database.is_sqlite:
        return f"INSERT INTO {table.name} ({names}) VALUES ({', '.join('?' for _ in table.columns)})"
    dialect = database.engine.dialect
    kinds = [_ARRAYS[column.type.compile(dialect)] for column in table.columns]
    arrays = ", ".join(f"${place}::{kind}" for place, kind in enumerate(kinds, 1))
    return f"INSERT INTO {table.name} ({names}) SELECT * FROM unnest({arrays})"
