"""Rows of other rooms' tables, on their way into the database with the changes of runs."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table, insert, select


class AddedRow:
    """A row to insert; `stored` is set when it is, or has the reason why it is not."""

    def __init__(self, table: Table, row: Mapping[str, Any], same: Sequence[str]) -> None:
        self.table = table
        self.row = row
        self.same = same
        self.stored: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def confirm(self) -> None:
        if not self.stored.done():
            self.stored.set_result(None)

    def refuse(self, reason: Exception) -> None:
        if not self.stored.done():
            self.stored.set_exception(reason)


def write_added(connection: Connection, added: Sequence[AddedRow], is_doubtful: bool) -> None:
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
