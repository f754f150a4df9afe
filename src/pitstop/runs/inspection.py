"""Looking into a debugged run: a method for each verb that changes nothing. No answer contains a secret."""

import platform
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from pitstop.debugger.breakpoints import Breakpoint
from pitstop.debugger.session import Session
from pitstop.debugger.time_travel import point_numbered, points_in, scope_at
from pitstop.engine.ports import Evaluator
from pitstop.errors import BadEdit, BadExpression, NotRunning
from pitstop.events.log import events_to_json
from pitstop.events.types import AnyEvent, StepFinished
from pitstop.events.view import RunView
from pitstop.plan.paths import parse_path, read_path
from pitstop.plan.plan import Plan
from pitstop.plan.scope import Snapshot
from pitstop.plan.values import diff
from pitstop.runs.debug_view import frames_in, session_in
from pitstop.runs.file_changes import FileChanges, FileDiff
from pitstop.runs.flow_info import FlowInfo
from pitstop.runs.log_pages import Page
from pitstop.runs.run_files import RunFiles
from pitstop.runs.run_info import CommitInfo, SessionState
from pitstop.runs.run_request import BreakpointInfo
from pitstop.runs.run_snapshots import NewSnapshots
from pitstop.runs.stop_formats import (
    format_breakpoint,
    format_changes,
    format_edit,
    format_injected,
    format_stop,
    shown,
)
from pitstop.runs.stop_info import ContextInfo, DebugState, PointInfo, StopInfo
from pitstop.runs.telling import intervention_texts, without_secrets
from pitstop.runs.variable_info import ChangeInfo, ConfigInfo, Evaluated, Sort, VariablePage, WholeScope
from pitstop.runs.variables import Children, Sizes, page_of
from pitstop.steps.containers import container_of
from pitstop.steps.workplace import Workplace

CONTEXT_LINES = 50


class Debugged(Protocol):
    """A run as its debugger needs it."""

    def pages(self, after: int = 0) -> AsyncIterator[Page]:
        """What has happened after an event, with the numbers."""
        ...

    @property
    def is_over(self) -> bool: ...

    @property
    def session(self) -> Session | None:
        """The session, if there is one yet."""
        ...

    @property
    def session_state(self) -> SessionState: ...

    def wake(self) -> Session:
        """The session, made if there is none; NotRunning."""
        ...

    @property
    def new_snapshots(self) -> NewSnapshots:
        """Where its files are kept."""
        ...

    async def plan(self) -> Plan:
        """The plan that it was made by; NoScopes where that is gone."""
        ...

    async def keep_files(self) -> str | None:
        """A snapshot of its files as they are now; None when they are not there, or are not kept."""
        ...

    @property
    def workplace(self) -> Workplace | None:
        """Where its steps work, while they do."""
        ...

    @property
    def in_place(self) -> bool:
        """Whether that is a folder of the user, not a workspace of its own."""
        ...

    @property
    def flow(self) -> FlowInfo: ...

    @property
    def commit(self) -> CommitInfo | None: ...

    async def log_tail(self, occurrence: str, lines: int = 20) -> list[str]: ...

    async def settled(self) -> None:
        """Wait until all that happened is kept."""
        ...

    def mask_text(self, text: str) -> str: ...


class Inspection:
    """What a run's debugger shows of it."""

    def __init__(self, run: Debugged, new_evaluator: Callable[[], Evaluator]) -> None:
        self._run = run
        self._new_evaluator = new_evaluator
        self._view = RunView()
        self._sizes = Sizes()
        self._mask = run.mask_text

    @property
    def session(self) -> Session:
        """The session, made if there is none; NotRunning when the run has ended."""
        if self._run.is_over:
            raise NotRunning
        return self._run.wake()

    async def state(self) -> DebugState:
        run, view = self._run, self._view
        async for page in run.pages(view.last_event):
            for number, event in page:
                if number == view.last_event + 1:  # else another call has applied it meanwhile
                    view.apply(event)
        # Nothing is awaited from here on: the answer is the state at `last_event`
        session, is_ended = run.session, run.is_over
        live = None if is_ended else session
        return DebugState(
            session=session_in(view) if session is None and is_ended else run.session_state,
            frames=frames_in(view),
            stops=() if live is None else tuple(self._stops(live)),
            breakpoints=() if session is None else tuple(map(self.breakpoint, session.breakpoints)),
            watches=() if session is None else tuple(session.watches),
            edits=() if live is None else tuple(format_edit(stop, edit, self._mask) for stop, edit in live.edits()),
            injected=tuple(
                format_injected(event, () if live is None else live.waiting_steps(), self._mask)
                for event in view.injected.values()
            ),
            interventions=tuple(self._mask(text) for text in intervention_texts(view)),
            last_event=view.last_event,
            is_ended=is_ended,
            is_muted=view.is_muted,
        )

    def _stops(self, session: Session) -> Iterator[StopInfo]:
        for stop in session.stops:
            yield format_stop(stop, self._mask, session.way_back(stop), session.way_forward(stop))

    async def breakpoints(self) -> tuple[BreakpointInfo, ...]:
        return (await self.state()).breakpoints

    def breakpoint(self, breakpoint: Breakpoint) -> BreakpointInfo:
        return format_breakpoint(breakpoint, self._mask)

    async def evaluate(self, expression: str, stop: int | None) -> Evaluated:
        return Evaluated(await self._values(expression, stop))

    async def _values(self, expression: str, stop: int | None) -> list[Any]:
        if stop is None:
            run = self.session.run_now()
            scope = run.scope
        else:
            activation = self.session.activation_at(stop)
            run, scope = activation.run, activation.scope
        found = await run.evaluator.evaluate(expression, without_secrets(scope.values()))
        return [self._shown(value) for value in found]

    async def watches(self, stop: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for expression in self.session.watches:
            try:
                found = await self._values(expression, stop)
                if len(found) != 1:
                    raise BadExpression(expression, f"returned {len(found)} values: collect them with [...]")
                values[expression] = {"value": found[0]}
            except BadExpression as error:
                values[expression] = {"error": self._mask(str(error))}
        return values

    async def variables(
        self, stop: int, path: str, cursor: int, limit: int, search: str | None, sort: Sort
    ) -> VariablePage:
        session = self.session
        activation = session.activation_at(stop)
        try:
            parts = parse_path(path)
            value = read_path(without_secrets(activation.scope.values()), parts)
        except BadExpression as error:
            raise BadEdit(f"there is no value at {path!r}: {error.reason}") from error
        origins = {} if parts else {each.name: (each.layer, each.set_by) for each in session.variables(stop)}
        children = Children(value, parts)
        return page_of(
            children,
            self._mask,
            cursor=cursor,
            limit=limit,
            search=search,
            origins=origins,
            sort=sort,
            sizes=self._sizes.at((stop, len(session.log))),
        )

    async def scope(self, stop: int) -> WholeScope:
        return WholeScope(self._shown(without_secrets(self.session.activation_at(stop).scope.values())))

    async def read_config(self, stop: int) -> ConfigInfo:
        told = await self.session.config(stop)
        problems = {path: self._mask(problem) for path, problem in told.problems.items()}
        return ConfigInfo(self._shown(told.raw), self._shown(told.resolved), told.expressions, problems)

    async def history(self) -> tuple[PointInfo, ...]:
        return tuple(
            PointInfo(
                number=point.number,
                frame=point.frame,
                step=point.step,
                occurrence=point.occurrence,
                position=point.position,
                at=point.at,
                status=None if point.status is None else point.status.value,
                stop=point.stop,
                has_snapshot=point.snapshot is not None,
            )
            for point in points_in(await self._events())
        )

    async def diff(self, stop: int | None, before: int | None, after: int | None) -> tuple[ChangeInfo, ...]:
        if stop is not None:
            self.session.activation_at(stop)
            current = next(each for each in self.session.stops if each.id == stop)
            changes = self.session.diff(current)
        elif not self._run.is_over:
            changes = await self.session.diff_points(before or 0, after or 0)
        else:
            then, later = await self._past_scopes(before or 0, after or 0)
            changes = diff(then.as_dict(), later.as_dict())
        return format_changes(changes, self._mask)

    async def _past_scopes(self, *numbers: int) -> list[Snapshot]:
        """The scope of a run that is over at each of these points: its log is replayed, and nothing is run."""
        plan, events, evaluator = await self._run.plan(), await self._events(), self._new_evaluator()
        try:
            points = points_in(events)
            found = [point_numbered(points, number) for number in numbers]
            return [await scope_at(plan, evaluator, events, point) for point in found]
        finally:
            await evaluator.close()

    async def files(self, before: int, after: int | None, limit: int) -> FileChanges:
        return await self._files.changes(await self._events(), before, after, limit=limit)

    async def files_diff(self, path: str, before: int, after: int | None) -> FileDiff:
        return await self._files.diff(await self._events(), path, before, after)

    @property
    def _files(self) -> RunFiles:
        return RunFiles(self._run.new_snapshots, self._run.keep_files, self._mask)

    async def context(self, stop: int) -> ContextInfo:
        run, session = self._run, self.session
        activation = session.activation_at(stop)
        if run.workplace is None:
            raise NotRunning
        workplace = await run.workplace.at(activation.home)  # before it may be left
        current = next(each for each in session.stops if each.id == stop)
        config = (await session.config(stop)).resolved
        path = current.step.partition("+")[0]
        step = None if current.is_injected else run.flow.step(path)
        order = [each.path for each in run.flow.steps]
        image, container = container_of(dict(config)) if activation.step.kind == "run" else (None, None)
        digest = None
        if image is not None:
            digest = await workplace.executor.image_digest(image) or _digest_in(await self._events(), current.step)
        return ContextInfo(
            stop=stop,
            step=current.step,
            occurrence=current.occurrence,
            kind=activation.step.kind if current.step else "",
            title=(activation.step.id or current.step) if step is None else step.title,
            position=current.position,
            number=order.index(path) + 1 if path in order else 0,
            steps=len(order),
            machine=platform.node(),
            platform=(container and container.platform) or f"{platform.system()} {platform.machine()}",
            executor="process" if image is None else "container",
            workspace=workplace.workspace.repo,
            in_place=run.in_place,
            session=run.session_state,
            commit=run.commit,
            image=image,
            image_digest=digest or None,
            log=tuple(await run.log_tail(activation.occurrence, CONTEXT_LINES)),
            lease_ends_at=current.lease_ends_at,
        )

    async def export(self) -> dict[str, Any]:
        session = self._run.session
        events: list[dict[str, Any]] = events_to_json(await self._events())
        told: dict[str, Any] = {"events": events} if session is None else session.export() | {"events": events}
        for event in events:
            if event["kind"] == "run.started":
                event["inputs"] = without_secrets(event["inputs"])
        exported: dict[str, Any] = self._shown(told)
        return exported

    async def _events(self) -> list[AnyEvent]:
        return [event async for page in self._run.pages() for _, event in page]

    def _shown(self, value: Any) -> Any:
        return shown(value, self._mask)


def _digest_in(events: Sequence[AnyEvent], step: str) -> str | None:
    """The image that the step ran in last, as it reported itself."""
    for event in reversed(events):
        if isinstance(event, StepFinished) and event.step == step:
            outputs = event.outcome.outputs
            if isinstance(outputs, Mapping) and outputs.get("image_digest"):
                return str(outputs["image_digest"])
    return None
