"""A debug session: what people and machines can say to a run that is held up for them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import UNSET

from pitstop.debugger.breakpoints import Breakpoint, Condition
from pitstop.debugger.holding import LeasePolicy
from pitstop.debugger.inspection import ConfigPreview, Variable, preview_config, variables_of
from pitstop.debugger.stops import HistoryPoint, Stop
from pitstop.debugger.time_travel import point_numbered, scope_at
from pitstop.debugger.travelling import Travelling
from pitstop.engine.frame import Activation, RunContext
from pitstop.engine.verdict import Position
from pitstop.errors import (
    BadBreakpoint,
    BadEdit,
    BadExpression,
    BadLog,
    CommandRefused,
    NotRunning,
)
from pitstop.events.log import MemoryLog, events_from_json, events_to_json
from pitstop.events.types import (
    BreakpointRemoved,
    BreakpointSet,
    BreakpointsMuted,
    LeaseExtended,
    ShellClosed,
    ShellOpened,
    WatchesChanged,
)
from pitstop.plan.scope import Edit, Snapshot
from pitstop.plan.values import Change, diff

EXPORT_VERSION = 1
FILES_IN_EVENT = 100
_OF_ONE_SESSION = ("id", "hit_count", "condition_was")


class Session(Travelling):
    """The debugger of one run. A command is applied before it returns, or refused without any effect.

    A command for a stop names it; if that stop is over, StaleStop is raised.
    """

    def __init__(
        self,
        *,
        stop_at_entry: bool = False,
        stop_on_error: bool = True,
        stop_at_end: bool = False,
        lease_seconds: float = 3600.0,
        on_lease_end: LeasePolicy = "abort",
        snapshots: bool = False,
    ) -> None:
        """`snapshots` saves the workspace before each step and at each stop, so that going back restores its files."""
        super().__init__(
            stop_at_entry=stop_at_entry,
            stop_at_end=stop_at_end,
            lease_seconds=lease_seconds,
            on_lease_end=on_lease_end,
            snapshots=snapshots,
        )
        if stop_on_error:
            self._default = self.add_breakpoint(position="error", group="default")

    # Breakpoints

    @property
    def breakpoints(self) -> list[Breakpoint]:
        """Every breakpoint, in the order they were added."""
        return list(self._breakpoints)

    def add_breakpoint(
        self,
        step: str | None = None,
        position: Position = "before",
        *,
        kind: str | None = None,
        file: str | None = None,
        line: int | None = None,
        tool: str | None = None,
        path: str | None = None,
        condition: Condition | None = None,
        hits: str | None = None,
        log: str | None = None,
        once: bool = False,
        enabled: bool = True,
        group: str | None = None,
        note: str | None = None,
        state: str | None = None,
        equals: Any = UNSET,
    ) -> Breakpoint:
        """Add a breakpoint at a step (by path or id), at every step of a type, at a line, or everywhere.

        With `tool` or `path` it is for the tool calls inside those steps.
        The parameters are the attributes of `Breakpoint`.
        """
        breakpoint = self._breakpoints.new(
            step=step,
            kind=kind,
            file=file,
            line=line,
            tool=tool,
            path=path,
            position=position,
            condition=condition,
            hits=hits,
            log=log,
            once=once,
            enabled=enabled,
            group=group,
            note=note,
            state=state,
            equals=equals,
        )
        self._breakpoints.add(breakpoint)
        self._tell_of(breakpoint)
        return breakpoint

    def change_breakpoint(self, breakpoint: Breakpoint | int, **parts: Any) -> Breakpoint:
        """Replace a breakpoint by one with these parts, as `add_breakpoint` takes them. It keeps its id and hits."""
        old = self._breakpoints[breakpoint if isinstance(breakpoint, int) else breakpoint.id]
        try:
            new = Breakpoint(old.id, **parts, hit_count=old.hit_count)
        except TypeError as error:
            raise BadBreakpoint(f"invalid breakpoint: {error}") from error
        self._breakpoints.remove(old.id)
        try:
            self._breakpoints.add(new)
        except CommandRefused:
            self._breakpoints.add(old)
            raise
        self._tell_of(new)
        return new

    def remove_breakpoint(self, breakpoint: Breakpoint | int) -> None:
        """Remove a breakpoint."""
        removed = self._breakpoints.remove(breakpoint if isinstance(breakpoint, int) else breakpoint.id)
        if self._is_live:
            self._append(BreakpointRemoved(self._running().now(), removed.id))
        self._refresh_gate()

    def clear_breakpoints(self) -> None:
        """Remove every breakpoint, also the one that stops at failures."""
        for breakpoint in self.breakpoints:
            self.remove_breakpoint(breakpoint)

    @property
    def is_muted(self) -> bool:
        """Whether breakpoints are ignored."""
        return self._breakpoints.is_muted

    def mute(self, muted: bool = True) -> None:
        """Ignore every breakpoint until they are unmuted: none stops, logs or counts. Each stays as it is."""
        self._breakpoints.is_muted = muted
        if self._is_live:
            self._append(BreakpointsMuted(self._running().now(), muted))
        self._refresh_gate()

    def enable_breakpoint(self, breakpoint: Breakpoint | int, enabled: bool = True) -> None:
        """Enable or disable a breakpoint."""
        switched = self._breakpoints[breakpoint if isinstance(breakpoint, int) else breakpoint.id]
        switched.enabled = enabled
        self._tell_of(switched)

    def enable_group(self, group: str, enabled: bool = True) -> None:
        """Enable or disable every breakpoint of a group."""
        members = [each for each in self._breakpoints if each.group == group]
        if not members:
            raise BadBreakpoint(f"there is no breakpoint group {group!r}")
        for member in members:
            self.enable_breakpoint(member, enabled)

    def _tell_of(self, breakpoint: Breakpoint) -> None:
        if self._is_live:
            self._append(BreakpointSet(self._running().now(), breakpoint.as_dict()))
        self._refresh_gate()

    @property
    def _is_live(self) -> bool:
        return self._is_started and not self._is_ended

    # Looking

    async def evaluate(self, stop: Stop | int, expression: str) -> Any:
        """The value of a jq expression at a stop. Raises BadExpression if it yields none or several."""
        values = await self.evaluate_all(stop, expression)
        if len(values) != 1:
            raise BadExpression(expression, f"returned {len(values)} values: use evaluate_all, or wrap it in [...]")
        return values[0]

    async def evaluate_all(self, stop: Stop | int, expression: str) -> list[Any]:
        """Every value that a jq expression yields at a stop."""
        activation = self.activation_at(stop)
        return await activation.run.evaluator.evaluate(expression, activation.scope.values())

    def variables(self, stop: Stop | int) -> list[Variable]:
        """The variables that the step sees, each with its scope layer and what set it."""
        return variables_of(self._at(stop, "evaluate"), self.log.read())

    async def config(self, stop: Stop | int) -> ConfigPreview:
        """The step's config as written, and as it resolves now."""
        held = self._at(stop, "evaluate")
        return await preview_config(held.point.activation, held.config)

    def watch(self, expression: str) -> None:
        """Add an expression to those that `watch_values` evaluates."""
        if expression not in self.watches:
            self._set_watches((*self.watches, expression))

    def unwatch(self, expression: str) -> None:
        """Remove a watched expression."""
        self._set_watches(tuple(each for each in self.watches if each != expression))

    def _set_watches(self, watches: tuple[str, ...]) -> None:
        self.watches = watches
        if self._is_live:
            self._append(WatchesChanged(self._running().now(), watches))

    async def watch_values(self, stop: Stop | int) -> dict[str, Any]:
        """The value of each watched expression at a stop, or the BadExpression it raised."""
        values: dict[str, Any] = {}
        for expression in self.watches:
            try:
                values[expression] = await self.evaluate(stop, expression)
            except BadExpression as error:
                values[expression] = error
        return values

    def diff(self, stop: Stop, since: Stop | None = None) -> list[Change]:
        """What changed since another stop: by default since the previous one, or since this one began."""
        before = self._previous(stop) if since is None else since
        then = stop.first_scope if before is None else before.scope
        return [] if then is None else diff(then.as_dict(), stop.scope.as_dict())

    async def scope_at(self, point: HistoryPoint | int) -> Snapshot:
        """The scope at a point of the history. It replays the log and runs nothing."""
        number = point if isinstance(point, int) else point.number
        found = point_numbered(self.history(), number)
        if self._run is None:
            raise NotRunning
        return await scope_at(self._run.plan, self._run.evaluator, self.log.read(), found)

    async def diff_points(self, before: HistoryPoint | int, after: HistoryPoint | int) -> list[Change]:
        """What changed between two points of the history."""
        return diff((await self.scope_at(before)).as_dict(), (await self.scope_at(after)).as_dict())

    # What a service shows: without docstrings, so not in the reference

    def run_now(self) -> RunContext:
        return self._running()

    def activation_at(self, stop: Stop | int) -> Activation:
        return self._at(stop, "evaluate").point.activation

    def edits(self) -> Iterator[tuple[int, Edit]]:
        for held in self._waiting_for_word():
            yield from ((held.stop.id, edit) for edit in held.edits)

    def waiting_steps(self) -> set[str]:
        return {step.path for held in self._waiting_for_word() for step in (*held.inject_before, *held.inject_after)}

    def shell_opened(self, activation: Activation, stop: int | None, by: str) -> Callable[[Sequence[str] | None], None]:
        position = "running" if stop is None else self._at(stop, "evaluate").stop.position
        frame, occurrence = activation.frame.id, activation.occurrence
        self._last_shell = number = self._last_shell + 1
        opened = (number, stop, frame, activation.step.path, occurrence, position, by)
        self._append(ShellOpened(self._running().now(), *opened))

        def close(changed: Sequence[str] | None) -> None:
            if self._is_live:
                files = None if changed is None else tuple(changed[:FILES_IN_EVENT])
                where = (number, frame, occurrence, position)
                self._append(ShellClosed(self._running().now(), *where, files, len(changed or ())))

        return close

    # The session itself

    async def extend(self, seconds: float) -> None:
        """Renew the lease of every current stop for this many seconds from now, and at most 4 hours since it began."""
        run = self._running()
        if not seconds > 0:
            raise BadEdit(f"cannot extend a lease by {seconds} s: pass a number of seconds above 0")
        for held in self._held.values():
            self._lease(held, seconds)
        self._append(LeaseExtended(run.now(), seconds))

    def setup(self) -> dict[str, Any]:
        """The breakpoints and watches as JSON, to store them for another session. One-time breakpoints are left out."""
        stored = [each for each in self._breakpoints if not each.once and each is not self._default]
        return {"breakpoints": [_exported(each) for each in stored], "watches": list(self.watches)}

    def use_setup(self, setup: Mapping[str, Any]) -> None:
        """Add the breakpoints and watches that `setup` gave. BadLog if it is something else."""
        try:
            for each in setup["breakpoints"]:
                self.add_breakpoint(**{name: each[name] for name in each if name not in _OF_ONE_SESSION})
            for expression in setup["watches"]:
                self.watch(expression)
        except (KeyError, TypeError) as error:
            raise BadLog(f"not the setup of a session: {error}") from error

    def export(self) -> dict[str, Any]:
        """The session as JSON: options, breakpoints, watches and the whole log."""
        return {
            "version": EXPORT_VERSION,
            "options": {
                "stop_at_entry": self.stop_at_entry,
                "stop_at_end": self.stop_at_end,
                "lease_seconds": self.lease_seconds,
                "on_lease_end": self.on_lease_end,
                "snapshots": self.snapshots,
            },
            "breakpoints": [_exported(breakpoint) for breakpoint in self._breakpoints],
            "watches": list(self.watches),
            "events": events_to_json(self.log.read()),
        }

    @classmethod
    def from_export(cls, data: Any) -> "Session":
        """A new session with the setup of an exported one. Its `log` has the exported events, to read or resume."""
        version = data.get("version") if isinstance(data, Mapping) else None
        if version != EXPORT_VERSION:
            raise BadLog(f"not an exported session of version {EXPORT_VERSION}")
        try:
            session = cls(stop_on_error=False, **data["options"])
            for each in data["breakpoints"]:
                session._breakpoints.add(Breakpoint.from_dict({**each, "hit_count": 0}))
            if not all(isinstance(each, str) for each in data["watches"]) or isinstance(data["watches"], str):
                raise BadLog("the exported session is damaged: watches must be a list of expressions")
            session.watches = tuple(data["watches"])
            session.log = MemoryLog(events_from_json(data["events"]))
        except (KeyError, TypeError, ValueError, CommandRefused) as error:
            raise BadLog(f"the exported session is damaged: {error}") from error
        session._refresh_gate()
        return session


def _exported(breakpoint: Breakpoint) -> dict[str, Any]:
    """A breakpoint for another session. Without a condition that was a function it would always stop: it is off."""
    shown = breakpoint.as_dict()
    return {**shown, "enabled": False} if "condition_was" in shown else shown
