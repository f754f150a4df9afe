"""Going back to where a run was, or ahead past steps that it shall not run."""

from collections.abc import Coroutine, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from pitstop.debugger.holding import Abandoned
from pitstop.debugger.steering import Steering
from pitstop.debugger.stops import Held, HistoryPoint, Stop, Way
from pitstop.debugger.time_travel import (
    changes_at,
    external_steps,
    frames_cut,
    point_before,
    point_numbered,
    point_of_stop,
    points_in,
    previous_step,
    way_back,
    way_of,
    way_to,
    way_to_future,
)
from pitstop.engine.calls import host_of
from pitstop.engine.recover import NOTHING_RECORDED, Recorded
from pitstop.engine.verdict import GoBack, Verdict
from pitstop.errors import BadEdit, ExternalEffects, NoFuture, NotAllowed, UnknownPoint, UnknownStep, WorkspaceInUse
from pitstop.events.counting import FORWARD, Future, frames_again
from pitstop.events.outcome import Outcome, Status
from pitstop.events.types import OutcomeForced
from pitstop.plan.addresses import caller_of, is_call, occurrence_in
from pitstop.plan.plan import Step


class Travelling(Steering):
    """The commands that lead to another place. `external` agrees to run steps again whose effects cannot be undone.

    Where a snapshot of the workspace was kept, its files are put back too, before anything runs again.
    """

    async def step_back(self, stop: Stop | int, *, external: bool = False) -> None:
        """Go back to before the frame's previous step, or to the last stop inside that step, as it was there."""
        held = self._at(stop, "step_back")
        point = self._previous_point(held)
        if point is None:
            raise NotAllowed("step_back", held.stop.id, "this is the first step of its frame")
        self._go_back(held, "step_back", point, external)

    def way_back(self, stop: Stop | int) -> Way | None:
        """Where a step back from this stop would lead; None if it is not possible."""
        held, run = self._held_at(stop), self._running()
        point = None if held is None else self._previous_point(held)
        if held is None or point is None:
            return None
        back = way_back(held.point.activation.frame, self._frames, point)
        return way_of(run.plan, run.what_counts(), back, point.step)

    def _previous_point(self, held: Held) -> HistoryPoint | None:
        stop, counting = held.stop, self._running().what_counts()
        if stop.is_call and (call := self._previous_call(stop)) is not None:
            return call
        point = previous_step(counting, stop)
        if point is None:
            return None
        for earlier in reversed(self._past.get(stop.frame, ())):
            if is_call(earlier.occurrence):
                continue
            is_before_it = (earlier.occurrence, earlier.position) == (point.occurrence, "before")
            if earlier.id < stop.id and (is_before_it or earlier.after_event > point.number):
                return point_of_stop(counting, earlier)
        return point

    def _previous_call(self, stop: Stop) -> HistoryPoint | None:
        """The point before the last call that the step made before this one, if its files are stored."""
        host = caller_of(stop.occurrence)
        earlier = [
            point
            for point in self.history()
            if point.number < stop.after_event and is_call(point.occurrence) and caller_of(point.occurrence) == host
        ]
        return next((point for point in reversed(earlier) if point.occurrence != stop.occurrence), None)

    async def forward(self, stop: Stop | int) -> Way:
        """Undo the last step back, rewind, restart or jump back. Possible until a step has finished since.

        Edits and config overrides of the stop it returns to are made again; steps that were injected there are not.
        """
        held, run = self._at(stop, "rewind"), self._running()
        future = run.what_counts().future_of(held.stop.frame)
        if future is None:
            raise NoFuture(held.stop.id)
        back, way = way_to_future(run.plan, run.what_counts(), future)
        abandoned = self._abandoned.pop(future.stop.stop, None)
        self._leave(held, FORWARD, back)
        if abandoned is not None:
            for frame, stops in abandoned.past.items():
                self._past[frame] = [each for each in stops if each.after_event < back.after]
            self._edits += [each for each in abandoned.edits if each[0] <= back.after]
        self._futures[back.occurrence, back.position] = future
        return way

    def _keep(self, held: Held, lease_seconds: float, at_least_seconds: float = 0.0) -> Coroutine[Any, Any, Verdict]:
        if self._futures:
            future = self._futures.pop((held.stop.occurrence, held.stop.position), None)
            if future is not None:
                self._change_again(held, future)
        return super()._keep(held, lease_seconds, at_least_seconds)

    def _change_again(self, held: Held, future: Future) -> None:
        edits, config = changes_at(future)
        for each in edits:
            try:
                self._edit(held, each.path, each.value, each.layer, removes=each.removes)
            except BadEdit as error:
                held.stop.problems = (*held.stop.problems, f"could not reapply an edit: {error}")
        if config:
            self._override_config(held, config)

    def way_forward(self, stop: Stop | int) -> Way | None:
        """Where `forward` would lead from this stop; None if it is not possible."""
        held, run = self._held_at(stop), self._running()
        future = None if held is None else run.what_counts().future_of(held.stop.frame)
        return None if future is None else way_to_future(run.plan, run.what_counts(), future)[1]

    def _held_at(self, stop: Stop | int) -> Held | None:
        held = self._held.get(stop if isinstance(stop, int) else stop.id)
        return held if held is not None and "rewind" in held.stop.allowed else None

    def history(self) -> list[HistoryPoint]:
        """Every point of the run's past that still counts."""
        return points_in(self.log.read())

    async def rewind(self, stop: Stop | int, point: HistoryPoint | Stop | int, *, external: bool = False) -> None:
        """Go back to a point of the history. What followed it in its frames no longer counts and runs again."""
        held = self._at(stop, "rewind")
        number = point if isinstance(point, int) else point.after_event if isinstance(point, Stop) else point.number
        self._go_back(held, "rewind", point_numbered(self.history(), number), external)

    async def restart_frame(self, stop: Stop | int, *, external: bool = False) -> None:
        """Restart this frame, and stop at its first step."""
        held = self._at(stop, "rewind")
        first = next((each for each in self.history() if each.frame == held.stop.frame), None)
        if first is None:
            raise UnknownPoint(held.stop.frame)
        self._go_back(held, "rewind", first, external)

    async def goto(self, stop: Stop | int, step: str, *, external: bool = False) -> None:
        """Jump to another step of the same sequence: go back to it, or skip the steps before it.

        The address of an occurrence must be one in the same iteration.
        """
        held = self._at(stop, "goto")
        plan, activation = self._running().plan, held.point.activation
        occurrence = occurrence_in(plan, step)
        paths = plan.paths_named(step) if occurrence is None else [occurrence.path]
        if not paths:
            raise UnknownStep(step, plan.nearest(step))
        try:
            way = way_to(plan, activation.step, paths, has_ended=held.stop.position != "before")
        except ValueError as error:
            raise NotAllowed("goto", held.stop.id, str(error)) from error
        prefix = activation.base.removesuffix(activation.step.local)
        address = f"{prefix}{way.target.local}"
        if occurrence is not None and occurrence.address != address:
            raise NotAllowed("goto", held.stop.id, f"{step} is in another iteration or attempt; use {address}")
        if way.is_back:
            point = point_before(self._running().what_counts(), held.stop.frame, address)
            if point is None:
                raise UnknownPoint(address)
            self._go_back(held, "goto", point, external)
        else:
            self._go_ahead(held, [(each, f"{prefix}{each.local}") for each in way.between], address)

    def _go_ahead(self, held: Held, between: Sequence[tuple[Step, str]], target: str) -> None:
        """Let the frame pass by the steps in between as if the log knew them, and stop at the target."""
        run, stop, frame = self._running(), held.stop, held.point.activation.frame
        skipped = Outcome(Status.SKIPPED)
        if frame.recorded is NOTHING_RECORDED:
            frame.recorded = Recorded()
        is_current_skipped = stop.position != "after"
        for _, address in between:
            frame.recorded.outcomes[address] = skipped
            frame.recorded.forced.add(address)
        passed_by = [(stop.step, stop.occurrence)] if is_current_skipped else []
        for path, occurrence in [*passed_by, *((step.path, address) for step, address in between)]:
            self._append(OutcomeForced(run.now(), stop.id, stop.frame, path, occurrence, "goto", skipped))
        self._arrivals[target, "before"] = frame.id
        self._resume(held, "goto", held.force(skipped) if is_current_skipped else held.proceed(), targets=(target,))
        self._refresh_gate()

    def _go_back(self, held: Held, verb: str, point: HistoryPoint, external: bool) -> None:
        run = self._running()
        counting, past = run.what_counts(), self._past.get(point.frame, ())
        stop = next((each for each in reversed(past) if each.id == point.stop), None)
        is_plain = not self._returning and run.abort_reason is None
        occurrence = caller_of(point.occurrence)
        own = held.stop.starts.get(occurrence)
        if stop is None and occurrence == host_of(held.point.activation).base and own is not None:
            stop = held.stop if own.after <= point.keeps else None  # its own step began there
        starts = stop.starts if stop is not None and is_plain else None
        back = way_back(held.point.activation.frame, self._frames, point, starts)
        undone = external_steps(run.plan, counting, back)
        if undone and not external:
            raise ExternalEffects(undone)
        stops = {frame: list(each) for frame, each in self._past.items()}
        edits = list(self._edits)
        self._leave(held, verb, back)
        kept = {each[0] for each in self._edits}
        self._abandoned[held.stop.id] = Abandoned(stops, [each for each in edits if each[0] not in kept])

    def _leave(self, held: Held, verb: str, back: GoBack) -> None:
        """Let the frame go back, and forget what that undoes."""
        counting = self._running().what_counts()
        cut, under = frames_cut(counting, back), counting.under(back.frame)
        busy = self._busy_beside(under) if back.snapshot is not None else []
        if busy:
            raise WorkspaceInUse(busy)
        self._futures = {place: each for place, each in self._futures.items() if each.stop.frame not in under}
        self._arrivals = {point: frame for point, frame in self._arrivals.items() if frame not in under}
        self._arrivals[back.occurrence, back.position] = back.point_frame
        for frame in cut & set(self._past):
            self._past[frame] = [each for each in self._past[frame] if each.after_event < back.after]
        self._forget_remains(cut, back.after)
        again = frames_again(counting.opened, back.frame, back.since)
        taken_back = [each for each in self._edits if each[0] > back.since and each[1] in again]
        for _, _, edit, scope in reversed(taken_back):  # those that still count are made again on the way
            edit.undo(scope)
        self._edits = [each for each in self._edits if each[0] <= back.after or each[1] not in cut]
        self._resume(held, verb, back)
        self._refresh_gate()

    def _busy_beside(self, under: AbstractSet[str]) -> list[str]:
        """The frames, other than these, that may be writing files now."""
        still = under | self._paused_frames() | set(self._waiting)
        return [name for name, frame in self._frames.items() if not frame.is_done and name not in still]
