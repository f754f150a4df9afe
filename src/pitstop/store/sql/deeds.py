"""Who did what, on its way into the database beside the changes of runs."""

import asyncio
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, insert, select

from pitstop.store.sql.schema import audit

Entry = tuple[float, str, str, str | None, Any]  # at, who, action, run, detail
_ADD = insert(audit)


class Deeds:
    """Some entries of the audit that are kept together; `kept` is set when they are, or tells why they are not."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        names = ("at", "who", "action", "run", "detail")
        self.rows = [dict(zip(names, entry, strict=True)) for entry in entries]
        self.kept: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def keep(self) -> None:
        if not self.kept.done():
            self.kept.set_result(None)

    def refuse(self, reason: Exception) -> None:
        if not self.kept.done():
            self.kept.set_exception(reason)


def write_deeds(connection: Connection, deeds: Sequence[Deeds], is_doubtful: bool) -> None:
    """`is_doubtful` says that an attempt may have been kept without our hearing of it."""
    rows = [row for each in deeds for row in each.rows if not (is_doubtful and _is_there(connection, row))]
    if rows:
        connection.execute(_ADD, rows)


def _is_there(connection: Connection, row: dict[str, Any]) -> bool:
    same = [audit.c[name] == row[name] for name in ("at", "who", "action")]
    return connection.execute(select(audit.c.id).where(*same).limit(1)).first() is not None
