"""A run on a server, as doors see it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, suppress
from typing import cast
from urllib.parse import quote

import msgspec

from pitstop.errors import PitstopError
from pitstop.service.remote.connection import Background, Connection
from pitstop.service.runs import (
    ENDED,
    WORKSPACE_PROGRESS,
    ArtifactInfo,
    EventInfo,
    LogPage,
    Output,
    Question,
    RunInfo,
    RunSummary,
    Stream,
    TestCase,
    TestComparison,
    TestedRun,
    WorkspaceProgress,
)
from pitstop.service.wire import OutputPiece, RunDetail

LAST_OUTPUT_SECONDS = 5.0  # that the end of a run is kept back for output that did not come in time before
LATE_OUTPUT_SECONDS = 30.0  # that the end of a step, or of a run, is kept back for what was written before it
_NO_FIELDS = ("schema", "number", "kind", "at")


class RemoteRun:
    """An ActiveRun. `heard_from` is where in its output the first listener begins: None is from now on."""

    def __init__(
        self, connection: Connection, detail: RunDetail, background: Background, heard_from: int | None = None
    ) -> None:
        self.id, self.flow, self.texts = detail.id, detail.flow_info, detail.texts
        self.carried_over = detail.carried_over
        self._connection = connection
        self._background = background
        self._heard_from = heard_from
        self._path = f"/runs/{quote(detail.id, safe='')}"
        self._listeners: list[Callable[[Output], None]] = []
        self._progress_listeners: list[Callable[[WorkspaceProgress], None]] = []
        self._progress: WorkspaceProgress | None = None  # what was told last
        self._listening: asyncio.Task[None] | None = None
        self._heard_until = 0  # the event before which all that was written has been heard
        self._heard_more = asyncio.Event()
        self._is_output_late = False
        self._is_heard_out = True  # nobody listens, or there is no more to hear

    async def info(self) -> RunInfo:
        return await self._connection.get(self._path, RunInfo)

    async def events(self, after: int = 0) -> AsyncGenerator[EventInfo, None]:
        async with aclosing(self._connection.stream(f"{self._path}/events", after=after)) as stream:
            async for told in stream:
                if told.name == WORKSPACE_PROGRESS:
                    self._tell_progress(msgspec.json.decode(told.data, type=WorkspaceProgress))
                    continue
                fields = msgspec.json.decode(told.data)
                event = EventInfo(
                    fields["number"],
                    fields["kind"],
                    fields["at"],
                    {name: value for name, value in fields.items() if name not in _NO_FIELDS},
                )
                if event.kind == "step.finished":
                    await self._hear_until(event.number)
                elif event.kind == "run.ended":
                    await self._hear_the_rest()
                yield event

    def hear_output(self, listener: Callable[[Output], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        if self._listening is None:
            self._is_heard_out = False
            self._listening = self._background.start(self._listen(), f"output of {self.id}")

        def stop_hearing() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)
            if not self._listeners and self._listening is not None:
                self._listening.cancel()  # perhaps before it has begun
                self._listening = None
                self._note_heard_out()

        return stop_hearing

    def hear_progress(self, listener: Callable[[WorkspaceProgress], None]) -> Callable[[], None]:
        self._progress_listeners.append(listener)
        return lambda: self._progress_listeners.remove(listener)

    def _tell_progress(self, progress: WorkspaceProgress) -> None:
        last = self._progress
        if last is None or (progress != last and progress.at >= last.at):  # events may be followed more than once
            self._progress = progress
            for listener in [*self._progress_listeners]:
                listener(progress)

    async def _listen(self) -> None:
        """Tell the listeners what the server tells. When it has no more, or is not there, whoever follows is told."""
        after, self._heard_from = self._heard_from, None
        try:
            async with aclosing(self._connection.stream(f"{self._path}/output", after=after)) as stream:
                async for told in stream:
                    if told.name == "message":
                        self._tell(msgspec.json.decode(told.data, type=list[OutputPiece]))
                    elif told.name == "told":
                        self._heard_until = msgspec.json.decode(told.data)["event"]
                        self._is_output_late = False
                        self._heard_more.set()
        except PitstopError:  # it was deleted meanwhile, say
            pass
        finally:
            if self._listening is asyncio.current_task():  # and nobody else listens by now
                self._note_heard_out()

    def _note_heard_out(self) -> None:
        self._is_heard_out = True
        self._heard_more.set()

    def _tell(self, pieces: list[OutputPiece]) -> None:
        for piece in pieces:
            output = Output(piece.occurrence, cast(Stream, piece.stream), piece.time, piece.text.encode())
            for listener in [*self._listeners]:
                listener(output)

    async def _hear_until(self, event: int) -> None:
        """Wait until what was written before an event is heard; not again and again for what does not come."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LATE_OUTPUT_SECONDS):
                while self._is_awaiting_output(event):
                    self._heard_more.clear()
                    await self._heard_more.wait()
        self._is_output_late = self._is_awaiting_output(event)

    def _is_awaiting_output(self, event: int) -> bool:
        return self._heard_until < event and not (self._is_heard_out or self._is_output_late)

    async def _hear_the_rest(self) -> None:
        """Wait until all is heard; only for a moment where output that is late has been waited for already."""
        if self._listening is not None:
            seconds = LAST_OUTPUT_SECONDS if self._is_output_late else LATE_OUTPUT_SECONDS
            await asyncio.wait([self._listening], timeout=seconds)

    async def log_tail(self, occurrence: str, lines: int = 20) -> list[str]:
        params = {"occurrence": occurrence, "lines": lines}
        return await self._connection.get(f"{self._path}/log/tail", list[str], **params)

    async def log(self, occurrence: str, *, after: int = 0, limit: int = 1000, search: str | None = None) -> LogPage:
        params = {"occurrence": occurrence, "after": after, "limit": limit, "search": search}
        return await self._connection.get(f"{self._path}/log", LogPage, **params)

    def log_bytes(self, occurrence: str) -> AsyncIterator[bytes]:
        return self._connection.download(f"{self._path}/log/download", occurrence=occurrence)

    async def artifacts(self) -> tuple[ArtifactInfo, ...]:
        return await self._connection.get(f"{self._path}/artifacts", tuple[ArtifactInfo, ...])

    def artifact(self, path: str) -> AsyncIterator[bytes]:
        return self._connection.download(f"{self._path}/artifacts/{quote(path, safe='')}")

    async def tests(self, default_branch: str | None = None) -> tuple[TestCase, ...]:
        return await self._connection.get(f"{self._path}/tests", tuple[TestCase, ...])

    async def test_comparison(self, default_branch: str | None = None) -> TestComparison:
        path = f"{self._path}/tests/comparison"
        return await self._connection.get(path, TestComparison)

    async def test_history(self, limit: int = 20) -> tuple[TestedRun, ...]:
        return await self._connection.get(f"{self._path}/tests/history", tuple[TestedRun, ...], limit=limit)

    async def questions(self) -> tuple[Question, ...]:
        return await self._connection.get(f"{self._path}/questions", tuple[Question, ...])

    async def wait(self) -> RunSummary:
        info = await self.info()
        while info.status not in ENDED:
            async for _ in self.events(info.last_event):
                pass
            info = await self.info()
        await self._hear_the_rest()
        return RunSummary(info.id, info.status, info.error, info.failures, info.intervened)
