"""Who is told when something of a run was kept: by the writer of this process, or by looking at the database."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import func, select

from pitstop.errors import StoreUnavailable
from pitstop.store.sql.database import Database
from pitstop.store.sql.schema import events, runs

POLL_SECONDS = 0.2


class Changed:
    """The runs of which something was stored here since they were last taken."""

    def __init__(self) -> None:
        self._runs: set[str] = set()
        self._news = asyncio.Event()

    def add(self, run: str) -> None:
        self._runs.add(run)
        self._news.set()

    def wake(self) -> None:
        """End the wait, with nothing new."""
        self._news.set()

    def take(self) -> set[str]:
        taken, self._runs = self._runs, set()
        self._news.clear()
        return taken

    async def wait(self, seconds: float) -> bool:
        """Wait until there is one; False after that time."""
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return False
        return True


class News:
    """Those who wait for news of runs. Runs that others may write are looked at every 200 ms, all of them at once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: dict[str, list[asyncio.Event]] = {}
        self._watching: dict[str, list[asyncio.Event]] = {}  # those who wait for what only the database can tell
        self._of_all: list[Changed] = []
        self._seen: dict[str, tuple[int, str] | None] = {}
        self._somebody_watches = asyncio.Event()

    @contextmanager
    def awaited(self, run: str, *, is_written_here: bool = False) -> Iterator[asyncio.Event]:
        """An event that is set when there is news of the run; whoever waits clears it."""
        news = asyncio.Event()
        waiting = self._waiting if is_written_here else self._watching
        waiting.setdefault(run, []).append(news)
        if not is_written_here:
            self._somebody_watches.set()
        try:
            yield news
        finally:
            waiting[run].remove(news)
            if not waiting[run]:
                del waiting[run]

    @contextmanager
    def of_all(self) -> Iterator[Changed]:
        """The runs that this process writes, whichever they are."""
        changed = Changed()
        self._of_all.append(changed)
        try:
            yield changed
        finally:
            self._of_all.remove(changed)

    def tell(self, run: str) -> None:
        for changed in self._of_all:
            changed.add(run)
        for news in (*self._waiting.get(run, ()), *self._watching.get(run, ())):
            news.set()

    async def look(self) -> None:
        """Look at the database for ever, as long as somebody waits for what only it can tell."""
        while True:
            if not self._watching:
                self._somebody_watches.clear()
                await self._somebody_watches.wait()
            await self._look_at(list(self._watching))
            await asyncio.sleep(POLL_SECONDS)

    async def _look_at(self, watched: list[str]) -> None:
        last = select(func.max(events.c.number)).where(events.c.run == runs.c.id).scalar_subquery()
        try:
            rows = await self._database.rows(select(runs.c.id, runs.c.status, last).where(runs.c.id.in_(watched)))
        except StoreUnavailable:
            return  # whoever follows is told by what it reads itself, when it reads
        present: dict[str, tuple[int, str]] = {run: (number or 0, status) for run, status, number in rows}
        seen, self._seen = self._seen, {run: present.get(run) for run in watched}
        for run in watched:
            if run not in seen or seen[run] != present.get(run):
                self.tell(run)
