"""One run in the database, opened to be written or read."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from pitstop.engine.executor import Stream
from pitstop.store.port import Artifact, FileChunk, OutputLine, RunRecord
from pitstop.store.sql.artifacts import keep_artifacts, list_artifacts, read_artifact
from pitstop.store.sql.changes import Changes
from pitstop.store.sql.database import Database
from pitstop.store.sql.log import SqlLog
from pitstop.store.sql.news import News
from pitstop.store.sql.output import read_bytes, read_end, read_lines, read_sizes
from pitstop.store.sql.records import checked_changes, read_record

READ_AGAIN = 5  # times, when a step writes while the end of what it wrote is read


class SqlRun:
    """A KeptRun. With an epoch it is written here; without one it is read, and only its record can be changed."""

    def __init__(self, database: Database, news: News, changes: Changes, log: SqlLog) -> None:
        self.id = changes.run
        self.epoch = changes.epoch
        self.log = log
        self._database = database
        self._news = news
        self._changes = changes
        self._keeping = asyncio.Lock()
        self.append_output = changes.append_output
        self.end_output = changes.end_output

    @property
    def problem(self) -> str | None:
        return self._changes.problem

    async def record(self) -> RunRecord:
        """The record as it is now; what another server has added to the log is known from here on."""
        record = await read_record(self._database, self.id)
        await self.log.refresh()
        return record

    async def update(self, **changes: Any) -> None:
        """LogLost when the run is another's by now, or gone."""
        self.note(**changes)
        await self._changes.settled()

    def note(self, **changes: Any) -> None:
        self._changes.update(checked_changes(changes))

    # What steps write

    def output_lines(
        self, occurrence: str, *, after: int = 0, search: str | None = None
    ) -> AsyncIterator[Sequence[OutputLine]]:
        return read_lines(self._database, self.id, occurrence, after, search)

    async def output_end(self, occurrence: str, most_bytes: int) -> bytes:
        """With what is on its way, and the line that has not ended; only whole lines of one that writes on and on."""
        kept = b""
        for _ in range(READ_AGAIN):
            before, _ = self._changes.begun_output(occurrence)
            await self._changes.settled()
            kept = await read_end(self._database, self.id, occurrence, most_bytes)
            after, begun = self._changes.begun_output(occurrence)
            if before == after:
                return (kept + begun)[-most_bytes:] if most_bytes > 0 else b""
        return kept

    def output_bytes(self, occurrence: str) -> AsyncIterator[bytes]:
        return read_bytes(self._database, self.id, occurrence)

    async def output_sizes(self, occurrence: str, since: float) -> Mapping[Stream, int]:
        return await read_sizes(self._database, self.id, occurrence, since)

    # Artifacts

    async def keep_artifacts(self, files: AsyncIterator[FileChunk]) -> None:
        async with self._keeping:
            await keep_artifacts(self._database, self.id, self.epoch, files)

    async def artifacts(self) -> tuple[Artifact, ...]:
        return await list_artifacts(self._database, self.id)

    def artifact(self, path: str) -> AsyncIterator[bytes]:
        return read_artifact(self._database, self.id, path)

    async def close(self) -> None:
        """Keep what is on its way. LogLost when the run is another's by now."""
        try:
            if not self._changes.is_lost:
                self._changes.end_all_output()
                await self._changes.settled()
        finally:
            self.log.is_closed = True
            if self.epoch is not None:
                self._news.tell(self.id)
