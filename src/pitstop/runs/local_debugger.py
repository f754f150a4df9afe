"""The debugger of a run in this process: the session's answers as plain values without secrets."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Literal, Protocol, TypeVar

from pitstop.debugger.breakpoints import UNSET, Breakpoint
from pitstop.debugger.session import Session
from pitstop.debugger.stops import Stop
from pitstop.debugger.time_travel import points_in
from pitstop.engine.ports import Evaluator
from pitstop.errors import BadEdit, BadExpression, NotRunning
from pitstop.events.log import events_to_json
from pitstop.events.outcome import Outcome
from pitstop.events.types import AnyEvent
from pitstop.plan.paths import parse_path, read_path
from pitstop.plan.plan import Plan
from pitstop.plan.values import Change, as_json, diff
from pitstop.runs.debug_view import DebugView
from pitstop.runs.file_changes import FileChanges, FileDiff
from pitstop.runs.flow_info import FlowInfo
from pitstop.runs.log_pages import Page
from pitstop.runs.past_scopes import past_scopes
from pitstop.runs.run_context import context_at
from pitstop.runs.run_files import RunFiles
from pitstop.runs.run_info import CommitInfo, SessionState
from pitstop.runs.run_request import BreakpointRequest
from pitstop.runs.run_snapshots import NewSnapshots
from pitstop.runs.sessions import parts_of
from pitstop.runs.stop_info import BreakpointInfo, ContextInfo, DebugState, EditInfo, OutcomeInfo, PointInfo, StopInfo
from pitstop.runs.telling import MaskText, masked, without_secrets
from pitstop.runs.variable_info import ChangeInfo, ConfigInfo, VariablePage
from pitstop.runs.variables import children_of, page_of, tell_value
from pitstop.steps.workplace import Workplace

T = TypeVar("T")

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
    def new_snapshots(self) -> NewSnapshots | None:
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
        """Whether that is in a folder of somebody's own."""
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


class LocalDebugger:
    """A Debugger. A run that nobody asked to debug gets a session with the first command."""

    def __init__(self, run: Debugged, new_evaluator: Callable[[], Evaluator]) -> None:
        self._run = run
        self._new_evaluator = new_evaluator
        self._view = DebugView()

    async def state(self) -> DebugState:
        run = self._run
        async for page in run.pages(self._view.last_event):
            self._view.follow(page)
        # From here on nothing is waited for: what is told here is as it was at `last_event`
        session, is_ended = run.session, run.is_over
        return DebugState(
            session=self._view.past_session if session is None and is_ended else run.session_state,
            frames=self._view.frames(),
            stops=() if session is None or is_ended else tuple(self._stop(each) for each in session.stops),
            breakpoints=() if session is None else tuple(self._breakpoint(each) for each in session.breakpoints),
            watches=() if session is None else tuple(session.watches),
            edits=() if session is None or is_ended else tuple(self._edits(session)),
            interventions=tuple(map(run.mask_text, self._view.interventions)),
            last_event=self._view.last_event,
            is_ended=is_ended,
        )

    async def _kept(self, command: Awaitable[T]) -> T:
        """What the command gives, once it is known for good that it was given."""
        done = await command
        await self._run.settled()
        return done

    # Moving

    async def continue_(self, stop: int, *, keeps_step: bool = False) -> None:
        await self._kept(self._session.continue_(stop, keeps_step=keeps_step))

    async def continue_all(self) -> None:
        await self._kept(self._session.continue_all())

    async def step_into(self, stop: int, *, code: bool = False) -> None:
        await self._kept(self._session.step_into(stop, code=code))

    async def step_over(self, stop: int) -> None:
        await self._kept(self._session.step_over(stop))

    async def step_out(self, stop: int) -> None:
        await self._kept(self._session.step_out(stop))

    async def run_to(self, stop: int, step: str) -> None:
        await self._kept(self._session.run_to(stop, step))

    async def pause(self, frame: str | None = None) -> None:
        await self._kept(self._session.pause(frame))

    async def cancel_frame(self, frame: str, reason: str = "ended by the user") -> None:
        await self._kept(self._session.cancel_frame(frame, reason))

    async def detach(self) -> None:
        await self._kept(self._session.detach())

    async def abort(self, reason: str = "aborted by the user") -> None:
        await self._kept(self._session.abort(reason))

    # Changing

    async def skip(self, stop: int, outputs: Mapping[str, Any] | None = None, *, pauses: bool = False) -> None:
        await self._kept(self._session.skip(stop, outputs, pauses=pauses))

    async def force(
        self, stop: int, status: str, outputs: Mapping[str, Any] | None = None, *, pauses: bool = False
    ) -> None:
        await self._kept(self._session.force(stop, status, outputs, pauses=pauses))

    async def retry(self, stop: int) -> None:
        await self._kept(self._session.retry(stop))

    async def inject(self, stop: int, step: Mapping[str, Any], position: Literal["before", "after"] = "before") -> str:
        return await self._kept(self._session.inject(stop, step, position))

    async def set(self, stop: int, path: str, value: Any, *, layer: str | None = None) -> None:
        await self._kept(self._session.set(stop, path, value, layer=layer))

    async def unset(self, stop: int, path: str, *, layer: str | None = None) -> None:
        await self._kept(self._session.unset(stop, path, layer=layer))

    async def undo(self, stop: int) -> None:
        await self._kept(self._session.undo(stop))

    async def override_config(self, stop: int, config: Mapping[str, Any]) -> None:
        await self._kept(self._session.override_config(stop, config))

    # Going back, or ahead

    async def step_back(self, stop: int, *, external: bool = False) -> None:
        await self._kept(self._session.step_back(stop, external=external))

    async def rewind(self, stop: int, point: int, *, external: bool = False) -> None:
        await self._kept(self._session.rewind(stop, point, external=external))

    async def restart_frame(self, stop: int, *, external: bool = False) -> None:
        await self._kept(self._session.restart_frame(stop, external=external))

    async def goto(self, stop: int, step: str, *, external: bool = False) -> None:
        await self._kept(self._session.goto(stop, step, external=external))

    # Breakpoints and watches

    async def add_breakpoint(self, request: BreakpointRequest) -> BreakpointInfo:
        added = self._session.add_breakpoint(**parts_of(request))
        await self._run.settled()
        return self._breakpoint(added)

    async def change_breakpoint(self, breakpoint: int, request: BreakpointRequest) -> BreakpointInfo:
        changed = self._session.change_breakpoint(breakpoint, **parts_of(request))
        await self._run.settled()
        return self._breakpoint(changed)

    async def remove_breakpoint(self, breakpoint: int) -> None:
        self._session.remove_breakpoint(breakpoint)
        await self._run.settled()

    async def enable_breakpoint(self, breakpoint: int, enabled: bool = True) -> None:
        self._session.enable_breakpoint(breakpoint, enabled)
        await self._run.settled()

    async def enable_group(self, group: str, enabled: bool = True) -> None:
        self._session.enable_group(group, enabled)
        await self._run.settled()

    async def watch(self, expression: str) -> None:
        self._session.watch(expression)
        await self._run.settled()

    async def unwatch(self, expression: str) -> None:
        self._session.unwatch(expression)
        await self._run.settled()

    # Looking

    async def evaluate(self, stop: int | None, expression: str) -> list[Any]:
        if stop is None:
            run = self._session.run_now()
            scope = run.scope
        else:
            activation = self._session.activation_at(stop)
            run, scope = activation.run, activation.scope
        found = await run.evaluator.evaluate(expression, without_secrets(scope.values()))
        return [self._shown(value) for value in found]

    async def watch_values(self, stop: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for expression in self._session.watches:
            try:
                found = await self.evaluate(stop, expression)
                if len(found) != 1:
                    raise BadExpression(expression, f"returned {len(found)} values: collect them with [...]")
                values[expression] = {"value": found[0]}
            except BadExpression as error:
                values[expression] = {"error": self._mask(str(error))}
        return values

    async def variables(
        self, stop: int, path: str = ".", *, cursor: int = 0, limit: int = 100, search: str | None = None
    ) -> VariablePage:
        session = self._session
        activation = session.activation_at(stop)
        try:
            parts = parse_path(path)
            value = read_path(without_secrets(activation.scope.values()), parts)
        except BadExpression as error:
            raise BadEdit(f"there is no value at {path!r}: {error.reason}") from error
        origins = {} if parts else {each.name: (each.layer, each.set_by) for each in session.variables(stop)}
        children = children_of(value, parts)
        return page_of(children, self._mask, cursor=cursor, limit=limit, search=search, origins=origins)

    async def scope(self, stop: int) -> dict[str, Any]:
        shown: dict[str, Any] = self._shown(without_secrets(self._session.activation_at(stop).scope.values()))
        return shown

    async def config(self, stop: int) -> ConfigInfo:
        told = await self._session.config(stop)
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

    async def diff(self, stop: int) -> tuple[ChangeInfo, ...]:
        session = self._session
        session.activation_at(stop)
        current = next(each for each in session.stops if each.id == stop)
        return self._changes(session.diff(current))

    async def diff_points(self, before: int, after: int) -> tuple[ChangeInfo, ...]:
        if not self._run.is_over:
            return self._changes(await self._session.diff_points(before, after))
        events, plan = await self._events(), await self._run.plan()
        then, later = await past_scopes(plan, events, (before, after), self._new_evaluator)
        return self._changes(diff(then.as_dict(), later.as_dict()))

    async def file_changes(self, before: int, after: int | None = None, *, limit: int = 1000) -> FileChanges:
        return await self._files.changes(await self._events(), before, after, limit=limit)

    async def file_diff(self, path: str, before: int, after: int | None = None) -> FileDiff:
        return await self._files.diff(await self._events(), path, before, after)

    @property
    def _files(self) -> RunFiles:
        return RunFiles(self._run.new_snapshots, self._run.keep_files, self._mask)

    async def context(self, stop: int) -> ContextInfo:
        run, session = self._run, self._session
        activation = session.activation_at(stop)
        if run.workplace is None:
            raise NotRunning
        workplace = await run.workplace.at(activation.home)  # before it may be left
        current = next(each for each in session.stops if each.id == stop)
        return await context_at(
            current,
            (await session.config(stop)).resolved,
            workplace=workplace,
            flow=run.flow,
            events=await self._events(),
            commit=run.commit,
            in_place=run.in_place,
            session=run.session_state,
            log=await run.log_tail(activation.occurrence, CONTEXT_LINES),
            lease_ends_at=current.lease_ends_at,
        )

    # The session itself

    async def extend(self, seconds: float) -> None:
        await self._session.extend(seconds)

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

    # Telling

    @property
    def _session(self) -> Session:
        if self._run.is_over:
            raise NotRunning
        return self._run.wake()

    @property
    def _mask(self) -> MaskText:
        return self._run.mask_text

    def _shown(self, value: Any) -> Any:
        return masked(as_json(value), self._mask)

    def _stop(self, stop: Stop) -> StopInfo:
        source = stop.source
        return StopInfo(
            id=stop.id,
            frame=stop.frame,
            step=stop.step,
            occurrence=stop.occurrence,
            position=stop.position,
            reasons=stop.reasons,
            breakpoints=stop.breakpoints,
            problems=tuple(map(self._mask, stop.problems)),
            outcome=None if stop.outcome is None else self._outcome(stop.outcome),
            allowed=stop.allowed,
            will_run=stop.will_run,
            is_cleanup=stop.is_cleanup,
            is_injected=stop.is_injected,
            file=None if source is None else source.file,
            line=None if source is None else source.line,
            column=None if source is None else source.column,
            end_line=None if source is None else source.end_line,
            after_event=stop.after_event,
            lease_ends_at=stop.lease_ends_at,
        )

    def _outcome(self, outcome: Outcome) -> OutcomeInfo:
        error = outcome.error
        return OutcomeInfo(
            status=outcome.status.value,
            outputs=self._shown(outcome.outputs),
            error_type=None if error is None else error.type,
            error=None if error is None else self._mask(error.message),
            paused_seconds=outcome.paused_seconds,
        )

    def _breakpoint(self, breakpoint: Breakpoint) -> BreakpointInfo:
        has_equals = breakpoint.equals is not UNSET
        names = ("step", "kind", "file", "line", "position", "hits", "log", "once", "enabled", "group", "state")
        condition = breakpoint.condition
        request = BreakpointRequest(
            **{name: getattr(breakpoint, name) for name in names},
            condition=condition if condition is None or isinstance(condition, str) else "a function",
            equals=self._shown(breakpoint.equals) if has_equals else None,
            has_equals=has_equals,
        )
        paths = tuple(breakpoint.paths)
        return BreakpointInfo(id=breakpoint.id, request=request, hit_count=breakpoint.hit_count, paths=paths)

    def _edits(self, session: Session) -> list[EditInfo]:
        told = []
        for stop, edit in session.edits():
            new = tell_value(("", edit.path, edit.value), self._mask)
            what = {"preview": new.preview, "value": new.value, "is_cut": new.is_cut}
            told.append(EditInfo(stop=stop, layer=edit.layer, path=new.path, removes=edit.removes, **what))
        return told

    def _changes(self, changes: list[Change]) -> tuple[ChangeInfo, ...]:
        return tuple(
            ChangeInfo(
                path=self._mask(change.path),
                kind=change.kind,
                before=self._shown(change.before),
                after=self._shown(change.after),
            )
            for change in changes
            if change.path != ".secrets" and not change.path.startswith((".secrets.", ".secrets["))
        )
