"""What a person gives at a stop, checked and made into what the engine takes."""

from collections.abc import Callable, Mapping
from typing import Any

from pitstop.engine.frame import RunContext
from pitstop.errors import BadEdit, BadExpression, UnknownStep
from pitstop.events.outcome import Outcome, Status, StepError
from pitstop.plan.paths import parse_path
from pitstop.plan.plan import Step
from pitstop.plan.scope import Path

Injectable = Step | Callable[[dict[str, Any]], Any] | Mapping[str, Any]


def injected_step(run: RunContext, host: Step, number: int, given: Injectable) -> Step:
    """A step to put in beside `host`: a function, a step, or a mapping as in a flow file."""
    path = f"{host.path}+{number}"
    if isinstance(given, Step):
        step = _plain(run, path, host, given.kind, given.config, given.id)
    elif isinstance(given, Mapping):
        step = _written(run, path, host, given) if run.plan_step is None else run.plan_step(given, path, host)
    elif callable(given):
        step = _plain(run, path, host, "node", {"function": given})
    else:
        raise BadEdit(f"cannot inject a {type(given).__name__}: pass a function, or a step as in a flow file")
    for each in step.walk():
        if each.kind == "node" and "function" not in each.config:
            raise UnknownStep(each.kind)
        if each.kind not in run.combining:
            run.step_type(each.kind)  # UnknownStep
    return step


def _written(run: RunContext, path: str, host: Step, given: Mapping[str, Any]) -> Step:
    """A step of a run that has no flow file, and so nothing that reads one."""
    unknown = set(given) - {"uses", "with", "id"}
    if unknown or "uses" not in given:
        raise BadEdit(f"a step to inject has `uses`, `with` and optionally `id`, but this one has {sorted(given)}")
    return _plain(run, path, host, str(given["uses"]), given.get("with", {}), given.get("id"))


def _plain(
    run: RunContext, path: str, host: Step, kind: str, config: Mapping[str, Any], name: str | None = None
) -> Step:
    if kind in run.combining:
        raise BadEdit(f"cannot inject {kind!r}, which only groups other steps: inject a step that does work")
    return Step(path, kind, dict(config), id=name, is_injected=True, is_cleanup=host.is_cleanup)


def path_to_edit(path: str) -> Path:
    """The keys and indexes of a path; BadEdit when it is none."""
    try:
        return parse_path(path)
    except BadExpression as error:
        raise BadEdit(f"invalid path {path!r}: {error.reason}") from error


def outcome_of(status: str, outputs: Any, message: str | None, occurrence: str) -> Outcome:
    """The outcome that a person decides on; BadEdit when there is no such status."""
    try:
        wanted = Status(status)
    except ValueError:
        raise BadEdit(f"invalid outcome {status!r}: use passed, failed or skipped") from None
    if wanted not in (Status.PASSED, Status.FAILED, Status.SKIPPED):
        raise BadEdit(f"cannot force an outcome to {status!r}: use passed, failed or skipped")
    if outputs is not None and not isinstance(outputs, Mapping):
        raise BadEdit(f"outputs must be a dict, not a {type(outputs).__name__}")
    if wanted is not Status.FAILED:
        error = StepError("Skipped", message, occurrence) if wanted is Status.SKIPPED and message else None
        return Outcome(wanted, dict(outputs) if outputs is not None else None, error)
    return Outcome(wanted, outputs, StepError("Forced", message or "marked as failed in the debugger", occurrence))
