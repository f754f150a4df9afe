"""Where one run works: its workspace, the step types that work there, and what the run stores of their work."""

from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING

from pitstop.engine.executor import LogChunk
from pitstop.engine.ports import Clock, Evaluator, Ports, StepType
from pitstop.errors import LogLost, SnapshotTooLarge, StoreUnavailable, Unavailable, WorkspaceLost
from pitstop.events.types import StepFinished
from pitstop.limits import too_long_artifact_path, too_many_artifacts
from pitstop.plan.plan import Plan
from pitstop.runs.flow_files import plan_added_step
from pitstop.runs.machines import refuse_unmet
from pitstop.runs.run_maker import PreparedRun
from pitstop.runs.run_output import Output, WorkspaceProgress
from pitstop.runs.run_request import DebugRequest
from pitstop.runs.sessions import AGENT
from pitstop.runs.workplaces import RECORDINGS, KillableWorkplace, NewCombine, OpenWorkplace, ports_in
from pitstop.runs.workspace_progress import ProgressTelling
from pitstop.steps.approvals import Approvals
from pitstop.steps.artifact_secrets import in_words, without_files
from pitstop.steps.described import ClosedStepType
from pitstop.store.port import FileChunk, KeptRun, RunStore

if TYPE_CHECKING:  # a run without snapshots need not load it
    from pitstop.runs.run_snapshots import RunSnapshots

KEEP_AGAIN_SECONDS = 0.5


class RunWorkplace:
    """The workplace of a run, in `opened` once there is one, with its output, snapshots and artifacts."""

    def __init__(
        self,
        store: RunStore,
        kept: KeptRun,
        prepared: PreparedRun,
        open_workplace: OpenWorkplace,
        combining: Mapping[str, NewCombine],
    ) -> None:
        self.opened: KillableWorkplace | None = None
        self._store = store
        self._kept = kept
        self._prepared = prepared
        self._open_workplace = open_workplace
        self._combining = combining
        self._output_listeners: list[Callable[[Output], None]] = []
        self._progress_listeners: list[Callable[[WorkspaceProgress], None]] = []
        self._progress = ProgressTelling(self._notify_progress)
        self._problem: str | None = None  # why the artifacts are not stored yet
        self._refused = ""  # why some artifacts are never stored: they contain secrets
        self.excess: str | None = None  # or they are too many
        self._step_types: dict[str, StepType] = {}
        self._snapshots: RunSnapshots | None = None
        self._is_new = len(kept.log) == kept.log.carried_over

    async def open(self, stack: AsyncExitStack, approvals: Approvals) -> KillableWorkplace:
        """Take up the workspace, or make it; BadFlow when no machine has what a step requires."""
        prepared, request = self._prepared, self._prepared.request
        self.opened = await stack.enter_async_context(
            self._open_workplace(
                folder=request.place,
                secrets=request.secrets,
                run=self._kept.id,
                workspace=prepared.record.workspace,
                approvals=approvals,
                on_output=self._take_output,
                settle=self._kept.log.settled,
                stored_output=self._kept.output_sizes,
                stored_log=self._kept.output_end,
                bring_files=None if request.repo is None else prepared.bring_files,
                workshop=prepared.workshop,
            )
        )
        if self._is_new:
            done = {event.step for event in prepared.events if isinstance(event, StepFinished)}
            await refuse_unmet(prepared.plan, done, self.opened.executor, prepared.planned.texts)
        return self.opened

    async def set_up(
        self,
        stack: AsyncExitStack,
        workplace: KillableWorkplace,
        kinds: Collection[str],
        evaluator: Evaluator,
        clock: Clock,
    ) -> Ports:
        """Make the step types of these kinds, and bring the files that the run begins with."""
        prepared = self._prepared
        self._step_types.update(prepared.planned.types.for_run(workplace, kinds))
        for step_type in self._step_types.values():
            if isinstance(step_type, ClosedStepType):
                stack.push_async_callback(step_type.close)
        if self._is_new and prepared.bring_files is not None:
            await prepared.bring_files(workplace.files)
        self._snapshots = await self._open_snapshots(stack, workplace)
        plan_step = partial(plan_added_step, prepared.planned)
        given = workplace, self._step_types, evaluator, clock, self._snapshots, plan_step
        return ports_in(*given, self._combining)

    async def _open_snapshots(self, stack: AsyncExitStack, workplace: KillableWorkplace) -> "RunSnapshots | None":
        """What stores the files at each point, if wanted. A new run from a step begins with the files of then."""
        record, request = self._prepared.record, self._prepared.request
        source = record.from_run if self._is_new and record.from_step is not None and not request.place else None
        is_wanted = _wants_snapshots(self._prepared.plan, request.debug, request.place)
        has_files = self._is_new and request.files_run is not None
        if source is None and not is_wanted and not has_files:
            return None
        from pitstop.runs.run_snapshots import RunSnapshots, bring_files, snapshot_at, snapshots_in

        keeping = workplace.executor.snapshots(workplace.workspace)
        stack.callback(keeping.close)
        if source is not None:
            await bring_files(keeping, workplace, await self._store.open(source), self._prepared, self._progress)
        if has_files:
            stored = await self._store.open(request.files_run or "")
            with self._progress.telling("putting_back") as amount:
                await keeping.restore(snapshot_at(stored.log.read(), request.files_event), amount=amount)
        if not is_wanted:
            return None
        if self._is_new and record.carried_over:  # it can go back to where the other run was
            await keeping.own(snapshots_in(self._kept.log.read()), record.id)
        return RunSnapshots(
            keeping,
            in_place=request.place is not None,
            owner=record.id,
            progress=self._progress,
            new_scan=workplace.new_scan,
        )

    def add_step_types(self) -> None:
        """Make the types that the flow does not use, too: any of them may be inserted from now on."""
        if self.opened is not None:
            types = self._prepared.planned.types
            missing = [name for name in types.names if name not in self._step_types]
            self._step_types.update(types.for_run(self.opened, missing))

    def mask_text(self, text: str) -> str:
        return text if self.opened is None else self.opened.mask(text)

    async def take_snapshot(self) -> str | None:
        """A snapshot of the files as they are now; None where none are stored."""
        if self._snapshots is not None:
            with suppress(SnapshotTooLarge, Unavailable):  # `problem` has the reason
                return await self._snapshots.take("", "now")
        return None

    @property
    def problem(self) -> str | None:
        """Why the artifacts or the files at some point are not stored."""
        snapshots = None if self._snapshots is None else self._snapshots.problem
        return self._problem or self._refused or self.excess or snapshots

    def hear_output(self, listener: Callable[[Output], None]) -> Callable[[], None]:
        self._output_listeners.append(listener)
        return lambda: self._output_listeners.remove(listener)

    def hear_progress(self, listener: Callable[[WorkspaceProgress], None]) -> Callable[[], None]:
        self._progress_listeners.append(listener)
        return lambda: self._progress_listeners.remove(listener)

    def _notify_progress(self, progress: WorkspaceProgress) -> None:
        for listener in [*self._progress_listeners]:
            listener(progress)

    def _take_output(self, occurrence: str, chunk: LogChunk) -> None:
        self._kept.append_output(occurrence, chunk)
        if self._output_listeners:
            output = Output(occurrence, chunk.stream, chunk.time, chunk.data)
            for listener in self._output_listeners:
                listener(output)

    async def keep_artifacts(self) -> None:
        """Store what steps have handed on so far, but no file with a secret, and the recordings of shells."""
        if self.opened is not None:
            with suppress(WorkspaceLost):  # what was there is stored already, or cannot be read any more
                refused = await self.opened.refused_artifacts()
                self._refused = self.mask_text(in_words(refused))
                await self._store_artifacts(without_files(self.opened.files.stream("artifacts"), refused))
        await self.keep_recordings()

    async def keep_recordings(self) -> None:
        if self.opened is not None:
            with suppress(WorkspaceLost):
                await self._store_artifacts(self.opened.files.stream("control", RECORDINGS))

    async def _store_artifacts(self, chunks: AsyncIterator[FileChunk]) -> None:
        await self._kept.keep_artifacts(self._within_limits(chunks))

    async def _within_limits(self, chunks: AsyncIterator[FileChunk]) -> AsyncIterator[FileChunk]:
        """The files up to the one with which they are too many, or too large; `problem` says so.

        One whose path is too long is left out.
        """
        files, size, last = 0, 0, None
        async for file, data in chunks:
            too_long = too_long_artifact_path(file.path)
            if too_long is not None:
                self.excess = f"not everything is stored: {too_long}"
                continue
            if file.path != last:
                files, size, last = files + 1, size + file.size, file.path
                excess = too_many_artifacts(files, size, self._prepared.plan.limits)
                if excess is not None:
                    self.excess = f"artifacts from {file.path!r} on are not stored: {excess}"
                    return
            yield file, data

    async def forget_commands(self) -> None:
        """Remove what is left of commands whose results are in the log; the raw logs have secrets in them."""
        if self.opened is not None:
            with suppress(WorkspaceLost, Unavailable, OSError):
                await self.opened.executor.forget_ended(self.opened.workspace)

    async def keep_artifacts_at_end(self, clock: Clock, is_left: Callable[[], bool]) -> None:
        """Wait for a store that is unavailable, as everything else of the run does; LogLost once the run is left."""
        while True:
            try:
                await self.keep_artifacts()
            except StoreUnavailable as error:
                if is_left():
                    raise LogLost(self._kept.id) from error
                self._problem = f"cannot store artifacts: {error}"
                await clock.sleep(KEEP_AGAIN_SECONDS)
            else:
                self._problem = None
                return


def _wants_snapshots(plan: Plan, debug: DebugRequest | None, folder: str | None) -> bool:
    """Whether anything will be kept: a step asks for it, or a run in its own workspace is debugged or has agents.

    In the user's folder, going back would undo what the user changed there meanwhile; a step can ask for it.
    """
    if any(step.snapshot for step in plan.steps.values()):
        return True
    has_agent = any(step.kind == AGENT for step in plan.steps.values())
    return folder is None and (debug is not None or has_agent)
