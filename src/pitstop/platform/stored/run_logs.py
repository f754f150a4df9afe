"""The logs of runs as they are written, for those who show what runs are doing."""

from collections.abc import AsyncIterator, Collection, Sequence

from sqlalchemy import select

from pitstop.errors import UnknownRun
from pitstop.events.types import AnyEvent
from pitstop.store.sql.database import Database
from pitstop.store.sql.event_rows import read_page
from pitstop.store.sql.news import News
from pitstop.store.sql.schema import runs

LOOK_SECONDS = 5.0  # for runs that other servers execute


class RunLogs:
    """Reads logs, and says which runs have written something."""

    def __init__(self, database: Database, news: News) -> None:
        self._database = database
        self._news = news

    async def after(self, run: str, number: int) -> tuple[str, Sequence[tuple[int, AnyEvent]]]:
        """The status of a run and its next events; an empty status if there is no such run."""
        async with self._database.read() as connection:
            status = (await connection.execute(select(runs.c.status).where(runs.c.id == run))).scalar_one_or_none()
            try:
                return status or "", [] if status is None else await read_page(connection, run, number)
            except UnknownRun:
                return "", []

    async def changes(self) -> AsyncIterator[Collection[str]]:
        """The runs of this server that have changed, again and again; none of them now and then. It never ends."""
        with self._news.of_all() as changed:
            while True:
                yield changed.take()
                await changed.wait(LOOK_SECONDS)
