"""What is to be written of one run: it grows while the run goes on, and the writer takes it away."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from sqlalchemy import Table

from pitstop.engine.executor import LogChunk
from pitstop.errors import LogLost, UnknownRun
from pitstop.events.types import AnyEvent
from pitstop.store.output_pieces import LineSplitter, Piece
from pitstop.store.port import ENDED
from pitstop.store.sql.columns import to_column
from pitstop.store.sql.event_codec import KINDS, LARGE, kind_of, pack_event
from pitstop.store.sql.event_rows import EventRow

OutputRow = tuple[str, str, int, int, int, bytes]  # as in the table


class Taken(Struct, eq=False):
    """Changes on their way into the database: the same at every attempt, until one succeeds."""

    changes: "Changes"
    upto: int
    last_event: int
    events: list[EventRow]
    pieces: dict[str, list[Piece]]
    updates: dict[str, Any]
    output: list[OutputRow] | None = None  # made of the pieces once it is known where their lines begin
    large: list[int] = field(default_factory=list)  # the places of events with values that are to leave their rows
    blobs: dict[bytes, bytes] = field(default_factory=dict)


class Changes:
    """The changes of one run, opened to be written under an epoch; None for one that anybody may update."""

    def __init__(
        self,
        run: str,
        epoch: int | None,
        last_event: int,
        wake: Callable[["Changes"], None],
        *,
        is_new: bool = True,
    ) -> None:
        self.run = run
        self.column = to_column(run)
        self.epoch = epoch
        self.problem: str | None = None
        self.kept_events = last_event
        self.last_event = last_event
        self.is_lost = False
        self.has_ended = False  # whether it is kept that the run has ended
        self.is_new = is_new  # whether no occurrence can have lines from before
        self.next_line: dict[str, int] = {}  # the lines that each occurrence has so far, plus 1
        self._wake = wake
        self._refusal: Exception | None = None
        self._events: list[EventRow] = []
        self._large: list[int] = []
        self._is_awaited = False  # whether the writer is going to take something
        self._splitters: dict[str, LineSplitter] = {}
        self._pieces: dict[str, list[Piece]] = {}
        self._pieces_made: dict[str, int] = {}
        self._updates: dict[str, Any] = {}
        self._made = 0
        self._kept = 0
        self._waiting: list[asyncio.Future[None]] = []

    def begin_with(self, events: Sequence[AnyEvent]) -> Taken:
        """What a new run begins with: whoever makes the run writes it."""
        for event in events:
            self._add_event(event)
        return self.take()

    def append_event(self, event: AnyEvent) -> None:
        if self._refusal is not None:
            self._check()
        self._add_event(event)
        if not self._is_awaited:
            self._is_awaited = True
            self._wake(self)

    def _add_event(self, event: AnyEvent) -> None:
        """Packed now, for its values may be changed by whoever has them. All events come this way: it is kept short."""
        body = pack_event(event)
        if len(body) >= LARGE:
            self._large.append(len(self._events))
        self._made += 1
        self.last_event = number = self.last_event + 1
        self._events.append((self.column, number, KINDS.get(type(event)) or to_column(kind_of(event)), event.at, body))

    def append_output(self, occurrence: str, chunk: LogChunk) -> None:
        self._check()
        splitter = self._splitters.get(occurrence)
        if splitter is None:
            splitter = self._splitters[occurrence] = LineSplitter()
        self._add_pieces(occurrence, list(splitter.feed(chunk)))

    def end_output(self, occurrence: str) -> None:
        splitter = self._splitters.pop(occurrence, None)
        if splitter is not None:
            self._add_pieces(occurrence, list(splitter.end()))

    def begun_output(self, occurrence: str) -> tuple[int, bytes]:
        """The lines that have not ended, and how many pieces that have were made before them."""
        splitter = self._splitters.get(occurrence)
        return self._pieces_made.get(occurrence, 0), b"" if splitter is None else splitter.begun

    def end_all_output(self) -> None:
        for occurrence in list(self._splitters):
            self.end_output(occurrence)

    def update(self, changes: dict[str, Any]) -> None:
        self._check()
        self._updates |= changes
        self._changed()

    async def settled(self) -> None:
        """Wait until what was made so far is kept."""
        upto = self._made
        while self._kept < upto:
            if self._refusal is not None:
                raise self._refusal
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiting)
            await waiting

    # What the writer does

    def take(self) -> Taken:
        taken = Taken(self, self._made, self.last_event, self._events, self._pieces, self._updates)
        taken.large = self._large
        self._events, self._large, self._pieces, self._updates = [], [], {}, {}
        self._is_awaited = False
        return taken

    def keep(self, taken: Taken) -> None:
        """These are kept."""
        self._kept = taken.upto
        self.kept_events = taken.last_event
        if "status" in taken.updates:
            self.has_ended = taken.updates["status"] in ENDED
        self.problem = None
        self._tell()

    def lose(self) -> None:
        """The run is another's, or gone: nothing more of it can be written here."""
        self.is_lost = True
        self.refuse(UnknownRun(self.run) if self.epoch is None else LogLost(self.run))

    def refuse(self, reason: Exception) -> None:
        """Nothing more can be kept of this run."""
        self._refusal = reason
        self.problem = str(reason)
        self._tell()

    def _check(self) -> None:
        if self._refusal is not None:
            raise self._refusal

    def _add_pieces(self, occurrence: str, pieces: list[Piece]) -> None:
        if pieces:
            self._pieces.setdefault(occurrence, []).extend(pieces)
            self._pieces_made[occurrence] = self._pieces_made.get(occurrence, 0) + len(pieces)
            self._changed()

    def _changed(self) -> None:
        self._made += 1
        if not self._is_awaited:
            self._is_awaited = True
            self._wake(self)

    def _tell(self) -> None:
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            if not each.done():
                each.set_result(None)


class AddedRow:
    """A row of another room's table; `stored` is set when it is, or has the reason why it is not."""

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
