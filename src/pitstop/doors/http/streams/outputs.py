"""What the steps of a run write, for its feed: in batches, as text."""

import asyncio
import codecs
from collections.abc import AsyncGenerator, Sequence

from pitstop.doors.http.answers import encode
from pitstop.doors.http.streams.feeds import Block, Feed
from pitstop.doors.http.streams.streaming import frame
from pitstop.service.runs import ActiveRun, Output
from pitstop.service.wire import OutputPiece

BATCH_SECONDS = 0.05
BATCH_BYTES = 256 * 1024


class OutputFeed(Feed[Output]):
    """What one run writes from now on. A number counts all pieces up to it, so that a client can say where it is."""

    kept_bytes = 1024 * 1024

    def __init__(self, run: ActiveRun, last: int, heartbeat_seconds: float) -> None:
        super().__init__(run, last, heartbeat_seconds)
        self._decoders: dict[tuple[str, str], codecs.IncrementalDecoder] = {}
        self._stop_hearing = run.hear_output(self._hear)

    async def _follow_run(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                marking = group.create_task(self._mark_ends())
                await self._run.wait()
                marking.cancel()
        finally:
            self._stop_hearing()

    async def _mark_ends(self) -> None:
        """Say with the end of each step that there is no more to come of it: events have a stream of their own."""
        last = (await self._run.info()).last_event
        if last:
            self._mark(last)
        async for event in self._run.events(last):
            if event.kind == "step.finished":
                self._mark(event.number)

    def _mark(self, event: int) -> None:
        """Tell the number of an event: what was written before it was sent."""
        self._tell_between(frame(encode({"event": event}), event="told"))

    def _hear(self, output: Output) -> None:
        self._add(output, len(output.data))
        if self._fresh_bytes > BATCH_BYTES:
            self._tell()

    def _next_wake(self, now: float) -> float:
        return now + BATCH_SECONDS

    def _block_of(self, items: Sequence[Output]) -> Block:
        pieces = [self._piece(output) for output in items]
        last = self._last + len(pieces)
        return Block(last, frame(encode([piece for piece in pieces if piece.text]), id=last))

    def _piece(self, output: Output) -> OutputPiece:
        """As text: a character that came in two parts is in the second piece."""
        key = (output.occurrence, output.stream)
        decoder = self._decoders.get(key)
        if decoder is None:
            decoder = self._decoders[key] = codecs.getincrementaldecoder("utf-8")("replace")
        return OutputPiece(output.occurrence, output.stream, output.time, decoder.decode(output.data))

    async def _missed(self, after: int) -> AsyncGenerator[Block, None]:
        """How much was lost: it is not kept."""
        kept_after = self._first - 1
        yield Block(kept_after, frame(encode({"pieces": kept_after - after}), event="lost"))
