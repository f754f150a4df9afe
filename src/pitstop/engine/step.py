"""The life of one step: asked about, run, asked about again, tried again."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from pitstop.engine.body import Start
from pitstop.engine.frame import Activation, Frame, FrameRewound, Point, RunContext
from pitstop.engine.interruption import failed_by_interrupt, has_ended
from pitstop.engine.verdict import PROCEED, Again, Force, GoBack, Position, Proceed
from pitstop.errors import PitstopError
from pitstop.events.log import EventLog
from pitstop.events.outcome import Outcome, Status, StepError
from pitstop.events.types import StepFinished, StepInterrupted, StepRetried, StepStarted
from pitstop.plan.expressions import render, truth
from pitstop.plan.plan import Step
from pitstop.plan.scope import Edit, Scope

# Writes an outcome into the scope that the following steps see
Apply = Callable[[Scope, Step, Outcome, int], None]


def record_in_steps(scope: Scope, step: Step, outcome: Outcome, attempt: int) -> None:
    """The way of flows: what is known of a step with an id stands under `.steps.<id>`."""
    if step.id is not None:
        error = outcome.error
        known = {
            "status": outcome.status.value,
            "outputs": outcome.outputs if outcome.outputs is not None else {},
            "error": None if error is None else {"type": error.type, "message": error.message},
            "attempt": attempt,
        }
        if step.is_log_read:
            known["log"] = outcome.log or ""
        scope.put(("steps", step.id), known)


async def run_step(
    parent: Activation,
    frame: Frame,
    scope: Scope,
    step: Step,
    base: str,
    apply: Apply,
    again: Again | None = None,
    attempt: int = 1,
) -> Outcome:
    """Run a step to the end of its last attempt. A failure is an outcome; only cancelling and rewinding are raised.

    It begins with this `attempt`; or with the next one, if `again` is what followed from an attempt that ran elsewhere.
    """
    outer = frame.activation
    start = None if parent.run.log is None else _start(frame, scope, parent.run.log)
    config: dict[str, Any] | None = None
    inject_after: tuple[Step, ...] = ()
    home: str | None = None
    try:
        while True:
            if again is not None:
                config, inject_after = again.config, again.inject_after
                attempt += 1
            activation = Activation(parent.run, frame, step, scope, base, parent, attempt)
            home = activation.home
            activation.config = config
            activation.start = start
            frame.activation = activation
            ended = await _attempt(activation, apply, inject_after)
            if isinstance(ended, Outcome):
                return ended
            if ended.delay_seconds and not activation.is_replayed:
                await asyncio.sleep(ended.delay_seconds)
            again = ended
    finally:
        if step.workspace == "fresh" and home is not None:
            await parent.run.leave_fresh(home)
        frame.activation = outer


def _start(frame: Frame, scope: Scope, log: EventLog) -> Start:
    """Where a step begins now; what the log has of it began at the latest where the frame was started again from."""
    after = frame.recorded_since if frame.recorded else len(log)
    return Start(scope.own, scope.own.mark(), after)


async def _attempt(activation: Activation, apply: Apply, inject_after: tuple[Step, ...]) -> Outcome | Again:
    run, step, frame, occurrence = activation.run, activation.step, activation.frame, activation.occurrence
    recorded = frame.recorded
    known = recorded.outcomes.pop(occurrence, None) if recorded else None
    is_combining = step.kind in run.combining
    is_begun = known is not None or (is_combining and occurrence in recorded.started)
    if not is_begun:
        _leave_if_ending(activation)
    if activation.is_replayed and not is_begun:
        raise asyncio.CancelledError  # it never ended; what is around it did, and that is known
    if not is_begun and not step.is_cleanup:
        await frame.leave_if_cancelled_before()
    activation.is_replayed = activation.is_replayed or known is not None
    if not is_begun:
        frame.catch_up()
    was_told = recorded.interrupted.pop(occurrence, None) if recorded else None
    is_interrupted = was_told is not None and not is_begun
    if is_interrupted and not was_told and await has_ended(activation):
        is_begun, is_interrupted, activation.takes_result = True, False, True
    if recorded:
        activation.config = recorded.configs.pop(occurrence, activation.config)
        for edit in recorded.take_edits(occurrence, "before"):
            edit.apply(activation.scope)
        for injected in recorded.take_injected(occurrence, "before"):
            await run_injected(activation, injected, apply)
    forced: Outcome | None = None
    failed: Outcome | None = None
    if is_interrupted:
        if run.log is not None and not was_told:
            run.log.append(StepInterrupted(run.now(), frame.id, step.path, occurrence))
        failed = failed_by_interrupt(activation)
    if failed is None and not is_begun:
        await _wait_if_held(run)
    if failed is None and run.hook is not None and _is_to_ask_before(activation, is_begun, is_interrupted):
        forced, injected_after = await _ask_before(activation, apply, is_begun, is_interrupted)
        inject_after += injected_after
        _leave_if_ending(activation)
    if forced is not None:
        outcome = forced
    elif failed is not None:
        outcome = failed
    elif known is not None and not (is_combining and occurrence in recorded.started):
        outcome = known
    else:
        outcome = await _run(activation, known, is_started=is_begun)
    is_forced = forced is not None or occurrence in recorded.forced
    return await finish_step(
        activation,
        apply,
        outcome,
        is_logged=is_forced or known is not None,
        is_forced=is_forced,
        inject_after=inject_after,
    )


def _is_to_ask_before(activation: Activation, is_begun: bool, is_interrupted: bool) -> bool:
    hook, step = activation.run.hook, activation.step
    if hook is None:
        return False
    if is_begun:
        return hook.returns_to(activation.occurrence, "before")
    return (is_interrupted and step.on_interrupt == "pause") or hook.wants(step, "before")


def _is_ending(activation: Activation) -> bool:
    run = activation.run
    is_aborted = run.ends_at_once or (run.is_aborting and not activation.step.is_cleanup)
    return is_aborted or activation.frame.is_cancelled


def _leave_if_ending(activation: Activation) -> None:
    """Start nothing more in a frame that is to end, although the step before this one took the cancel for its own."""
    if _is_ending(activation):
        raise asyncio.CancelledError


async def _wait_if_held(run: RunContext) -> None:
    """Wait until the run is ended, if it is to begin no further step."""
    if run.holds_steps:
        await asyncio.get_running_loop().create_future()


async def _ask_before(
    activation: Activation, apply: Apply, is_replayed: bool, is_interrupted: bool
) -> tuple[Outcome | None, tuple[Step, ...]]:
    """The outcome that the hook wants in place of running the step, and the steps to run after it."""
    hook = activation.run.hook
    inject_after: tuple[Step, ...] = ()
    is_repeated = False
    while hook is not None:
        verdict = await hook.at(
            Point(
                activation,
                "before",
                will_run=await _would_run(activation),
                is_repeated=is_repeated,
                is_replayed=is_replayed,
                is_interrupted=is_interrupted,
            )
        )
        if isinstance(verdict, Force):
            for injected in verdict.inject:
                await run_injected(activation, injected, apply)
            return verdict.outcome, inject_after + verdict.inject_after
        if isinstance(verdict, GoBack):
            raise FrameRewound(verdict)
        if isinstance(verdict, Again):
            break
        inject_after += verdict.inject_after
        if verdict.config is not None:
            activation.config = verdict.config
        activation.enters_code = verdict.enters_code
        if not verdict.inject:
            break
        for injected in verdict.inject:
            await run_injected(activation, injected, apply)
        await _wait_if_held(activation.run)
        is_repeated = True
    return None, inject_after


async def _would_run(activation: Activation) -> bool:
    """What the step's `if` says now; a broken one runs, and then fails."""
    condition = activation.step.condition
    if condition is None:
        return True
    try:
        return await truth(condition, activation.scope.values(), activation.run.evaluator)
    except PitstopError:
        return True


async def _run(activation: Activation, known: Outcome | None, *, is_started: bool) -> Outcome:
    """Run one attempt. Where its end is `known`, the steps under it are gone through as the log has them."""
    run, step, frame = activation.run, activation.step, activation.frame
    occurrence = activation.occurrence
    if is_started and not activation.takes_result and occurrence in run.elapsed:
        activation.meter.go_on(run.elapsed.pop(occurrence))
    try:
        if step.condition is not None and not is_started:
            values = activation.scope.values()
            if not await truth(step.condition, values, run.evaluator):
                return Outcome(Status.SKIPPED)
        is_combining = step.kind in run.combining
        if run.is_stored and not is_combining and not is_started and _is_to_keep(activation):
            await run.keep_workspace(activation)
        if run.log is not None and not is_started:
            run.log.append(StepStarted(run.now(), frame.id, step.path, occurrence))
        if run.is_stored and not is_combining:
            await run.settle()
        outcome = await _act_until_stopped(activation)
        if is_combining and known is None and _is_ending(activation):
            raise asyncio.CancelledError  # its branches have left by themselves
    except asyncio.CancelledError as cancelled:
        if _is_ending(activation):
            if not activation.is_replayed:
                activation.note_cancelled()
            raise
        if activation.is_replayed and known is None:
            raise
        outcome = run.failed(cancelled, occurrence)  # the step cancelled itself
    except Exception as exception:  # noqa: BLE001 - a failing step is data
        outcome = run.failed(exception, occurrence)
    if known is None and activation.is_replayed:
        raise asyncio.CancelledError  # it was ended before its time, with what is around it
    if known is None and activation.meter.paused_seconds:
        outcome = msgspec.structs.replace(outcome, paused_seconds=activation.meter.paused_seconds)
    if known is None and step.stores_log:
        outcome = msgspec.structs.replace(outcome, log=run.take_log(activation))
    return outcome if known is None else known


def _is_to_keep(activation: Activation) -> bool:
    hook = activation.run.hook
    return activation.step.snapshot or (hook is not None and hook.wants_snapshot(activation.step))


async def _act_until_stopped(activation: Activation) -> Outcome:
    """What comes of the step. If it was stopped, it failed, no matter how it ended."""
    try:
        activation.phase = "acting"
        seconds = activation.step.timeout_seconds
        if activation.stop_reason is not None:
            outcome = Outcome(Status.FAILED)
        elif seconds is None or activation.is_replayed:
            outcome = await _act(activation)
        else:
            outcome = await _act_in_time(activation, seconds)
    except (Exception, asyncio.CancelledError):
        if not _take_stop(activation):
            raise
    else:
        if not _take_stop(activation):
            return outcome
    finally:
        activation.phase = "over"
    return Outcome(Status.FAILED, error=StepError("Stopped", activation.stop_reason or "", activation.occurrence))


def _take_stop(activation: Activation) -> bool:
    """Whether the step was stopped. An end of its frame counts for more."""
    if activation.stop_reason is None:
        return False
    task = asyncio.current_task()
    while activation.stop_cancels and task is not None:
        activation.stop_cancels -= 1
        task.uncancel()
    return not _is_ending(activation)


async def _act_in_time(activation: Activation, seconds: float) -> Outcome:
    limit = activation.meter.limit(seconds)
    try:
        async with limit:
            outcome = await _act(activation)
    except Exception:  # the timeout's own, or what the step made of being cancelled
        if not limit.expired():
            raise
        outcome = Outcome(Status.TIMED_OUT)
    finally:
        activation.meter.unlimit()
    if not limit.expired():
        return outcome
    message = f"timed out after {seconds:g} s"  # also when it came to an end in spite of being cancelled
    return Outcome(Status.TIMED_OUT, error=StepError("Timeout", message, activation.occurrence))


async def _act(activation: Activation) -> Outcome:
    run, step = activation.run, activation.step
    combine = run.combining.get(step.kind)
    config = step.config if activation.config is None else {**step.config, **activation.config}
    if combine is not None:
        return await combine(activation, config)
    if step.is_templated or activation.config is not None:
        config = await render(config, activation.scope.values(), run.evaluator)
    run.acts += 1
    home = activation.home
    step_type = run.step_type(step.kind) if home is None else await run.fresh_step_type(home, step.kind)
    return Outcome(Status.PASSED, await step_type.act(activation, config))


async def finish_step(
    activation: Activation,
    apply: Apply,
    outcome: Outcome,
    *,
    is_logged: bool = False,
    is_forced: bool = False,
    inject_after: tuple[Step, ...] = (),
) -> Outcome | Again:
    """Log the outcome and let it count, after asking whether it does; `Again` when another attempt follows."""
    run, step, occurrence, scope = activation.run, activation.step, activation.occurrence, activation.scope
    recorded = activation.frame.recorded
    mark = scope.own.mark()
    try:
        apply(scope, step, outcome, activation.attempt)
    except Exception as exception:  # noqa: BLE001 - a reducer is the user's code
        outcome = run.failed(exception, occurrence)
    if run.log is not None and not is_logged:
        run.log.append(StepFinished(run.now(), activation.frame.id, step.path, occurrence, outcome))
    position: Position = "error" if outcome.is_failure else "after"
    edits = recorded.take_edits(occurrence, position) if recorded else []
    for edit in edits:
        edit.apply(scope)
    again = Again(tuple(edits)) if activation.is_replayed and occurrence in recorded.retried else None
    verdict = await _ask_after(activation, position, outcome, is_forced=is_forced)
    inject_after += verdict.inject_after
    if isinstance(verdict, Again):
        again = verdict
    elif isinstance(verdict, Force):
        scope.own.rewind(mark)
        outcome = verdict.outcome
        apply(scope, step, outcome, activation.attempt)
        _apply_again(scope, verdict.edits)
        again, is_forced = None, True
    if again is None and outcome.is_failure and not is_forced:
        again = _next_attempt(activation)
    if recorded:
        inject_after += recorded.take_injected(occurrence, "after")
    if again is not None:
        scope.own.rewind(mark)
        _apply_again(scope, again.edits)
        return msgspec.structs.replace(again, inject_after=inject_after)
    for injected in inject_after:
        await run_injected(activation, injected, apply)
    run.done[step.path] = outcome
    return outcome


async def _ask_after(
    activation: Activation, position: Position, outcome: Outcome, *, is_forced: bool
) -> Proceed | Force | Again:
    """What the hook makes of an outcome; it proceeds where it does not want to be asked."""
    run, occurrence, recorded = activation.run, activation.occurrence, activation.frame.recorded
    hook, is_replayed = run.hook, activation.is_replayed
    if is_replayed and occurrence == recorded.unasked:
        is_replayed, recorded.unasked = False, None  # it ended, and then the run's process did
        run.asked_failures.discard(occurrence)
    if hook is None:
        return PROCEED
    if not (hook.returns_to(occurrence, position) if is_replayed else hook.wants(activation.step, position)):
        return PROCEED
    origin = occurrence if outcome.error is None else outcome.error.origin
    is_propagated = origin != occurrence and origin in run.asked_failures  # its own, after going back, is new
    if outcome.is_failure:
        run.asked_failures.add(occurrence)
    verdict = await hook.at(
        Point(
            activation,
            position,
            outcome,
            will_run=is_forced or outcome.status is not Status.SKIPPED,
            is_propagated=is_propagated,
            is_replayed=is_replayed,
        )
    )
    if isinstance(verdict, GoBack):
        raise FrameRewound(verdict)
    return verdict


def _next_attempt(activation: Activation) -> Again | None:
    """The attempt that the step's own retry rule asks for after a failure; it is logged."""
    run, step = activation.run, activation.step
    delay = step.retry.delay_after(activation.attempt)
    if delay is None:
        return None
    if run.log is not None:
        run.log.append(StepRetried(run.now(), activation.frame.id, step.path, activation.occurrence))
    return Again(delay_seconds=delay)


def _apply_again(scope: Scope, edits: Iterable[Edit]) -> None:
    """Edits of the layer that was put back; those of other layers are there still."""
    for edit in edits:
        if scope.layer(edit.layer, str(edit.path[0])) is scope.own:
            edit.apply(scope)


async def run_injected(host: Activation, injected: Step, apply: Apply) -> None:
    """Run a step that a person put in. The hook hears of its failure; the host goes on whatever came of it."""
    address = f"{host.base}{injected.path[len(host.step.path) :]}"
    secrets = tuple(dict.fromkeys((*host.step.secrets, *injected.secrets)))
    injected = msgspec.structs.replace(injected, secrets=secrets)
    await run_step(host.parent or host, host.frame, host.scope, injected, address, apply)
