"""A run as its record and its log tell it: one of the past, or one that another process carries out."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from pitstop.engine.ports import Evaluator
from pitstop.errors import BadLog, NotRunning, PitstopError
from pitstop.events.types import StepFinished
from pitstop.lazy_pattern import lazy_compile
from pitstop.plan.plan import Plan
from pitstop.runs.flow_info import FlowInfo
from pitstop.runs.log_pages import Page, pages_of
from pitstop.runs.reports import compared_tests, tests_over_runs
from pitstop.runs.requests import commit_of
from pitstop.runs.run_info import ENDED, CommitInfo, Failure, Question, RunInfo, RunSummary, SessionState
from pitstop.runs.run_output import ArtifactInfo, EventInfo, LogLine, LogPage, Output, WorkspaceProgress
from pitstop.runs.run_request import ShellMode, ShellRecord
from pitstop.runs.run_snapshots import NewSnapshots
from pitstop.runs.telling import tell_event
from pitstop.runs.test_results import TestCase, TestedRun
from pitstop.store.port import KeptRun, RunRecord, RunStore

if TYPE_CHECKING:  # what a run that is not debugged need not load
    from pitstop.debugger.session import Session
    from pitstop.runs.local_debugger import LocalDebugger
    from pitstop.runs.shells import DebugShell
    from pitstop.runs.workplaces import KillableWorkplace

TAIL_BYTES = 64 * 1024
_ESCAPES = lazy_compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_UNPRINTABLE = lazy_compile(r"[\x00-\x08\x0b-\x1f\x7f]")

_TOLD = (
    *("id", "flow", "file", "status", "created_at", "started_at", "ended_at", "error", "intervened"),
    *("from_run", "from_step", "carried_over", "priority", "kept_until", "is_pinned"),
)

EndElsewhere = Callable[[str, bool], None]  # ends a run that is in another process, at once or not


class PastRun:
    """An ActiveRun of which everything can be looked at, and that only its own process can be asked to end."""

    def __init__(
        self,
        store: RunStore,
        kept: KeptRun,
        record: RunRecord,
        flow: FlowInfo,
        new_evaluator: Callable[[], Evaluator],
        end_elsewhere: EndElsewhere | None = None,
        new_snapshots: NewSnapshots | None = None,
    ) -> None:
        self.flow = flow
        self._record = record  # as it was when it was asked for
        self._store = store
        self._kept = kept
        self._new_evaluator = new_evaluator
        self._end_elsewhere = end_elsewhere
        self._new_snapshots = new_snapshots
        self._debugger: LocalDebugger | None = None
        self.refusal: PitstopError = NotRunning()  # of what can only be said to a run that lives here
        self.take_files: Callable[[], Awaitable[str | None]] | None = None  # a snapshot of what it has left
        self.plan_again: Callable[[], Awaitable[Plan]] | None = None  # as it was then
        self.mask: Callable[[str], str] | None = None  # its secrets, in what it has left

    @property
    def id(self) -> str:
        return self._kept.id

    @property
    def kept(self) -> KeptRun:
        return self._kept

    @property
    def texts(self) -> Mapping[str, str]:
        return self._record.texts

    @property
    def carried_over(self) -> int:
        return self._kept.log.carried_over

    @property
    def debugger(self) -> "LocalDebugger":
        if self._debugger is None:
            from pitstop.runs.local_debugger import LocalDebugger

            self._debugger = LocalDebugger(self, self._new_evaluator)
        return self._debugger

    # What its debugger asks

    def pages(self, after: int = 0) -> AsyncIterator[Page]:
        return pages_of(self._kept.log, after)

    @property
    def is_over(self) -> bool:
        return self._record.status in ENDED

    @property
    def session(self) -> "Session | None":
        return None

    @property
    def session_state(self) -> SessionState:
        return "none"

    def wake(self) -> "Session":
        raise self.refusal

    @property
    def new_snapshots(self) -> NewSnapshots | None:
        return self._new_snapshots

    async def plan(self) -> Plan:
        if self.plan_again is None:
            raise self.refusal
        return await self.plan_again()

    async def keep_files(self) -> str | None:
        return None if self.take_files is None else await self.take_files()

    @property
    def workplace(self) -> "KillableWorkplace | None":
        return None

    @property
    def in_place(self) -> bool:
        return False

    @property
    def commit(self) -> CommitInfo | None:
        return commit_of(self._record.request)

    async def settled(self) -> None:
        """Nothing is on its way."""

    def mask_text(self, text: str) -> str:
        return text if self.mask is None else self.mask(text)  # in the log there is none, but in files

    # Looking

    async def info(self) -> RunInfo:
        return tell_run(await self._kept.record(), last_event=await self._last_event(), problem=self._kept.problem)

    async def _last_event(self) -> int:
        with suppress(BadLog):
            return len(self._kept.log)
        return 0

    async def events(self, after: int = 0) -> AsyncIterator[EventInfo]:
        async for number, event in self._kept.log.follow(after):
            yield tell_event(number, event)

    def hear_output(self, listener: Callable[[Output], None]) -> Callable[[], None]:
        return lambda: None  # nobody writes any more, or elsewhere

    def hear_progress(self, listener: Callable[[WorkspaceProgress], None]) -> Callable[[], None]:
        return lambda: None

    async def log_tail(self, occurrence: str, lines: int = 20) -> list[str]:
        text = (await self._kept.output_end(occurrence, TAIL_BYTES)).decode(errors="replace")
        return [_shown(line) for line in text.rstrip("\n").split("\n")[-lines:]] if text.strip() else []

    async def log(self, occurrence: str, *, after: int = 0, limit: int = 1000, search: str | None = None) -> LogPage:
        is_ended = await self._is_ended(occurrence)
        lines: list[LogLine] = []
        async for block in self._kept.output_lines(occurrence, after=after, search=search):
            for line in block:
                if len(lines) == limit:
                    return LogPage(occurrence, tuple(lines), lines[-1].number if lines else after, is_ended)
                lines.append(LogLine(line.number, line.stream, line.time, line.data.decode(errors="replace")))
        return LogPage(occurrence, tuple(lines), None, is_ended)

    async def _is_ended(self, occurrence: str) -> bool:
        """Whether that is kept: what it wrote is then kept, too."""
        if (await self._kept.record()).status in ENDED:
            return True
        async for page in pages_of(self._kept.log):
            if any(isinstance(event, StepFinished) and event.occurrence == occurrence for _, event in page):
                return True
        return False

    async def log_bytes(self, occurrence: str) -> AsyncIterator[bytes]:
        async for block in self._kept.output_bytes(occurrence):
            yield block

    async def artifacts(self) -> tuple[ArtifactInfo, ...]:
        return tuple(ArtifactInfo(each.path, each.size) for each in await self._kept.artifacts())

    async def artifact(self, path: str) -> AsyncIterator[bytes]:
        async for block in self._kept.artifact(path):
            yield block

    async def tests(self) -> tuple[TestCase, ...]:
        return await compared_tests(self._store, self._kept)

    async def test_history(self, limit: int = 20) -> tuple[TestedRun, ...]:
        return await tests_over_runs(self._store, self._kept, limit)

    async def questions(self) -> tuple[Question, ...]:
        return ()

    # Acting

    async def answer(self, occurrence: str, *, approved: bool, by: str = "", comment: str = "") -> None:
        raise self.refusal

    async def cancel(self, reason: str) -> None:
        await self._end(at_once=False)

    async def kill(self) -> None:
        await self._end(at_once=True)

    async def _end(self, *, at_once: bool) -> None:
        if (await self._kept.record()).status in ENDED or self._end_elsewhere is None:
            raise self.refusal
        self._end_elsewhere(self.id, at_once)

    async def shell(
        self,
        stop: int,
        *,
        mode: ShellMode = "shell",
        rows: int = 24,
        cols: int = 80,
        record: ShellRecord | None = None,
    ) -> "DebugShell":
        return self._refuse_shell()

    def _refuse_shell(self) -> NoReturn:
        raise self.refusal

    async def wait(self) -> RunSummary:
        record = await self._kept.record()
        while record.status not in ENDED:  # the log tells of the end before that is kept with the run
            async for _ in self._kept.log.follow(await self._last_event()):
                pass
            record = await self._kept.record()
        return RunSummary(record.id, record.status, record.error, tell_failed(record), record.intervened)


def tell_run(record: RunRecord, **more: Any) -> RunInfo:
    """A record as a list shows it."""
    inputs = record.request.get("inputs", {})
    told: dict[str, Any] = {name: getattr(record, name) for name in _TOLD}
    commit = commit_of(record.request)
    had_session = record.status in ENDED and record.request.get("debug") is not None
    told["session"] = "ended" if had_session else "none"
    return RunInfo(**{**told, "failures": tell_failed(record), "inputs": inputs, "commit": commit, **more})


def tell_failed(record: RunRecord) -> tuple[Failure, ...]:
    return tuple(Failure(**each) for each in record.failures)


def _shown(line: str) -> str:
    """What stands there in the end: without escape sequences, nor what was written over."""
    return _UNPRINTABLE.sub("", _ESCAPES.sub("", line.rstrip("\r").rpartition("\r")[2])).rstrip()
