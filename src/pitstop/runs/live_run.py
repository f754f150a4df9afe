"""A run that this process executes, from its workspace to its end."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import cached_property, partial
from typing import TYPE_CHECKING, Unpack

import msgspec

from pitstop.engine.clock import SystemClock
from pitstop.engine.ports import Clock, Evaluator
from pitstop.engine.run import Run
from pitstop.errors import LogLost, NotRunning
from pitstop.events.log import EventLog
from pitstop.events.outcome import Outcome, Status, error_of
from pitstop.events.types import RunEnded
from pitstop.events.view import fold
from pitstop.plan.plan import Plan
from pitstop.runs.info import tell_failures, tell_flow
from pitstop.runs.journal import Journal, end_in, had_session
from pitstop.runs.log_pages import Page, pages_in_memory
from pitstop.runs.planned_flow import pauses_itself, step_kinds
from pitstop.runs.run_info import RunInfo, RunSummary, SessionState
from pitstop.runs.run_maker import PreparedRun
from pitstop.runs.run_output import ArtifactInfo
from pitstop.runs.run_request import DebugRequest, ShellOptions, ShellPlace
from pitstop.runs.run_workplace import RunWorkplace
from pitstop.runs.stored_run import StoredRun, tell_run
from pitstop.runs.workplaces import EMPTY, KillableWorkplace, NewCombine, OpenWorkplace, mask_in
from pitstop.steps.approvals import Approvals, Decision, Question
from pitstop.store.port import KeptRun, RunStore

if TYPE_CHECKING:  # a run that is not debugged need not load these
    from pitstop.debugger.session import Session
    from pitstop.debugger.stops import Stop
    from pitstop.runs.local_debugger import LocalDebugger
    from pitstop.runs.run_snapshots import NewSnapshots
    from pitstop.runs.server_run import Ownership
    from pitstop.runs.shells import DebugShell

HOW_TO_APPROVE = "answer y or n in the terminal that runs the flow, or `answer yes` or `answer no` in its debugger"
HOW_TO_APPROVE_ON_A_SERVER = "approve or reject it in the browser, or with `answer yes` or `answer no` in its debugger"
KILL_EVERY_SECONDS = 0.05


class LiveRun:
    """An ActiveRun. The parent of its task calls `execute`, and `begin` lets the first step run.

    It resumes where the log ends: a new run and one that a crash interrupted are the same to it. Without an `owner`
    its workspace ends with the run.
    """

    def __init__(
        self,
        store: RunStore,
        kept: KeptRun,
        prepared: PreparedRun,
        *,
        new_evaluator: Callable[[], Evaluator],
        open_workplace: OpenWorkplace,
        new_snapshots: "NewSnapshots",
        combining: Mapping[str, NewCombine] = EMPTY,
        clock: Clock | None = None,
        owner: "Ownership | None" = None,
    ) -> None:
        request = prepared.request
        stored = StoredRun(store, kept, prepared.record, tell_flow(prepared.planned.flow, prepared.plan))
        self.id, self.kept, self.flow, self.commit = stored.id, kept, stored.flow, stored.commit
        self.texts, self.carried_over = prepared.record.texts, kept.log.carried_over
        self.events, self.log, self.log_tail = stored.events, stored.log, stored.log_tail
        self.log_bytes, self.artifact = kept.output_bytes, kept.artifact
        self.tests, self.test_history = stored.tests, stored.test_history
        self.test_comparison = stored.test_comparison
        self.in_place = request.place is not None
        self.is_gone = asyncio.Event()  # set when this process has nothing of the run any more
        self._store, self._stored = store, stored
        self._prepared = prepared
        self._new_evaluator = new_evaluator
        self._new_snapshots = new_snapshots
        self._clock = clock or SystemClock()
        self._owner = owner
        self._place = place = RunWorkplace(store, kept, prepared, open_workplace, combining)
        self.hear_output, self.hear_progress = place.hear_output, place.hear_progress
        self.mask_text = place.mask_text
        how_to_approve = HOW_TO_APPROVE if owner is None else HOW_TO_APPROVE_ON_A_SERVER
        self._approvals = Approvals(how_to_approve if request.can_ask else None)
        self.session: Session | None = None
        pauses = owner is not None and pauses_itself(prepared.plan)  # a client of the server finds the stop
        if request.debug is not None or had_session(kept.log) or pauses:
            from pitstop.runs.sessions import make_session

            self.session = make_session(request.debug or DebugRequest(stop_on_error=False), prepared.plan)
            self.session.snapshots = not self.in_place
        self._is_resumed_here = owner is None and len(kept.log) > self.carried_over
        self._holds_steps = False
        self._run: Run | None = None
        self._journal: Journal | None = None
        self._cancel_reason: str | None = None
        self._is_left = False
        self._killing = asyncio.TaskGroup()
        self._begun = asyncio.Event()
        loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[None] = loop.create_future()
        self._ended: asyncio.Future[RunSummary] = loop.create_future()

    # For its debugger

    @cached_property
    def debugger(self) -> "LocalDebugger":
        from pitstop.runs.flow_breakpoints import save_changes
        from pitstop.runs.local_debugger import LocalDebugger

        debug, file = self._prepared.request.debug, self._prepared.record.file
        save = partial(save_changes, self._store, file) if debug is None or debug.remembers else None
        return LocalDebugger(self, self._new_evaluator, save)

    @property
    def journal(self) -> EventLog:
        return self.kept.log if self._journal is None else self._journal

    def pages(self, after: int = 0) -> AsyncIterator[Page]:
        return pages_in_memory(self.journal, after)

    @property
    def is_over(self) -> bool:
        return self._ended.done()

    @property
    def is_left(self) -> bool:
        """Whether it is to be continued from its log, by another process or later."""
        return self._is_left

    @property
    def stops(self) -> "Sequence[Stop]":
        """The stops of its debugger that last."""
        return () if self.session is None else self.session.stops

    @property
    def session_state(self) -> SessionState:
        if self.session is None:
            return "none"
        if self.session.is_timed_out:
            return "timeout"
        if self.is_over:
            return "ended"
        if not self.session.stops:
            return "pending"
        return "connected" if self.session.is_attended else "waiting"

    async def plan(self) -> Plan:
        return self._prepared.plan

    def wake(self) -> "Session":
        if self.session is None:
            if self._run is None:
                raise NotRunning
            from pitstop.runs.sessions import make_session

            session = make_session(DebugRequest(), self._prepared.plan)
            self._run.join(session)
            self.session = session
            self._place.add_step_types()
        return self.session

    async def settled(self) -> None:
        await (self.kept.log if self._journal is None else self._journal).settled()

    @property
    def workplace(self) -> KillableWorkplace | None:
        return None if self.is_over else self._place.opened

    @property
    def new_snapshots(self) -> "NewSnapshots":
        workplace = self.workplace
        if workplace is None:
            return self._new_snapshots
        return lambda: workplace.executor.snapshots(workplace.workspace)

    async def keep_files(self) -> str | None:
        return None if self.is_over else await self._place.take_snapshot()

    # Executing it

    async def execute(self) -> None:
        """Run to the end, and store how it ended. A run that cannot begin has an end, too."""
        async with AsyncExitStack() as stack:
            stack.push(lambda _kind, error, _trace: self._end_without_summary(error))
            stack.push_async_callback(self.kept.close)
            ended = end_in(self.kept.log)
            if ended is not None:  # its process was killed before the record had the end
                await self._finish(ended.outcome, None)
                return
            try:
                if self._is_left:
                    raise LogLost(self.id)
                run = await self._set_up(stack)
            except BaseException as error:
                self._ready.set_exception(error)
                self._ready.exception()  # it may be that nothing waits for it
                self._is_left = self._is_left or self._is_resumed_here  # then it can be tried again
                if self._is_left:
                    self._end_without_summary(LogLost(self.id))
                else:
                    await self._finish(None, error)
                if not isinstance(error, Exception):
                    raise
                return
            await self._run_when_begun(run)

    async def ready(self) -> None:
        """Wait until the run has all it needs to begin; raises what prevents that."""
        await asyncio.shield(self._ready)

    def begin(self) -> None:
        """Let the first step run, as soon as the run is ready: a client subscribes to its output before."""
        self._begun.set()

    async def _set_up(self, stack: AsyncExitStack) -> Run:
        prepared, planned = self._prepared, self._prepared.planned
        evaluator = self._new_evaluator()
        stack.push_async_callback(evaluator.close)
        workplace = await self._place.open(stack, self._approvals)
        journal = Journal(self.kept, mask_in(workplace), None if self._owner is None else self._owner.take)
        self._journal = journal
        kinds = step_kinds(prepared.plan)
        kinds = kinds if self.session is None else {*kinds, *planned.types.names}
        ports = await self._place.set_up(stack, workplace, kinds, evaluator, self._clock)
        run = Run(
            prepared.plan,
            prepared.values,
            ports,
            log=journal,
            hook=self.session,
            call_hook=None if self._owner is None else self.wake,  # a client of the server finds the stop
            left_at=None if self._owner is None else self._owner.left_at,
        )
        # Stored before the first step acts, which waits until its own start is stored
        started_at = prepared.record.started_at or self._clock.now()  # when another server began it, if one did
        self.kept.note(status="running", started_at=started_at, workspace=workplace.workspace.id)
        return run

    async def _run_when_begun(self, run: Run) -> None:
        self._run = run
        if self._cancel_reason is not None:
            run.abort(self._cancel_reason)
        if self._holds_steps:
            run.hold_steps()
        self._ready.set_result(None)
        async with self._killing:
            try:
                await self._begun.wait()
                if self._is_left:
                    raise LogLost(self.id)
                await self._run_to_end(run)
            except BaseException as error:
                self._end_without_summary(error)  # before the workspace is released, which may take long
                if not isinstance(error, LogLost):
                    raise

    def _end_without_summary(self, error: BaseException | None) -> None:
        """Let `wait` raise: no end of the run will be stored here."""
        if not self._ended.done():
            self._ended.set_exception(error if isinstance(error, Exception) else LogLost(self.id))
            self._ended.exception()  # it may be that nothing waits for it

    async def _run_to_end(self, run: Run) -> None:
        try:
            outcome = await run.execute()
        except LogLost:
            raise
        except BaseException as error:
            await self._finish(None, error)
            if not isinstance(error, Exception):
                raise
        else:
            await self._finish(outcome, None)

    async def _finish(self, outcome: Outcome | None, error: BaseException | None) -> None:
        """Store how the run ended, then let `wait` return. An interrupted run has an `error` and no outcome."""
        events = self.journal.read()
        if outcome is None:
            is_cancelled = not isinstance(error, Exception)
            status = Status.CANCELLED if is_cancelled else Status.FAILED
            outcome = Outcome(status, error=error_of(error or RuntimeError(), ""))
            if not events or not isinstance(events[-1], RunEnded):
                self.journal.append(RunEnded(self._clock.now(), outcome))
        message = None if outcome.error is None else self.mask_text(str(outcome.error))
        view = fold(self.journal.read(), self.carried_over)
        failures = tell_failures(view, self._prepared.plan, self.mask_text)
        await self._place.keep_artifacts_at_end(self._clock, lambda: self._is_left)
        message = message or self._place.excess
        now = self._clock.now()
        await self.kept.update(
            status=outcome.status.value,
            started_at=view.clock.began_at if view.clock is not None and view.is_own else view.last_at,
            ended_at=view.last_at,  # both as the log has them, so that every page shows the same duration
            error=message,
            failures=tuple(map(msgspec.to_builtins, failures)),
            intervened=view.intervened,
            kept_until=None if self._owner is None else now + self._owner.keep_seconds,
        )
        if self._owner is not None:  # else they go with the workspace
            await self._place.forget_commands()
        self._ended.set_result(RunSummary(self.id, outcome.status.value, message, failures, view.intervened))

    # Looking

    async def info(self) -> RunInfo:
        was_over, record = self.is_over, await self.kept.record()
        if self.is_over and not was_over:  # then the record has the end by now
            record = await self.kept.record()
        # Nothing is awaited from here on: a client that follows after `last_event` misses nothing
        stops = () if self.is_over else tuple(stop.id for stop in self.stops)
        return tell_run(
            record,
            status="paused" if stops and record.status == "running" else record.status,
            session=self.session_state,
            stops=stops,
            last_event=len(self.kept.log),
            problem=self.kept.problem or self._place.problem,
        )

    async def artifacts(self) -> tuple[ArtifactInfo, ...]:
        if not self.is_over:
            await self._place.keep_artifacts()
        return await self._stored.artifacts()

    async def questions(self) -> tuple[Question, ...]:
        return self._approvals.open_questions

    # Acting

    async def answer(self, occurrence: str, *, approved: bool, by: str = "", comment: str = "") -> None:
        self._approvals.answer(occurrence, Decision(approved, by, comment))

    async def cancel(self, reason: str) -> None:
        if self.is_over:
            raise NotRunning
        self.cancel_now(reason)

    def cancel_now(self, reason: str) -> None:
        """Cancel the run, if it is not over."""
        self.begin()
        if self._run is None:
            self._cancel_reason = reason
        elif not self.is_over:
            self._run.abort(reason)
        if self._owner is not None:
            self._owner.let_in()

    def leave(self) -> None:
        """Stop here, without cleanup: another process resumes where the log ends. `wait` raises LogLost."""
        self._is_left = True
        if self._journal is not None:
            self._journal.cut()
        if self._run is not None and not self.is_over:
            self._run.lose(LogLost(self.id))
            self._kill_commands()
        if self._owner is not None:
            self._owner.let_in()

    def hold_steps(self) -> None:
        """Begin no further step; those that run already go on to their ends."""
        self._holds_steps = True
        if self._run is not None:
            self._run.hold_steps()
        if self._owner is not None:
            self._owner.let_in()

    def _kill_commands(self) -> None:
        if self._place.opened is not None:
            self._killing.create_task(self._place.opened.kill_commands())

    async def kill(self) -> None:
        if self.is_over:
            raise NotRunning
        self._kill()

    def _kill(self) -> None:
        self.cancel_now("killed")
        if self.is_over:
            return
        if self._run is not None:
            self._kill_commands()
        asyncio.get_running_loop().call_later(KILL_EVERY_SECONDS, self._kill)  # cleanup may start another command

    async def wait(self) -> RunSummary:
        return await asyncio.shield(self._ended)

    async def shell(self, place: ShellPlace, by: str, **options: Unpack[ShellOptions]) -> "DebugShell":
        run, workplace = self._run, self.workplace
        if run is None or workplace is None:
            raise NotRunning
        from pitstop.runs.run_files import RunFiles
        from pitstop.runs.shells import open_shell

        is_intervention = isinstance(place, str) and options.get("mode", "shell") == "shell"
        session = self.wake() if is_intervention else self.session
        files = RunFiles(self.new_snapshots, self.keep_files, self.mask_text)
        keep = self._place.keep_recordings
        shell = await open_shell(run, session, workplace, files, self.debugger, keep, place, by, **options)
        await self.settled()
        return shell
