"""SQLite's log carried over into the database beside the commits, so that none of them waits for the disk."""

import asyncio

from sqlalchemy import Connection

from pitstop.errors import StoreUnavailable
from pitstop.store.sql.database import Database

EVERY_SECONDS = 1.0


class Checkpoints:
    """One a second while something is written. A commit does it by itself only when these do not keep up."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._is_due = asyncio.Event()

    def note_commit(self) -> None:
        self._is_due.set()

    async def carry_over(self) -> None:
        """Carry over for ever. What cannot be now, because the disk is full perhaps, is tried after the next commit."""
        while True:
            await self._is_due.wait()
            await asyncio.sleep(EVERY_SECONDS)
            self._is_due.clear()
            try:
                await self._database.ask(_carry_over)
            except StoreUnavailable:
                continue


def _carry_over(connection: Connection) -> None:
    connection.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)").close()
