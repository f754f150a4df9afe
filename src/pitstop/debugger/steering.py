"""Steering a run that is held up: moving it, changing what it will do, and going back."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec.structs import replace

from pitstop.debugger.edits import Injectable, injected_step, outcome_of, path_to_edit
from pitstop.debugger.gatekeeper import Gatekeeper
from pitstop.debugger.remains import PASS
from pitstop.debugger.running_steps import running_steps
from pitstop.debugger.stepping import StepVerb, goal_of
from pitstop.debugger.stops import CHOICES, FrameInfo, Held, Stop
from pitstop.engine.frame import Frame
from pitstop.errors import (
    BadEdit,
    NoPausePending,
    NotAllowed,
    NothingToUndo,
    NotRunning,
    StaleStop,
    StepNotRunning,
    UnknownFrame,
    UnknownStep,
)
from pitstop.events.outcome import Outcome
from pitstop.events.types import (
    Aborted,
    AllContinued,
    ConfigOverridden,
    Detached,
    EditUndone,
    FrameCancelled,
    OutcomeForced,
    PauseAsked,
    PauseCancelled,
    ScopeEdited,
    StepDecided,
    StepInjected,
    StepRetried,
    StepStopped,
    StepUninjected,
)
from pitstop.plan.addresses import occurrence_in
from pitstop.plan.plan import more_of
from pitstop.plan.scope import Edit, Path, plan_edit


class Steering(Gatekeeper):
    """The commands that act on a stop. Each is applied before it returns, or refused whole."""

    @property
    def frames(self) -> list[FrameInfo]:
        """Every frame of the run, in the order they were opened."""
        paused = self._paused_frames()
        return [self._told(frame, paused) for frame in self._frames.values()]

    def _told(self, frame: Frame, paused: set[str]) -> FrameInfo:
        parent = frame.parent.id if frame.parent is not None else None
        if frame.is_done:
            return FrameInfo(frame.id, frame.name, parent, "done")
        state = "paused" if frame.id in paused else "pausing" if frame.id in self._pausing else "running"
        at = frame.activation
        if at is None or not at.step.path:
            return FrameInfo(frame.id, frame.name, parent, state)
        return FrameInfo(frame.id, frame.name, parent, state, at.step.path, at.occurrence)

    def _paused_frames(self) -> set[str]:
        """Those that are stopped, or will be as soon as they are again where they were stopped."""
        returning = {left.event.frame for left in self._returning.values()}
        return returning | {held.stop.frame for held in self._held.values()}

    @property
    def stops(self) -> list[Stop]:
        """The current stops, in the order they came."""
        return [held.stop for held in self._waiting_for_word()]

    def _waiting_for_word(self) -> list[Held]:
        return [held for held in self._held.values() if not held.verdict.done()]

    @property
    def is_attended(self) -> bool:
        """Whether a command or a question has named a current stop."""
        return any(held.is_attended for held in self._held.values())

    @property
    def is_timed_out(self) -> bool:
        """Whether the lease of the last stop expired."""
        return self._last_timed_out == self._last_stop > 0

    @property
    def is_ended(self) -> bool:
        """Whether the run has ended."""
        return self._is_ended

    async def next_stop(self) -> Stop | None:
        """Wait for the next stop. Each is returned once; None means that the run has ended."""
        while True:
            while self._unseen:
                stop = self._unseen.popleft()
                if stop.id in self._held and not self._held[stop.id].verdict.done():
                    return stop
            if self._is_ended:
                return None
            self._news.clear()
            await self._news.wait()

    async def wait_restored(self) -> None:
        """Wait until each stop of the previous process is back or has ended."""
        while not self._is_ended and (self._returning or not self._is_started):
            self._news.clear()
            await self._news.wait()

    def _at(self, stop: Stop | int, verb: str) -> Held:
        """The stop, if it lasts and allows the verb."""
        self._running()
        number = stop if isinstance(stop, int) else stop.id
        held = self._held.get(number)
        if held is None and any(left.event.stop == number for left in self._returning.values()):
            raise NotAllowed(verb, number, "its frame is still being rewound to it; try again in a moment")
        if held is None or held.verdict.done():  # done: its branch was cancelled just now
            raise StaleStop(number)
        if verb not in held.stop.allowed:
            where = f"{held.stop.position} {held.stop.step or 'the end of the run'}"
            raise NotAllowed(verb, number, f"{where} allows {', '.join(held.stop.allowed)}")
        held.is_attended = True
        return held

    async def decide(self, stop: Stop | int, choice: str, text: str = "") -> None:
        """Say how a step that gave up continues. After `take_over` the frame stays paused until you resume it."""
        held = self._at(stop, "decide")
        if choice not in CHOICES:
            raise BadEdit(f"there is no choice {choice!r}: use {', '.join(CHOICES)}")
        told = held.stop
        where = (told.frame, told.step, told.occurrence, told.id)
        self._append(StepDecided(self._running().now(), *where, choice, text.strip()))
        if choice != "take_over":
            self._resume(held, "decide", held.proceed())

    # Moving

    async def continue_(self, stop: Stop | int, *, keeps_step: bool = False) -> None:
        """Resume this frame. Other frames are not affected.

        With `keeps_step`, a step command that this stop ended is pending again, as if the frame had not stopped.
        """
        held = self._at(stop, "continue")
        if keeps_step:
            self._goals += held.ended
            self._refresh_gate()
        self._resume(held, PASS if keeps_step else "continue", held.proceed())

    async def continue_all(self) -> None:
        """Resume every frame, and drop pending pauses and step commands."""
        run = self._running()
        self._goals.clear()
        self._pausing.clear()
        self._append(AllContinued(run.now()))
        for held in self._waiting_for_word():
            self._resume(held, "continue", held.proceed())
        self._let_returning_go("continue")
        self._refresh_gate()

    def _let_returning_go(self, verb: str) -> None:
        for left in self._returning.values():  # they go on as soon as they are there, with what was changed
            left.verb = verb

    async def step_into(self, stop: Stop | int, *, code: bool = False) -> None:
        """Run to the next step, which may be inside this one.

        With `code`, a Python function that the step calls waits at its first line for a Python debugger.
        """
        self._step(stop, "into", enters_code=code)

    async def step_over(self, stop: Stop | int) -> None:
        """Run this step, and stop at the next one."""
        self._step(stop, "over")

    async def step_out(self, stop: Stop | int) -> None:
        """Run until the enclosing step is done, and stop after it."""
        self._step(stop, "out")

    async def run_to(self, stop: Stop | int, step: str) -> None:
        """Run until any frame reaches the given step, or the occurrence with the given address."""
        self._at(stop, "run_to")
        plan = self._running().plan
        occurrence = occurrence_in(plan, step)
        targets = plan.paths_named(step) if occurrence is None else [occurrence.address]
        if not targets:
            raise UnknownStep(step, plan.nearest(step))
        self._step(stop, "to", tuple(targets))

    def _step(
        self, stop: Stop | int, verb: StepVerb, targets: tuple[str, ...] = (), *, enters_code: bool = False
    ) -> None:
        held = self._at(stop, "run_to" if verb == "to" else f"step_{verb}")
        activation = held.point.activation
        parent = activation.parent.base if activation.parent is not None else None
        goal = goal_of(verb, activation.frame.id, activation.base, parent, targets)
        verdict = replace(held.proceed(), enters_code=enters_code)
        self._resume(held, "run_to" if verb == "to" else f"step_{verb}", verdict, goal)

    async def pause(self, frame: str | None = None) -> None:
        """Stop a frame, or every frame, at its next point."""
        run = self._running()
        if frame is not None and frame not in self._frames:
            raise UnknownFrame(frame)
        if self._is_detached:
            raise NotRunning
        paused = self._paused_frames()
        wanted = self._frames if frame is None else (frame,)
        self._pausing |= {name for name in wanted if name not in paused and not self._frames[name].is_done}
        if frame is None:
            going_on = {name for name, state in self._reopening.items() if state in ("running", "pausing")}
            self._pausing |= going_on - paused
        self._append(PauseAsked(run.now(), frame))
        self._refresh_gate()

    async def cancel_pause(self, frame: str | None = None) -> None:
        """Cancel a pending pause, of a frame or of every frame."""
        run = self._running()
        if frame is not None and frame not in self._frames:
            raise UnknownFrame(frame)
        pending = self._pausing & ({frame} if frame is not None else self._pausing)
        if not pending:
            raise NoPausePending(frame)
        self._pausing -= pending
        self._append(PauseCancelled(run.now(), frame))
        self._refresh_gate()

    async def stop_step(self, step: str, reason: str = "stopped by the user") -> None:
        """Stop a running step, or those that run inside it: each fails, and its frame pauses there.

        Another call for the same step gives its command no time to clean up.
        """
        run = self._running()
        if self._is_detached:
            raise NotRunning
        paused = self._paused_frames()
        found = [each for each in running_steps(run, step) if each.phase != "over" and each.frame.id not in paused]
        if not found:
            raise StepNotRunning(step, ())
        for activation in found:
            where = (activation.frame.id, activation.step.path, activation.occurrence)
            self._append(StepStopped(run.now(), *where, reason))
            self._stopped_steps.add(activation.occurrence)
            activation.stop(reason)

    async def cancel_frame(self, frame: str, reason: str = "cancelled by the user") -> None:
        """Cancel a branch. What happens to its siblings is up to the flow."""
        run = self._running()
        found = self._frames.get(frame)
        if found is None or found.parent is None:  # the main one is the run: abort that
            raise UnknownFrame(frame)
        is_held = any(found in self._frames[held.stop.frame].lineage() for held in self._held.values())
        if found.is_replaying and not is_held:
            raise UnknownFrame(frame, "it is still being rewound; try again in a moment")
        if not found.is_done:
            self._append(FrameCancelled(run.now(), frame, reason))
            found.cancel(reason)

    async def detach(self) -> None:
        """Resume every frame, and never stop one again."""
        run = self._running()
        self._is_detached = True
        self._goals.clear()
        self._pausing.clear()
        self._arrivals.clear()
        self._is_entry_due = False
        self._append(Detached(run.now()))
        for held in self._waiting_for_word():
            self._resume(held, "detach", held.proceed())
        self._let_returning_go("detach")
        self._refresh_gate()

    async def abort(self, reason: str = "cancelled by the user") -> None:
        """Cancel every frame, then run cleanup. A second call cancels the cleanup too."""
        run = self._running()
        self._is_aborted = True
        self._goals.clear()
        self._pausing.clear()
        self._append(Aborted(run.now(), reason))
        self._refresh_gate()
        run.abort(reason)

    # Changing

    async def skip(
        self,
        stop: Stop | int,
        outputs: Mapping[str, Any] | None = None,
        *,
        message: str | None = None,
        pauses: bool = False,
    ) -> None:
        """Skip the step: its outcome is `skipped`, with these outputs. A tool call is refused, with this message.

        With `pauses`, the frame stops again at its next point.
        """
        held = self._at(stop, "skip")
        self._force(held, "skip", outcome_of("skipped", outputs, message, held.stop.occurrence))
        if pauses:
            await self.pause(held.stop.frame)

    async def force(
        self,
        stop: Stop | int,
        status: str,
        outputs: Mapping[str, Any] | None = None,
        message: str | None = None,
        *,
        pauses: bool = False,
    ) -> None:
        """Decide the step's outcome: `passed`, `failed` or `skipped`. `pauses` works as in `skip`."""
        held = self._at(stop, "force")
        self._force(held, "force", outcome_of(status, outputs, message, held.stop.occurrence))
        if pauses:
            await self.pause(held.stop.frame)

    def _force(self, held: Held, verb: str, outcome: Outcome) -> None:
        stop = held.stop
        where = (stop.id, stop.frame, stop.step, stop.occurrence)
        self._append(OutcomeForced(self._running().now(), *where, verb, outcome))
        self._resume(held, verb, held.force(outcome))

    async def retry(self, stop: Stop | int) -> None:
        """Run the step again as its next attempt, with the edits made at this stop."""
        held = self._at(stop, "retry")
        where = (held.stop.frame, held.stop.step, held.stop.occurrence)
        self._append(StepRetried(self._running().now(), *where, by_hand=True))
        self._resume(held, "retry", held.again())

    async def inject(self, stop: Stop | int, step: Injectable, position: Literal["before", "after"] = "before") -> str:
        """Inject a step that runs once, before or after this one. Returns its path."""
        held = self._at(stop, "inject")
        if position == "before" and position not in held.stop.positions:
            raise NotAllowed("inject", held.stop.id, "the step has already run; inject after it, or retry it")
        if position == "after" and held.stop.is_call:
            raise NotAllowed("inject", held.stop.id, "a step can only be injected before a tool call")
        if position not in ("before", "after"):
            raise BadEdit(f"invalid position {position!r}: use before or after")
        run, host = self._running(), held.point.activation
        injected = injected_step(run, host.step, self._last_injected + 1, step)
        self._last_injected += 1  # not for one that was refused: after a restart they are counted in the log
        (held.inject_before if position == "before" else held.inject_after).append(injected)
        where = (held.stop.id, held.stop.frame, held.stop.occurrence, position)
        path, kind, config = injected.path, injected.kind, dict(injected.config)
        self._append(StepInjected(run.now(), *where, path, kind, config, injected.id, more_of(injected)))
        return path

    async def uninject(self, stop: Stop | int, step: str) -> None:
        """Remove a step that was injected at this stop and has not run, by its path."""
        held = self._at(stop, "inject")
        for position, steps in (("before", held.inject_before), ("after", held.inject_after)):
            found = next((each for each in steps if each.path == step), None)
            if found is not None:
                steps.remove(found)
                where = (held.stop.id, held.stop.frame, held.stop.occurrence, position, step)
                self._append(StepUninjected(self._running().now(), *where))
                return
        waiting = ", ".join(each.path for each in (*held.inject_before, *held.inject_after))
        raise BadEdit(f"no injected step {step!r} waits at stop {held.stop.id}; waiting: {waiting or 'none'}")

    async def set(self, stop: Stop | int, path: str, value: Any, *, layer: str | None = None) -> None:
        """Set the value at a path, in the layer that holds it now or in the one you name."""
        self._edit(self._at(stop, "set"), path_to_edit(path), value, layer, removes=False)

    async def unset(self, stop: Stop | int, path: str, *, layer: str | None = None) -> None:
        """Remove the value at a path."""
        self._edit(self._at(stop, "unset"), path_to_edit(path), None, layer, removes=True)

    def _edit(self, held: Held, path: Path, value: Any, layer: str | None, *, removes: bool) -> None:
        scope = held.point.activation.scope
        edit = plan_edit(scope, path, value, layer=layer, removes=removes)
        edit.apply(scope)
        held.edits.append(edit)
        held.done.append(edit)
        held.stop.scope = scope.snapshot()
        stop = held.stop
        where = (stop.id, stop.frame, stop.step, stop.occurrence, stop.position)
        self._append(ScopeEdited(self._running().now(), *where, edit.layer, edit.path, value, removes))
        self._edits.append((len(self.log), stop.frame, edit, scope))

    async def undo(self, stop: Stop | int) -> None:
        """Undo the last edit made at this stop, to the scope or to the step's config."""
        held = self._at(stop, "undo")
        if not held.done:
            raise NothingToUndo(held.stop.id)
        last = held.done.pop()
        if not isinstance(last, Edit):
            held.config = last
            self._tell_config(held, undoes=True)
            return
        scope = held.point.activation.scope
        held.edits.remove(last)
        self._edits = [each for each in self._edits if each[2] is not last]
        last.undo(scope)
        held.stop.scope = scope.snapshot()
        where = (held.stop.id, held.stop.frame, held.stop.occurrence, held.stop.position)
        self._append(EditUndone(self._running().now(), *where))

    async def override_config(self, stop: Stop | int, config: Mapping[str, Any]) -> None:
        """Replace keys of the step's config for its next attempt here. An empty mapping restores the original."""
        held = self._at(stop, "config")
        if not isinstance(config, Mapping):
            raise BadEdit(f"a config must be a mapping, not a {type(config).__name__}")
        self._override_config(held, config)

    def _override_config(self, held: Held, config: Mapping[str, Any]) -> None:
        held.done.append(held.config)
        held.config = {**(held.config or {}), **config} if config else None
        self._tell_config(held)

    def _tell_config(self, held: Held, *, undoes: bool = False) -> None:
        told, activation = held.stop, held.point.activation
        is_next = told.position != "before"  # then it is for the attempt that a retry makes
        occurrence = f"{activation.base}#{activation.attempt + 1}" if is_next else told.occurrence
        where = (told.id, told.frame, told.step, occurrence)
        self._append(ConfigOverridden(self._running().now(), *where, held.config or {}, undoes))
