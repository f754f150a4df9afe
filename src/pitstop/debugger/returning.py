"""A session in the place of one whose process is gone: its stops come back, and what was changed there is pending."""

import asyncio
from collections.abc import Sequence

from pitstop.debugger.holding import Holding
from pitstop.debugger.matching import take_watched
from pitstop.debugger.remains import Remains, Remembered
from pitstop.debugger.stepping import Goal
from pitstop.debugger.stops import Held, describe
from pitstop.engine.frame import Point, RunContext
from pitstop.engine.recover import Recorded
from pitstop.engine.verdict import Verdict
from pitstop.errors import BadEdit
from pitstop.events.types import Resumed, StopEnded
from pitstop.plan.scope import Edit, plan_edit

LEASE_AFTER_RESTART_SECONDS = 300.0  # at least: whoever attends to a stop has to find it again


class Returning(Holding):
    """Becomes what another session was, as the run comes again to where it was."""

    def _take_up(self, run: RunContext, remains: Remains) -> None:
        view, options = remains.view, remains.options
        self.stop_at_entry, self.stop_at_end = options.stop_at_entry, options.stop_at_end
        self.lease_seconds, self.on_lease_end = options.lease_seconds, options.on_lease_end  # type: ignore[assignment]
        self.snapshots = options.snapshots
        if self._default is not None and self._default in self._breakpoints:
            self._breakpoints.remove(self._default.id)  # whether there is one is for the log to say
        self._breakpoints.take_up(view.breakpoints.values(), remains.told)
        self._breakpoints.is_muted = self._breakpoints.is_muted or view.is_muted
        self.watches = tuple(dict.fromkeys((*view.watches, *self.watches)))
        self._is_detached = view.is_detached
        self._is_entry_due = self.stop_at_entry and not remains.is_entered and not view.is_detached
        self._reopening = {frame.id: frame.own_state for frame in (*view.frames_before.values(), *view.frames.values())}
        self._pausing = {name for name, state in self._reopening.items() if state == "pausing"}
        self._goals, self._arrivals = remains.goals, remains.arrivals
        self._passed = {place: frame for place, (frame, _) in remains.passed.items()}
        self._begun = {place: frame for place, (frame, _) in remains.begun.items()}
        self._forked = remains.known_frames
        run.asked_failures |= remains.failures
        self._returning = {stop.place: stop for stop in remains.lasting.values()}
        for stop in remains.past if not view.is_detached else ():
            self._revisits.setdefault(stop.place, []).append(stop)

    def _go_on(self, run: RunContext, remains: Remains) -> None:
        """End the stops to which something was said; let the others come back, with what was changed there."""
        for left in remains.lasting.values():
            event = left.event
            if left.verb is not None:
                del self._returning[left.place]
                self._append(Resumed(run.now(), event.stop, event.frame, left.verb))
                self._passed[left.place] = event.frame
                if left.verb == "goto":  # how far is not known: to the next step
                    self._goals.append(Goal("over", event.frame, None, None))
                self._revisits.setdefault(left.place, []).append(left)
            elif event.frame in run.recordings:
                take_out(left, run.recordings[event.frame])
        for left in list(self._returning.values()):
            around = (run.recordings[name] for name in remains.lineage(left.event.frame) if name in run.recordings)
            reason = next((each.cancelled for each in around if each.cancelled is not None), None)
            if reason is not None:
                self._end_returning([left], reason)
        if remains.aborts:
            self._is_aborted = True
            self._end_returning(list(self._returning.values()), remains.abort_reason)
            for _ in range(min(remains.aborts, 2)):
                run.abort(remains.abort_reason)

    def _end_returning(self, stops: Sequence[Remembered], reason: str) -> None:
        for left in stops:
            del self._returning[left.place]
            self._append(StopEnded(self._running().now(), left.event.stop, left.event.frame, reason))
        self._news.set()

    def _forget_remains(self, cut: set[str], after: int) -> None:
        """Do not come back to what going back undoes."""
        for place, stops in list(self._revisits.items()):
            self._revisits[place] = [each for each in stops if each.event.frame not in cut or each.number < after]
        self._passed = {place: frame for place, frame in self._passed.items() if frame not in cut}
        self._begun = {place: frame for place, frame in self._begun.items() if frame not in cut}
        if self._remains is not None:
            self._remains.counted.clear()

    async def _hold_again(self, point: Point, left: Remembered) -> Verdict:
        """Be at a stop of the process before this one again, with what was changed there, and nothing told anew."""
        run, event, loop = self._running(), left.event, asyncio.get_running_loop()
        stop = describe(point, event, left.number)
        held = Held(stop, point, loop.create_future(), began_at=loop.time(), ended=left.ended)
        self._edits += [(number, stop.frame, edit, point.activation.scope) for number, edit in pending_at(left, held)]
        del self._returning[left.place]
        if left.verb is not None:
            self._past.setdefault(stop.frame, []).append(stop)
            stop.is_over = True
            self._append(Resumed(run.now(), stop.id, stop.frame, left.verb))
            self._news.set()
            return held.proceed()
        return await self._keep(held, left.lease_ends_at - run.now(), LEASE_AFTER_RESTART_SECONDS)

    async def _revisit(self, point: Point) -> None:
        """Remember a stop of the process before this one, now that its scope is there to be compared with."""
        for left in self._revisits.pop((point.activation.occurrence, point.position), ()):
            stop = describe(point, left.event, left.number)
            stop.is_over = True
            self._past.setdefault(left.event.frame, []).append(stop)
            await take_watched(self._breakpoints.watching, point.activation, self._watched)


def take_out(left: Remembered, recorded: Recorded) -> None:
    """Keep the engine from making by itself what was changed at a stop that lasts: its frame has not gone on."""
    edits = recorded.edits.get(left.place, [])
    del edits[len(edits) - len(left.edits) :]
    if left.config_of is not None:
        recorded.configs.pop(left.config_of, None)
        if left.config_before:
            recorded.configs[left.config_of] = left.config_before
    for position in ("before", "after"):
        steps = recorded.injected.get((left.event.occurrence, position), [])
        left.steps[position] = [step for step in steps if step.path in left.injected]
        steps[:] = [step for step in steps if step.path not in left.injected]


def pending_at(left: Remembered, held: Held) -> list[tuple[int, Edit]]:
    """Make the changes of the stop again; gives the edits of its scope with their numbers in the log."""
    scope = held.point.activation.scope
    edits: list[tuple[int, Edit]] = []
    for each in left.done:
        if not isinstance(each, tuple):
            held.done.append(each)
            continue
        number, event = each
        try:
            edit = plan_edit(scope, event.path, event.value, layer=event.layer, removes=event.removes)
        except BadEdit as error:  # the values that the run began with are others now
            held.stop.problems = (*held.stop.problems, f"could not reapply an edit: {error}")
            continue
        edit.apply(scope)
        held.edits.append(edit)
        held.done.append(edit)
        edits.append((number, edit))
    held.config = left.config
    held.inject_before += left.steps.get("before", ())
    held.inject_after += left.steps.get("after", ())
    held.stop.scope = scope.snapshot()
    return edits
