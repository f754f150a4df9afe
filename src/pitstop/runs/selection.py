"""Running a part of a flow: from a step on, with what an earlier run had finished, or one step alone."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

from msgspec.structs import replace

from pitstop.errors import BadLog, UnknownStep
from pitstop.events.types import AnyEvent, RunStarted, StepFinished, StepStarted
from pitstop.events.view import fold
from pitstop.plan.plan import Plan, Step
from pitstop.runs.info import tell_failures
from pitstop.steps.step_logs import LOG_TEXT_BYTES, log_text
from pitstop.store.port import KeptRun, RunStore

_KEPT_WHOLE = ("conditional", "graph")  # which of their children runs is decided among all of them


def inputs_in(events: Iterable[AnyEvent]) -> Mapping[str, Any]:
    """The inputs that a run was given."""
    inputs = state_in(events).get("inputs")
    return inputs if isinstance(inputs, Mapping) else {}


def state_in(events: Iterable[AnyEvent]) -> Mapping[str, Any]:
    """The state that the run of a graph began with."""
    return next((event.inputs for event in events if isinstance(event, RunStarted)), {})


def events_before(plan: Plan, events: Sequence[AnyEvent], step: str) -> list[AnyEvent]:
    """The events without those of the step and of what comes after it; UnknownStep, BadLog when it never was come to.

    The step is named by its path, its id, or as one occurrence.
    """
    if not events:
        paths_of(plan, step)
        raise BadLog(f"there is no earlier run of this flow: run it completely before you run it from {step!r}")
    from pitstop.runs.undoing import events_without, occurrences_of

    targets = occurrences_of(events, (), step) or occurrences_of(events, paths_of(plan, step))
    if not targets:
        failures = tell_failures(fold(events))
        where = f"; it failed at {failures[0].step!r}" if failures else ""
        raise BadLog(f"the last run of this flow did not reach {step!r}{where}")
    kept = events_without(plan, events, targets)
    unknown = [event for event in events if isinstance(event, StepStarted | StepFinished) and not _is_in(plan, event)]
    if any(event.occurrence in targets for event in unknown):
        raise UnknownStep(step, plan.nearest(step))
    for event in kept:
        if isinstance(event, StepStarted | StepFinished) and not _is_in(plan, event):
            raise BadLog(f"the log has a step {event.step!r} that {plan.name!r} does not have")
    return kept


async def with_logs(plan: Plan, events: Sequence[AnyEvent], store: RunStore, run: str | None) -> Sequence[AnyEvent]:
    """The events of a run, with the end of each log that this plan reads and the flow of then did not; UnknownRun."""
    if run is None or not any(_lacks_log(event, plan) for event in events):
        return events
    kept = await store.open(run, events=False)
    return [await _with_log(event, kept) if _lacks_log(event, plan) else event for event in events]


async def _with_log(event: StepFinished, kept: KeptRun) -> StepFinished:
    log = log_text(await kept.output_end(event.occurrence, LOG_TEXT_BYTES + 1))
    return replace(event, outcome=replace(event.outcome, log=log or None))


def _lacks_log(event: AnyEvent, plan: Plan) -> TypeGuard[StepFinished]:
    if not isinstance(event, StepFinished) or event.outcome.log is not None:
        return False
    step = plan.steps.get(event.step)
    return step is not None and step.stores_log and not step.children


def _is_in(plan: Plan, event: StepStarted | StepFinished) -> bool:
    """Whether the plan has the step, or the one that it was injected at."""
    return event.step.partition("+")[0] in plan.steps


def paths_of(plan: Plan, step: str) -> list[str]:
    """The paths of a step that is named by path or id; UnknownStep."""
    paths = plan.paths_named(step)
    if not paths:
        raise UnknownStep(step, plan.nearest(step))
    return paths


def only_step(plan: Plan, step: str) -> Plan:
    """The plan with this step, what is in it and what is around it; UnknownStep."""
    paths = paths_of(plan, step)
    kept = {path for path in plan.steps if any(_is_at_or_around(path, wanted) for wanted in paths)}
    return Plan(_narrowed(plan.root, kept, set(paths)), plan.name, plan.limits)


def known_steps(plan: Plan, events: Iterable[AnyEvent]) -> dict[str, Any]:
    """What a finished run knows of its steps, as `.steps` has it."""
    known: dict[str, Any] = {}
    for view in fold(events).steps.values():
        step = plan.steps.get(view.step)
        if view.outcome is None or step is None or step.id is None or _is_called(plan, step):
            continue
        error = view.outcome.error
        known[step.id] = {
            "status": view.outcome.status.value,
            "outputs": view.outcome.outputs or {},
            "error": None if error is None else {"type": error.type, "message": error.message},
            "attempt": 1,
            **({"log": view.outcome.log or ""} if step.is_log_read else {}),
        }
    return known


def _is_at_or_around(path: str, wanted: str) -> bool:
    return path == wanted or wanted.startswith(f"{path}.")


def _narrowed(step: Step, kept: set[str], whole: set[str]) -> Step:
    if step.path in whole or step.kind in _KEPT_WHOLE:
        return step
    beside = step.children[:1] if step.kind == "background" else ()
    children = tuple(_narrowed(child, kept, whole) for child in step.children if child.path in kept)
    cleanup = tuple(_narrowed(child, kept, whole) for child in step.cleanup if child.path in kept)
    return replace(step, children=(*(each for each in beside if each.path not in kept), *children), cleanup=cleanup)


def _is_called(plan: Plan, step: Step) -> bool:
    """Whether it belongs to a flow that is called, which has `.steps` of its own."""
    parent = step.path.rpartition(".")[0]
    while parent:
        if plan.steps[parent].kind == "call":
            return True
        parent = parent.rpartition(".")[0]
    return False
