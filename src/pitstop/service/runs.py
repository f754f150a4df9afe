"""The desk for runs: starting, finding, watching and ending them."""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Protocol

from pitstop.events.written_text import printable, shown_line, without_escapes
from pitstop.plan.paths import type_name
from pitstop.runs.flow_info import FlowInfo
from pitstop.runs.run_info import ENDED, Failure, RunInfo, RunPage, RunQuery, RunStatus, RunSummary
from pitstop.runs.run_output import (
    EVENT_SCHEMA,
    WORKSPACE_PROGRESS,
    ArtifactInfo,
    EventInfo,
    LogLine,
    LogPage,
    Output,
    Stream,
    WorkspaceProgress,
)
from pitstop.runs.run_request import (
    BreakpointRequest,
    BreakPosition,
    DebugRequest,
    FixRequest,
    RerunRequest,
    RunRequest,
)
from pitstop.runs.test_results import ComparedRun, TestCase, TestComparison, TestedRun, TestedStep
from pitstop.service.caller import Caller
from pitstop.steps.approvals import Question

__all__ = [
    "ENDED",
    "EVENT_SCHEMA",
    "WORKSPACE_PROGRESS",
    "ActiveRun",
    "ArtifactInfo",
    "BreakPosition",
    "BreakpointRequest",
    "ComparedRun",
    "DebugRequest",
    "EventInfo",
    "Failure",
    "FixRequest",
    "LogLine",
    "LogPage",
    "Output",
    "Question",
    "RerunRequest",
    "RunInfo",
    "RunPage",
    "RunQuery",
    "RunRequest",
    "RunStatus",
    "RunSummary",
    "Runs",
    "Stream",
    "TestCase",
    "TestComparison",
    "TestedRun",
    "TestedStep",
    "WorkspaceProgress",
    "printable",
    "shown_line",
    "type_name",
    "without_escapes",
]


class ActiveRun(Protocol):
    """What there is to see of a run, of now or of the past. Acts are calls of a desk, with the id of the run."""

    @property
    def id(self) -> str: ...

    @property
    def flow(self) -> FlowInfo: ...

    @property
    def texts(self) -> Mapping[str, str]:
        """Each file of the flow as it was when the flow was read."""
        ...

    @property
    def carried_over(self) -> int:
        """How many of its events are those of the run that it goes on from."""
        ...

    async def info(self) -> RunInfo: ...

    def events(self, after: int = 0) -> AsyncIterator[EventInfo]:
        """Every event above `after`, those to come included, until the run has ended."""
        ...

    def hear_output(self, listener: Callable[[Output], None]) -> Callable[[], None]:
        """Call `listener` with all that is written from now on; gives what ends it. The listener must not wait."""
        ...

    def hear_progress(self, listener: Callable[[WorkspaceProgress], None]) -> Callable[[], None]:
        """Call `listener`, which must not wait, while files of the workspace are kept or put back for over a second.

        Gives what ends it. Of a run on a server it is heard while its events are followed.
        """
        ...

    async def log_tail(self, occurrence: str, lines: int = 20) -> list[str]:
        """The last lines that the occurrence wrote, without escape sequences."""
        ...

    async def log(self, occurrence: str, *, after: int = 0, limit: int = 1000, search: str | None = None) -> LogPage:
        """Lines with a number above `after`; with `search` those with this text in them, in any case."""
        ...

    def log_bytes(self, occurrence: str) -> AsyncIterator[bytes]:
        """All that the occurrence wrote, for a download."""
        ...

    async def artifacts(self) -> tuple[ArtifactInfo, ...]: ...

    def artifact(self, path: str) -> AsyncIterator[bytes]:
        """What is in a file that was handed on; UnknownArtifact."""
        ...

    async def tests(self, default_branch: str | None = None) -> tuple[TestCase, ...]:
        """The cases of `test_comparison`."""
        ...

    async def test_comparison(self, default_branch: str | None = None) -> TestComparison:
        """The tests that failed or changed since the last whole run on the same branch or tag.

        If that has none, they are compared with the default branch, and if there is no repository, with any run.
        """
        ...

    async def test_history(self, limit: int = 20) -> tuple[TestedRun, ...]:
        """The tests of this run and of the whole runs of its flow before it that had any, the newest first.

        They are those of the same branch or tag, if the run is of a repository.
        """
        ...

    async def questions(self) -> tuple[Question, ...]:
        """What steps want to know from a person now."""
        ...

    async def wait(self) -> RunSummary:
        """How the run ended. Cancelling the wait does not cancel the run."""
        ...


class Runs(Protocol):
    """Starts, finds and ends runs. Whatever changes something needs an operator.

    What can only be done to a run that has not ended is refused with NotRunning, and an unknown id with UnknownRun.
    """

    async def start(self, caller: Caller, request: RunRequest) -> ActiveRun:
        """Start a run. BadFlow, BadInputs, BadBreakpoint, UnknownStep and BadLog before anything has run."""
        ...

    async def rerun(self, caller: Caller, run: str, request: RerunRequest) -> ActiveRun:
        """A new run on the old one's log; all that `start` refuses."""
        ...

    async def get(self, caller: Caller, run: str) -> ActiveRun: ...

    async def list(self, caller: Caller, query: RunQuery) -> RunPage:
        """BadCursor for a cursor that no page gave."""
        ...

    async def pin(self, caller: Caller, run: str, *, pinned: bool = True) -> None:
        """Keep the run and its workspace until it is unpinned."""
        ...

    async def delete(self, caller: Caller, run: str) -> None:
        """Forget a run that has ended; CommandRefused for one that has not."""
        ...

    async def leave(self, caller: Caller, run: str) -> None:
        """Let a run stay paused where it is until it is taken up; its running steps are interrupted.

        NotPaused, and CommandRefused if not all of it is stored. A server has it all the time: there is nothing to do.
        """
        ...

    async def take_up(self, caller: Caller, run: str, secrets: Mapping[str, str]) -> ActiveRun:
        """Continue a run that was left, or whose process was killed, from its log; an active run is given as it is.

        Each stop is back with its number. A run without a debug session is paused before its next step. Secrets are not
        stored, so they are given again. NotRunning for one that has ended, or whose workspace is gone;
        InAnotherProcess for one that another process executes.
        """
        ...

    async def answer(
        self, caller: Caller, run: str, occurrence: str, *, approved: bool, by: str = "", comment: str = ""
    ) -> None:
        """Answer an open question of a step; CommandRefused when there is none."""
        ...

    async def cancel(self, caller: Caller, run: str, reason: str) -> None:
        """Ask every step to end, then clean up; returns at once. Asked again, it takes their time to end away."""
        ...

    async def kill(self, caller: Caller, run: str) -> None:
        """End everything now, cleaning up too; returns at once."""
        ...
