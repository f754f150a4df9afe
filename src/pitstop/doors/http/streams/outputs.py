"""What the steps of a run write, for everybody who listens: in batches, each encoded once and kept for a while."""

import asyncio
import codecs
from collections import deque
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from pitstop.doors.http.answers import encode
from pitstop.doors.http.streams.followed import Followed
from pitstop.doors.http.streams.streaming import END, HEARTBEAT, frame
from pitstop.service.api import ActiveRun, Output
from pitstop.service.wire import OutputPiece

BATCH_SECONDS = 0.05
KEPT_BYTES = 1024 * 1024
PIECE_BYTES = 256 * 1024
LATE_SECONDS = 30.0  # how long it is kept for somebody who said they would come


@dataclass(frozen=True, slots=True)
class Batch:
    """`last` counts all that was heard up to its end, so that a client can say where it is."""

    first: int
    last: int
    frame: bytes


class OutputFeed:
    """What one run writes. `carry_on` is its task."""

    def __init__(self, run: ActiveRun, heartbeat_seconds: float) -> None:
        self._run = run
        self._heartbeat_seconds = heartbeat_seconds
        self._fresh: list[Output] = []
        self._fresh_bytes = 0
        self._heard = 0
        self._kept: deque[Batch] = deque()
        self._kept_bytes = 0
        self._told_event = 0  # all that was written before it is in a batch
        self._decoders: dict[tuple[str, str], codecs.IncrementalDecoder] = {}
        self._changed = asyncio.Event()
        self._batching: asyncio.TimerHandle | None = None
        self._is_over = False
        self._is_closed = False
        self.clients = 0
        self._stop_hearing = run.hear_output(self._hear)

    # Its own side

    async def carry_on(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                marking = group.create_task(self._mark_ends())
                await self._run.wait()
                marking.cancel()
            self._is_over = True
        finally:
            self._stop_hearing()
            self.close()

    async def _mark_ends(self) -> None:
        """Say with the end of each step that there is no more to come of it: events have a stream of their own."""
        self._mark((await self._run.info()).last_event)
        async for event in self._run.events(self._told_event):
            if event.kind == "step.finished":
                self._mark(event.number)

    def _mark(self, event: int) -> None:
        self._make_batch()
        self._told_event = event
        self._tell()

    def close(self) -> None:
        self._make_batch()
        self._is_closed = True
        self._tell()

    def _hear(self, output: Output) -> None:
        self._fresh.append(output)
        self._fresh_bytes += len(output.data)
        if self._fresh_bytes > PIECE_BYTES:
            self._make_batch()
        elif self._batching is None:
            self._batching = asyncio.get_running_loop().call_later(BATCH_SECONDS, self._make_batch)

    def _make_batch(self) -> None:
        if self._batching is not None:
            self._batching.cancel()
            self._batching = None
        if not self._fresh:
            return
        pieces = [self._piece(output) for output in self._fresh]
        first, self._heard = self._heard + 1, self._heard + len(pieces)
        data = encode([piece for piece in pieces if piece.text])
        self._fresh, self._fresh_bytes = [], 0
        batch = Batch(first, self._heard, frame(data, id=self._heard))
        self._kept.append(batch)
        self._kept_bytes += len(batch.frame)
        while self._kept_bytes > KEPT_BYTES and len(self._kept) > 1:
            self._kept_bytes -= len(self._kept.popleft().frame)
        self._tell()

    def _piece(self, output: Output) -> OutputPiece:
        """As text: a character that came in two parts is in the second piece."""
        key = (output.occurrence, output.stream)
        decoder = self._decoders.get(key)
        if decoder is None:
            decoder = self._decoders[key] = codecs.getincrementaldecoder("utf-8")("replace")
        return OutputPiece(output.occurrence, output.stream, output.time, decoder.decode(output.data))

    def _tell(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    # The clients' side

    async def blocks(self, after: int | None) -> AsyncGenerator[bytes, None]:
        """Batches above a number, or from now on; what is not kept any more is told as lost.

        `told` has the number of an event: what was written before it was sent.
        """
        after = self._heard if after is None else min(after, self._heard)
        told_event = 0
        while True:
            changed = self._changed
            batch = next((each for each in self._kept if each.last > after), None)
            if batch is not None:
                if batch.first > after + 1:
                    yield frame(encode({"pieces": batch.first - 1 - after}), event="lost")
                after = batch.last
                yield batch.frame
            elif self._told_event > told_event:
                told_event = self._told_event
                yield frame(encode({"event": told_event}), event="told")
            elif self._is_closed:
                break
            else:
                try:
                    async with asyncio.timeout(self._heartbeat_seconds):
                        await changed.wait()
                except TimeoutError:
                    yield HEARTBEAT
        if self._is_over:
            yield END


class OutputFeeds(Followed[OutputFeed]):
    """The output of each run that somebody listens to, or is about to."""

    def __init__(self, tasks: asyncio.TaskGroup, heartbeat_seconds: float) -> None:
        super().__init__(tasks)
        self._heartbeat_seconds = heartbeat_seconds

    def await_listener(self, run: ActiveRun) -> None:
        """Keep what the run writes from now on, for somebody who is about to listen."""
        self.take(run.id, lambda: OutputFeed(run, self._heartbeat_seconds))
        asyncio.get_running_loop().call_later(LATE_SECONDS, self.leave, run.id)

    async def blocks(self, run: ActiveRun, after: int | None) -> AsyncGenerator[bytes, None]:
        """The stream of one client."""
        with self.following(run.id, lambda: OutputFeed(run, self._heartbeat_seconds)) as feed:
            async for block in feed.blocks(after):
                yield block
