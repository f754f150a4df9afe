"""What a run reports while it runs: events, output, progress and artifacts."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import asdict

Stream = Literal["stdout", "stderr"]
WorkspaceWork = Literal["keeping", "putting_back"]
EVENT_SCHEMA = 1  # the shape of `EventInfo.as_json`; a changed meaning is a new kind of event instead
WORKSPACE_PROGRESS = "workspace.progress"  # the kind of what is told between the events, without a number


class EventInfo(Struct, frozen=True):
    """A fact of a run: its number in the log, its kind, its time, and the fields of that kind as JSON, masked."""

    number: int
    kind: str
    at: float
    fields: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        return {"schema": EVENT_SCHEMA, "number": self.number, "kind": self.kind, "at": self.at, **self.fields}


class Output(Struct, frozen=True):
    """Bytes that a step wrote, as they came, without secrets."""

    occurrence: str
    stream: Stream
    time: float
    data: bytes


class WorkspaceProgress(Struct, frozen=True, kw_only=True):
    """How far the files of the workspace are kept, or put back, and of how much; None is not known yet.

    It is told while that lasts, and is no event: it has no number, and nobody keeps it. `text` says it in words. The
    last one `is_over`; it has no text when the work was not done.
    """

    at: float
    doing: WorkspaceWork
    files: int
    bytes: int
    of_files: int | None
    of_bytes: int | None
    text: str
    is_over: bool = False

    def as_json(self) -> dict[str, Any]:
        return {"schema": EVENT_SCHEMA, "kind": WORKSPACE_PROGRESS, **asdict(self)}


class LogLine(Struct, frozen=True):
    """A line of a step's log. `number` counts the lines of the occurrence from 1; `text` keeps escape sequences."""

    number: int
    stream: Stream
    time: float
    text: str


class LogPage(Struct, frozen=True):
    """A page of the log of an occurrence. `next` is the number to continue after; None: no more yet.

    `is_ended` says that the occurrence has ended, so that there is no more to come.
    """

    occurrence: str
    lines: tuple[LogLine, ...]
    next: int | None = None
    is_ended: bool = False


class ArtifactInfo(Struct, frozen=True):
    """An artifact of a step."""

    path: str
    size: int
    is_folder: bool = False
