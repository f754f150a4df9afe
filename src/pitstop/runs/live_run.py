"""A run that this process carries out, as doors see it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Any

from pitstop.engine.clock import SystemClock
from pitstop.engine.executor import LogChunk
from pitstop.engine.ports import Clock, Evaluator, Ports, StepType
from pitstop.engine.run import Run
from pitstop.engine.workspace_files import Part
from pitstop.errors import LogLost, NotAsked, NotRunning, SnapshotTooLarge, StoreUnavailable, Unavailable, WorkspaceLost
from pitstop.events.log import EventLog
from pitstop.events.outcome import Outcome, Status, error_of
from pitstop.events.types import AnyEvent, RunEnded, SessionOpened, StepFinished
from pitstop.events.view import interventions_in
from pitstop.plan.plan import Plan
from pitstop.runs.commits import check_out
from pitstop.runs.info import tell_failures, tell_flow
from pitstop.runs.journal import Journal
from pitstop.runs.log_pages import Page, pages_in_memory
from pitstop.runs.machines import refuse_unmet
from pitstop.runs.past_run import PastRun, tell_run
from pitstop.runs.run_info import Question, RunInfo, RunSummary, SessionState
from pitstop.runs.run_maker import PreparedRun
from pitstop.runs.run_output import ArtifactInfo, Output, WorkspaceProgress
from pitstop.runs.run_request import DebugRequest, ShellMode, ShellRecord
from pitstop.runs.run_snapshots import (
    NewSnapshots,
    RunSnapshots,
    bring_files,
    snapshots_in,
    wants_snapshots,
)
from pitstop.runs.workplaces import RECORDINGS, KillableWorkplace, OpenWorkplace
from pitstop.runs.workspace_progress import ProgressTelling
from pitstop.steps.approvals import Decision, MemoryApprovals
from pitstop.steps.described import ClosedStepType
from pitstop.steps.fresh import FreshWorkspaces
from pitstop.store.port import KeptRun, RunLog, RunStore

if TYPE_CHECKING:  # what a run that nobody debugs need not pay for
    from pitstop.debugger.session import Session
    from pitstop.runs.shells import DebugShell

HOW_TO_APPROVE = "answer y or n in the terminal that runs the flow"
KILL_EVERY_SECONDS = 0.05
KEEP_AGAIN_SECONDS = 0.5


class LiveRun(PastRun):
    """An ActiveRun. `carry_out` is the run itself, from its workspace to its end; somebody is the parent of its task,
    and says `begin`.

    It goes on where the log of the kept run ends: a fresh run and one that was cut off by a crash are the same to it.
    """

    def __init__(
        self,
        new_evaluator: Callable[[], Evaluator],
        store: RunStore,
        kept: KeptRun,
        prepared: PreparedRun,
        open_workplace: OpenWorkplace,
        on_event: Callable[[AnyEvent], None] | None = None,
        new_snapshots: NewSnapshots | None = None,
        clock: Clock | None = None,
    ) -> None:
        flow = tell_flow(prepared.planned.flow, prepared.plan)
        super().__init__(store, kept, prepared.record, flow, new_evaluator, new_snapshots=new_snapshots)
        self._prepared = prepared
        self._open_workplace = open_workplace
        self._on_event = on_event
        self._clock = clock or SystemClock()
        self._listeners: list[Callable[[Output], None]] = []
        self._progress_listeners: list[Callable[[WorkspaceProgress], None]] = []
        self._progress = ProgressTelling(self._tell_progress)
        self._approvals = MemoryApprovals(HOW_TO_APPROVE) if prepared.request.can_ask else None
        self._session: Session | None = None
        if prepared.request.debug is not None or _had_session(kept.log):
            asked = prepared.request.debug or DebugRequest(stop_on_error=False)
            self._session = _new_session(asked)
            self._session.snapshots = prepared.request.place is None
        self._step_types: dict[str, StepType] = {}
        self._workplace: KillableWorkplace | None = None
        self._snapshots: RunSnapshots | None = None
        self._run: Run | None = None
        self._journal: Journal | None = None
        self._left_at: float | None = None  # when the server that had it before was last there
        self._call_hook: Callable[[], object] | None = None  # if a debugger can be expected to come
        self._holds_steps = False
        self._cancel_reason: str | None = None
        self._files_problem: str | None = None  # why what steps handed on is not kept yet
        self._is_left = False
        self._killing = asyncio.TaskGroup()
        self._begun = asyncio.Event()
        loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[None] = loop.create_future()
        self._ended: asyncio.Future[RunSummary] = loop.create_future()

    # What its debugger asks

    @property
    def journal(self) -> EventLog:
        return self._kept.log if self._journal is None else self._journal

    def pages(self, after: int = 0) -> AsyncIterator[Page]:
        return pages_in_memory(self.journal, after)

    @property
    def is_over(self) -> bool:
        return self._ended.done()

    @property
    def session(self) -> "Session | None":
        return self._session

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
        if self._session is None:
            if self._run is None:
                raise NotRunning
            session = _new_session(DebugRequest())
            self._run.join(session)
            self._session = session
            self._offer_all_step_types()
        return self._session

    async def settled(self) -> None:
        await (self._kept.log if self._journal is None else self._journal).settled()

    def mask_text(self, text: str) -> str:
        return text if self._workplace is None else self._workplace.masker.mask_text(text)

    @property
    def workplace(self) -> KillableWorkplace | None:
        return None if self.is_over else self._workplace

    @property
    def new_snapshots(self) -> NewSnapshots | None:
        workplace = self.workplace
        if workplace is None or self._new_snapshots is None:
            return self._new_snapshots
        return lambda: workplace.executor.snapshots(workplace.workspace)

    @property
    def in_place(self) -> bool:
        return self._prepared.request.place is not None

    async def keep_files(self) -> str | None:
        if self._snapshots is not None and not self.is_over:
            with suppress(SnapshotTooLarge, Unavailable):  # which the run tells
                return await self._snapshots.take("", "now")
        return None

    def _offer_all_step_types(self) -> None:
        """Let a debugger inject steps of types that the flow does not use."""
        if self._workplace is not None:
            types = self._prepared.planned.types
            missing = [name for name in types.names if name not in self._step_types]
            self._step_types.update(types.for_run(self._workplace, missing))

    # Its life

    async def carry_out(self) -> None:
        """Run to the end, and keep how it ended. What cannot begin has an end all the same."""
        async with AsyncExitStack() as stack:
            stack.push(self._tell_that_its_end_is_not_kept)
            stack.push_async_callback(self._kept.close)
            ended = _end_in(self._kept.log)
            if ended is not None:  # its process was killed just before that was kept with the run
                await self._finish(ended.outcome, None)
                return
            try:
                if self._is_left:
                    raise LogLost(self.id)
                run = await self._set_up(stack)
            except BaseException as error:
                self._ready.set_exception(error)
                self._ready.exception()  # nobody has to ask
                if self._is_left:
                    self._lose()
                else:
                    await self._finish(None, error)
                if not isinstance(error, Exception):
                    raise
                return
            await self._execute(run)

    async def ready(self) -> None:
        """Wait until the run has all that it needs to begin; raises what keeps it from that."""
        await asyncio.shield(self._ready)

    def begin(self) -> None:
        """Let the first step run, now or as soon as all is ready: whoever wants to hear its output listens by then."""
        self._begun.set()

    async def _set_up(self, stack: AsyncExitStack) -> Run:
        request, planned = self._prepared.request, self._prepared.planned
        evaluator = self._new_evaluator()
        stack.push_async_callback(evaluator.close)
        workplace = await stack.enter_async_context(
            self._open_workplace(
                folder=request.place,
                secrets=request.secrets,
                run=self.id,
                workspace=self._record.workspace,
                approvals=self._approvals,
                on_output=self._take_output,
                settle=self._kept.log.settled,
            )
        )
        self._workplace = workplace
        if self._is_new:
            done = {event.step for event in self._prepared.events if isinstance(event, StepFinished)}
            await refuse_unmet(self._prepared.plan, done, workplace.executor, planned.texts)
        self._journal = Journal(self._kept, workplace.masker.mask_text if request.secrets else None, self._on_event)
        kinds = planned.kinds if self._session is None else {*planned.kinds, *planned.types.names}
        self._step_types.update(planned.types.for_run(workplace, kinds))
        for step_type in self._step_types.values():
            if isinstance(step_type, ClosedStepType):
                stack.push_async_callback(step_type.close)
        snapshots = await self._set_up_snapshots(stack, workplace)
        workspaces = FreshWorkspaces(workplace, self._step_types)
        mask = workplace.masker.mask_text if request.secrets else None
        ports = Ports(evaluator, self._clock, self._step_types, snapshots, workspaces, mask)
        run = Run(
            self._prepared.plan,
            self._prepared.values,
            ports,
            log=self._journal,
            hook=self._session,
            call_hook=self._call_hook,
            left_at=self._left_at,
        )
        # Kept before the first step acts, which waits for its own start to be
        self._kept.note(status="running", started_at=self._clock.now(), workspace=workplace.workspace.id)
        return run

    async def _set_up_snapshots(self, stack: AsyncExitStack, workplace: KillableWorkplace) -> RunSnapshots | None:
        """What keeps the files at each point, where it is wanted. A run from a step begins with the files of then."""
        record, request, plan = self._record, self._prepared.request, self._prepared.plan
        is_new = self._is_new
        begins_later = is_new and record.from_step is not None and record.from_run is not None and not request.place
        is_wanted = wants_snapshots(plan, request.debug, request.place)
        if is_new and request.commit is not None and request.folder is not None:
            await check_out(request.folder, request.commit, workplace.files)
        if self._new_snapshots is None or not (begins_later or is_wanted):
            return None
        keeping = workplace.executor.snapshots(workplace.workspace)
        stack.callback(keeping.close)
        if begins_later and record.from_run is not None and record.from_step is not None:
            old = await self._store.open(record.from_run)
            old_record = await old.record()
            with_repo = request.commit is None or request.commit == old_record.request.get("commit")
            await bring_files(
                keeping,
                workplace,
                old_record,
                old.log.read(),
                plan,
                record.from_step,
                with_repo=with_repo,
                progress=self._progress,
            )
        in_place = request.place is not None
        if is_wanted:
            if is_new and record.carried_over:  # it can go back to where the other run was
                await keeping.own(snapshots_in(self._kept.log.read()), self.id)
            self._snapshots = RunSnapshots(keeping, in_place=in_place, owner=self.id, progress=self._progress)
        return self._snapshots

    @property
    def _is_new(self) -> bool:
        return len(self._kept.log) == self._kept.log.carried_over

    async def _execute(self, run: Run) -> None:
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
                await self._execute_to_end(run)
            except LogLost:
                self._lose()
            except BaseException as error:
                self._tell_that_its_end_is_not_kept(type(error), error, None)  # there is nothing left to be ended
                raise

    def _tell_that_its_end_is_not_kept(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Nobody is to wait for what does not come any more."""
        if not self._ended.done():
            self._ended.set_exception(error if isinstance(error, Exception) else LogLost(self.id))
            self._ended.exception()  # nobody has to ask

    def _lose(self) -> None:
        """Whoever has the run now tells how it ends."""
        self._ended.set_exception(LogLost(self.id))
        self._ended.exception()  # nobody has to ask

    async def _execute_to_end(self, run: Run) -> None:
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
        """Keep how the run ended, then tell those who wait. One that was cut off has `error` in place of an outcome."""
        events = self.journal.read()
        if outcome is None:
            is_cancelled = not isinstance(error, Exception)
            status = Status.CANCELLED if is_cancelled else Status.FAILED
            outcome = Outcome(status, error=error_of(error or RuntimeError(), ""))
            if not events or not isinstance(events[-1], RunEnded):
                self.journal.append(RunEnded(self._clock.now(), outcome))
        told = None if outcome.error is None else self.mask_text(str(outcome.error))
        failures = tell_failures(events, self._prepared.plan, self.mask_text)
        intervened = bool(interventions_in(events))
        if self._workplace is not None:
            await self._keep_files(self._workplace)
        await self._kept.update(
            status=outcome.status.value,
            ended_at=self._clock.now(),
            error=told,
            failures=tuple(failure_as_json(each) for each in failures),
            intervened=intervened,
            kept_until=self._kept_until(),
        )
        self._ended.set_result(RunSummary(self.id, outcome.status.value, told, failures, intervened))

    async def _keep_files(self, workplace: KillableWorkplace) -> None:
        """Keep what steps handed on. A store that is away for a while is waited for, as with all else of the run."""
        while True:
            try:
                await self._keep_part(workplace, "artifacts")
                await self.keep_recordings()
            except StoreUnavailable as error:
                if self._is_left:
                    raise LogLost(self.id) from error
                self._files_problem = f"cannot store artifacts: {error}"
                await self._clock.sleep(KEEP_AGAIN_SECONDS)
            else:
                self._files_problem = None
                return

    def _kept_until(self) -> float | None:
        """When the workspace of a run that ends now is to go; None when it goes with the run."""
        return None

    # Looking

    async def info(self) -> RunInfo:
        was_over, record = self.is_over, await self._kept.record()
        if self.is_over and not was_over:  # then how it ended is kept by now
            record = await self._kept.record()
        # From here on nothing is waited for: whoever follows after `last_event` misses nothing of what is told here
        stops = () if self.session is None or self.is_over else tuple(stop.id for stop in self.session.stops)
        status = "paused" if stops and record.status == "running" else record.status
        told = {"status": status, "session": self.session_state, "stops": stops, "last_event": len(self._kept.log)}
        snapshots_problem = None if self._snapshots is None else self._snapshots.problem
        problem = self._kept.problem or self._files_problem or snapshots_problem
        return tell_run(record, problem=problem, **told)

    def hear_output(self, listener: Callable[[Output], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def hear_progress(self, listener: Callable[[WorkspaceProgress], None]) -> Callable[[], None]:
        self._progress_listeners.append(listener)
        return lambda: self._progress_listeners.remove(listener)

    def _tell_progress(self, progress: WorkspaceProgress) -> None:
        for listener in [*self._progress_listeners]:
            listener(progress)

    def _take_output(self, occurrence: str, chunk: LogChunk) -> None:
        self._kept.append_output(occurrence, chunk)
        if self._listeners:
            output = Output(occurrence, chunk.stream, chunk.time, chunk.data)
            for listener in self._listeners:
                listener(output)

    async def artifacts(self) -> tuple[ArtifactInfo, ...]:
        if self._workplace is not None and not self.is_over:
            await self._keep_part(self._workplace, "artifacts")
            await self.keep_recordings()
        return await super().artifacts()

    async def questions(self) -> tuple[Question, ...]:
        if self._approvals is None:
            return ()
        return tuple(Question(each.occurrence, each.prompt) for each in self._approvals.open_questions)

    # Acting

    async def answer(self, occurrence: str, *, approved: bool, by: str = "", comment: str = "") -> None:
        if self._approvals is None:
            raise NotAsked(occurrence)
        self._approvals.answer(occurrence, Decision(approved, by, comment))

    async def cancel(self, reason: str) -> None:
        if self.is_over:
            raise NotRunning
        self.cancel_now(reason)

    def cancel_now(self, reason: str) -> None:
        """`cancel`, for whoever cannot wait."""
        self.begin()
        if self._run is None:
            self._cancel_reason = reason
        elif not self.is_over:
            self._run.abort(reason)

    def leave(self) -> None:
        """Stop here, without cleaning up: somebody else goes on where the log ends. `wait` raises LogLost."""
        self._is_left = True
        if self._journal is not None:
            self._journal.cut()
        if self._run is not None and not self.is_over:
            self._run.lose(LogLost(self.id))
            if self._workplace is not None:
                self._killing.create_task(self._workplace.kill_commands())

    def hold_steps(self) -> None:
        """Begin no further step; those that run already go on to their ends."""
        self._holds_steps = True
        if self._run is not None:
            self._run.hold_steps()

    async def kill(self) -> None:
        if self.is_over:
            raise NotRunning
        self._kill()

    def _kill(self) -> None:
        self.cancel_now("killed")
        if self.is_over:
            return
        if self._run is not None and self._workplace is not None:
            self._killing.create_task(self._workplace.kill_commands())
        asyncio.get_running_loop().call_later(KILL_EVERY_SECONDS, self._kill)  # it may come to a cleanup yet

    async def wait(self) -> RunSummary:
        return await asyncio.shield(self._ended)

    async def shell(
        self,
        stop: int,
        *,
        mode: ShellMode = "shell",
        rows: int = 24,
        cols: int = 80,
        record: ShellRecord | None = None,
    ) -> "DebugShell":
        if self.session is None or self._workplace is None or self.is_over:
            raise NotRunning
        from pitstop.runs.shells import open_shell

        return await open_shell(self, stop, mode, rows, cols, record)

    async def keep_recordings(self) -> None:
        """Keep what was recorded of shells among the artifacts."""
        if self._workplace is not None:
            await self._keep_part(self._workplace, "control", RECORDINGS)

    async def _keep_part(self, workplace: KillableWorkplace, part: Part, below: str = ".") -> None:
        with suppress(WorkspaceLost):  # what was there is kept already, or cannot be read any more
            await self._kept.keep_artifacts(workplace.files.stream(part, below))


def _new_session(request: DebugRequest) -> "Session":
    from pitstop.runs.sessions import make_session

    return make_session(request)


def _had_session(log: RunLog) -> bool:
    """Whether somebody had come to debug the run before its process ended: the session is taken up from the log."""
    return any(isinstance(event, SessionOpened) for event in log.read(log.carried_over))


def _end_in(log: RunLog) -> RunEnded | None:
    last = log.read(max(len(log) - 1, log.carried_over))
    return last[0] if last and isinstance(last[0], RunEnded) else None


def failure_as_json(failure: Any) -> dict[str, str]:
    return {name: getattr(failure, name) for name in ("step", "occurrence", "type", "message")}
