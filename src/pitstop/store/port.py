"""The RunStore port: what the service asks of a place where runs are kept.

`folder.py` keeps them as folders, for runs without a server; `sql/` keeps them in SQLite or PostgreSQL. Both pass the
suite in `tests/contracts/store.py`.
"""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence, Set
from typing import Any, Literal, Protocol

from msgspec import Struct, field

from pitstop.engine.executor import LogChunk, Stream
from pitstop.engine.workspace_files import FoundFile
from pitstop.events.log import EventLog
from pitstop.events.types import AnyEvent

FileChunk = tuple[FoundFile, bytes]  # a file, and the next of what is in it
Status = Literal["pending", "running", "paused", "passed", "failed", "cancelled", "timed_out"]

ENDED: tuple[Status, ...] = ("passed", "failed", "cancelled", "timed_out")


class RunRecord(Struct, frozen=True, kw_only=True):
    """A run, without its log. Times are seconds since the epoch; `request` and `failures` are JSON without secrets.

    `texts` has every file of the flow as it was read, so that a run goes on with the flow that it began with.
    `sealed_secrets` is what only the service can open; None when the run has none. `workspace` is the id that the
    executor takes it up again by.
    """

    id: str
    flow: str  # the flow's name
    file: str
    status: Status = "pending"
    created_at: float
    started_at: float | None = None
    ended_at: float | None = None
    error: str | None = None
    failures: tuple[Mapping[str, Any], ...] = ()
    intervened: bool = False
    request: Mapping[str, Any] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    sealed_secrets: bytes | None = None
    workspace: str | None = None
    from_run: str | None = None
    from_step: str | None = None
    carried_over: int = 0
    is_partial: bool = False  # whether it was of a single step: nothing goes on from it
    priority: int = 0
    kept_until: float | None = None
    is_pinned: bool = False
    repo: str | None = None  # the repository on the server that it is of
    ref: str | None = None  # the branch or tag there
    sha: str | None = None  # and the commit
    started_by: str | None = None  # the user, or what else started it
    concurrency: str | None = None  # the group of runs that exclude each other


class RunFilter(Struct, frozen=True, kw_only=True):
    """Which runs, the newest first. `before` is the (created_at, id) of the last one of the page before."""

    status: tuple[Status, ...] = ()
    flow: str | None = None
    file: str | None = None
    repo: str | None = None
    ref: str | None = None
    search: str | None = None  # in the id, the flow's name and the file
    before: tuple[float, str] | None = None
    limit: int = 50


class OutputLine(Struct, frozen=True):
    """A line that an occurrence wrote, without its newline. `number` counts its lines from 1.

    A line of more than `LONGEST_LINE` bytes is kept as several; a `\\r` inside it is kept as it came.
    """

    number: int
    stream: Stream
    time: float
    data: bytes


LONGEST_LINE = 64 * 1024


class Artifact(Struct, frozen=True):
    """A file that was handed on; its path is relative."""

    path: str
    size: int


class RunLog(EventLog, Protocol):
    """The log of a run that is kept. Those who follow it are told of nothing that is not kept yet."""

    @property
    def carried_over(self) -> int: ...

    async def settled(self) -> None:
        """Wait until everything that was appended is kept. LogLost when it cannot be: the run is another's now."""
        ...

    async def page(self, after: int = 0, limit: int = 1000) -> Sequence[tuple[int, AnyEvent]]:
        """Events above `after` with their numbers, as they are kept by now."""
        ...

    def follow(self, after: int = 0) -> AsyncIterator[tuple[int, AnyEvent]]:
        """Every event above `after` with its number, those to come included, until the run has ended."""
        ...


class KeptRun(Protocol):
    """One run in the store, opened to be written or read."""

    @property
    def id(self) -> str: ...

    @property
    def log(self) -> RunLog: ...

    @property
    def problem(self) -> str | None:
        """Why not all of it is kept, if that is so: the disk is full."""
        ...

    async def record(self) -> RunRecord: ...

    async def update(self, **changes: Any) -> None:
        """Change fields of the record, all at once."""
        ...

    def note(self, **changes: Any) -> None:
        """`update`, for whoever does not wait: it is kept before anything that is appended later. LogLost."""
        ...

    def append_output(self, occurrence: str, chunk: LogChunk) -> None:
        """Keep what a step wrote; never waits. A line that is not ended is kept by `end_output`, or with the next."""
        ...

    def end_output(self, occurrence: str) -> None: ...

    def output_lines(
        self, occurrence: str, *, after: int = 0, search: str | None = None
    ) -> AsyncIterator[Sequence[OutputLine]]:
        """Lines above `after` that are kept so far, in blocks; with `search`, those with this text, in any case."""
        ...

    async def output_end(self, occurrence: str, most_bytes: int) -> bytes:
        """The end of what it wrote."""
        ...

    def output_bytes(self, occurrence: str) -> AsyncIterator[bytes]:
        """All that it wrote, byte for byte."""
        ...

    async def output_sizes(self, occurrence: str, since: float) -> Mapping[Stream, int]:
        """How many bytes that it wrote since then are stored, of each stream."""
        ...

    async def keep_artifacts(self, files: AsyncIterator[FileChunk]) -> None:
        """Keep every file that is not kept yet or has changed. One that comes in several chunks is seen when complete.

        Of two that run at once, the files of the later one are kept.
        """
        ...

    async def artifacts(self) -> tuple[Artifact, ...]: ...

    def artifact(self, path: str) -> AsyncIterator[bytes]:
        """UnknownArtifact when there is none at this path."""
        ...

    async def close(self) -> None:
        """Keep what is on its way; the run stays."""
        ...


class RunStore(Protocol):
    """Where runs are kept."""

    async def create(self, record: RunRecord, events: Sequence[AnyEvent] = ()) -> KeptRun:
        """Keep a new run that begins with the events of another."""
        ...

    async def open(self, run: str, *, events: bool = True) -> KeptRun:
        """UnknownRun when there is none of that id.

        Without `events` it is open at once however long its log is, to be paged and followed, but not read.
        """
        ...

    async def find(self, filter: RunFilter) -> tuple[RunRecord, ...]: ...

    async def delete(self, run: str) -> None:
        """Forget the run and all that is kept of it. UnknownRun."""
        ...

    async def read_flow_setting(self, flow: str, name: str) -> Any:
        """A JSON value that is kept with a flow, such as its breakpoints; None when there is none."""
        ...

    async def write_flow_setting(self, flow: str, name: str, value: Any) -> None: ...

    async def close(self) -> None: ...


# --- What processes without a server need beside it ------------------------------------------------------------------


class LocalStore(RunStore, Protocol):
    """A store that the processes of a machine share: a run is written by the process that made or claimed it."""

    async def claim(self, run: str) -> KeptRun:
        """Open a run to continue it, now that no process has it; what its log has too much of an event is cut off.

        UnknownRun, InAnotherProcess, BadLog, and NotRunning for one that has ended.
        """
        ...

    async def old_runs(self) -> Sequence[str]:
        """The runs that are to be forgotten, because there are too many newer ones."""
        ...


# --- What several servers need beside it -----------------------------------------------------------------------------


class Claim(Struct, frozen=True):
    """A run that is a server's now: `open_claimed` opens it.

    `left_at` is when the server that had it before was last seen; None when none had, or nobody knows.
    """

    record: RunRecord
    epoch: int
    left_at: float | None = None


class ServerRecord(Struct, frozen=True):
    """A server that uses this store, and when it was last seen, in the database's time.

    `home` is the id of the folder where its repositories are.
    """

    id: str
    address: str
    started_at: float
    seen_at: float
    home: str = ""


class ServerStore(RunStore, Protocol):
    """A store that servers share their runs by: a run is written by the server that has claimed it, and no other."""

    async def create(
        self, record: RunRecord, events: Sequence[AnyEvent] = (), *, owner: str | None = None, lease_seconds: float = 0
    ) -> KeptRun:
        """With an owner it is claimed already."""
        ...

    async def open_claimed(self, claims: Sequence[Claim]) -> Sequence[KeptRun]:
        """Runs that were just claimed, to be written. One that was claimed again since is lost at its first write."""
        ...

    async def register_server(self, server: str, address: str, home: str = "") -> None: ...

    async def forget_server(self, server: str) -> None:
        """A server that is gone holds nothing: its runs can be claimed at once."""
        ...

    async def servers(self) -> tuple[ServerRecord, ...]: ...

    async def owner_of(self, run: str) -> ServerRecord | None:
        """The server whose lease on the run holds; None if no lease holds."""
        ...

    async def claim(self, server: str, lease_seconds: float, limit: int) -> Sequence[Claim]:
        """Claim runs without an owner: those whose owner was lost first, then pending ones by priority and age.

        Two servers never get the same run.
        """
        ...

    async def renew(self, server: str, held: Collection[str], lease_seconds: float) -> Set[str]:
        """Hold on to the runs; those that are still this server's. It is seen, too."""
        ...
