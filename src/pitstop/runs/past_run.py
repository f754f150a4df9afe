"""A run that this process does not execute: it has ended, or another process has it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from pitstop.engine.ports import Evaluator
from pitstop.errors import BadLog, NotRunning, PitstopError
from pitstop.plan.plan import Plan
from pitstop.runs.log_pages import Page, pages_of
from pitstop.runs.run_info import ENDED, RunInfo, RunSummary, SessionState
from pitstop.runs.run_output import Output, WorkspaceProgress
from pitstop.runs.run_request import ShellPlace
from pitstop.runs.run_snapshots import NewSnapshots
from pitstop.runs.stored_run import StoredRun, failures_in, tell_run
from pitstop.runs.telling import MaskText
from pitstop.steps.approvals import Question

if TYPE_CHECKING:  # a run that is not debugged need not load it
    from pitstop.runs.local_debugger import LocalDebugger

EndElsewhere = Callable[[str, bool], None]  # ends a run that is in another process, at once or not
EndLeft = Callable[[str, bool], Awaitable[None]]  # ends a run that was left, for a reason, at once or not
TakeFiles = Callable[[], Awaitable[str | None]]  # a snapshot of the files that the run has left


class PastRun:
    """An ActiveRun of which everything can be looked at. What only its own process can do raises `refusal`."""

    session = None
    session_state: SessionState = "none"
    workplace = None
    in_place = False

    def __init__(
        self,
        stored: StoredRun,
        *,
        make_plan: Callable[[], Coroutine[Any, Any, Plan]],
        new_evaluator: Callable[[], Evaluator],
        new_snapshots: NewSnapshots,
        end_elsewhere: EndElsewhere | None = None,
        end_left: EndLeft | None = None,
        take_files: TakeFiles | None = None,
        mask: MaskText | None = None,
        refusal: PitstopError | None = None,
    ) -> None:
        self.id, self.kept, self.flow, self.commit = stored.id, stored.kept, stored.flow, stored.commit
        self.texts, self.carried_over = stored.record.texts, stored.kept.log.carried_over
        self.events, self.log, self.log_tail = stored.events, stored.log, stored.log_tail
        self.log_bytes, self.artifact, self.artifacts = stored.kept.output_bytes, stored.kept.artifact, stored.artifacts
        self.tests, self.test_history = stored.tests, stored.test_history
        self.test_comparison = stored.test_comparison
        self.is_over = stored.record.status in ENDED
        self.plan = make_plan
        self.new_snapshots = new_snapshots
        self._new_evaluator = new_evaluator
        self._end_elsewhere = end_elsewhere
        self._end_left = end_left
        self._take_files = take_files
        self._mask = mask
        self._refusal = refusal or NotRunning()

    # For its debugger

    @cached_property
    def debugger(self) -> "LocalDebugger":
        from pitstop.runs.local_debugger import LocalDebugger

        return LocalDebugger(self, self._new_evaluator)

    def pages(self, after: int = 0) -> AsyncIterator[Page]:
        return pages_of(self.kept.log, after)

    def wake(self) -> NoReturn:
        raise self._refusal

    async def keep_files(self) -> str | None:
        return None if self._take_files is None else await self._take_files()

    async def settled(self) -> None:
        """Nothing is written here."""

    def mask_text(self, text: str) -> str:
        return text if self._mask is None else self._mask(text)  # the log has no secrets, but files may

    # Looking

    async def info(self) -> RunInfo:
        return tell_run(await self.kept.record(), last_event=self._last_event(), problem=self.kept.problem)

    def _last_event(self) -> int:
        with suppress(BadLog):
            return len(self.kept.log)
        return 0

    def hear_output(self, listener: Callable[[Output], None]) -> Callable[[], None]:
        return lambda: None  # nothing is written here

    def hear_progress(self, listener: Callable[[WorkspaceProgress], None]) -> Callable[[], None]:
        return lambda: None

    async def questions(self) -> tuple[Question, ...]:
        return ()

    # Acting

    async def answer(self, occurrence: str, **decision: Any) -> NoReturn:
        raise self._refusal

    async def cancel(self, reason: str) -> None:
        await self._end(reason, at_once=False)

    async def kill(self) -> None:
        await self._end("killed", at_once=True)

    async def _end(self, reason: str, *, at_once: bool) -> None:
        status = (await self.kept.record()).status
        if status == "paused" and self._end_left is not None:
            await self._end_left(reason, at_once)
        elif status in ENDED or self._end_elsewhere is None:
            raise self._refusal
        else:
            self._end_elsewhere(self.id, at_once)

    async def shell(self, place: ShellPlace, by: str, **options: Any) -> NoReturn:
        raise self._refusal

    async def wait(self) -> RunSummary:
        record = await self.kept.record()
        while record.status not in ENDED:  # the log has the end before the record has it
            async for _ in self.kept.log.follow(self._last_event()):
                pass
            record = await self.kept.record()
        return RunSummary(record.id, record.status, record.error, failures_in(record), record.intervened)
