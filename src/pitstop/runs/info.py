"""Flows and plans as the plain values that doors are told."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pitstop.definition.flow import Flow
from pitstop.events.view import RunView, failed_steps
from pitstop.plan.fix_loops import FIX_LOOP, PROMPT
from pitstop.plan.plan import Plan, Step
from pitstop.runs.flow_info import FlowInfo, InputInfo, StepInfo
from pitstop.runs.run_info import Failure

LONGEST_DETAIL = 200

ConfigOf = Callable[[Step], Mapping[str, Any]]


def tell_flow(flow: Flow, plan: Plan, config_of: ConfigOf = lambda step: step.config) -> FlowInfo:
    """The flow; `config_of` gives the config to tell of a step, which is the written one without it."""
    return FlowInfo(
        name=flow.name,
        file=flow.source.file,
        steps=tuple(tell_steps((*plan.root.children, *plan.root.cleanup), config_of)),
        inputs=tuple(
            InputInfo(name, spec.type, spec.required, spec.default, spec.description)
            for name, spec in flow.inputs.items()
        ),
    )


def tell_failures(view: RunView, plan: Plan | None = None, mask: Callable[[str], str] = str) -> tuple[Failure, ...]:
    """The steps in which the failures of a run began, the one that ended it first.

    A step that failed because of one inside it is none of them, nor is one whose failure the plan does not count.
    """
    ended_it = view.outcome.error.origin if view.outcome is not None and view.outcome.error is not None else ""
    failures = []
    for step in failed_steps(view):
        error = step.outcome.error if step.outcome is not None else None
        if error is None or error.origin not in ("", step.occurrence):
            continue
        if step.occurrence == ended_it or plan is None or not _is_let_pass(plan, step.step):
            failures.append(Failure(step.step, step.occurrence, error.type, mask(error.message)))
    return tuple(sorted(failures, key=lambda failure: failure.occurrence != ended_it))


def _is_let_pass(plan: Plan, path: str) -> bool:
    """Whether the flow goes on although this step, or one around it, has failed."""
    parts = path.partition("+")[0].split(".")
    found = [plan.steps.get(".".join(parts[:count])) for count in range(1, len(parts) + 1)]
    if any(step is not None and step.kind == FIX_LOOP for step in found[:-1]):
        return True  # what fails in a fix loop is what it is there for
    return any(step is not None and (step.continue_on_error or step.on_failure == "next") for step in found)


def tell_steps(
    steps: Iterable[Step], config_of: ConfigOf = lambda step: step.config, parent: str | None = None
) -> Iterator[StepInfo]:
    """The steps and those in them, in source order."""
    for step in steps:
        source = step.source
        detail = detail_of(step.kind, config_of(step))
        yield StepInfo(
            path=step.path,
            kind=step.kind,
            title=_title(step, detail),
            id=step.id,
            parent=parent,
            file=None if source is None else source.file,
            line=None if source is None else source.line,
            column=None if source is None else source.column,
            end_line=None if source is None else source.end_line,
            condition=step.condition,
            is_cleanup=step.is_cleanup,
            detail=detail,
            retries=step.retry.times,
            goes_on_after_failure=step.continue_on_error or step.on_failure == "next",
        )
        yield from tell_steps((*step.children, *step.cleanup), config_of, step.path)


def _title(step: Step, detail: str) -> str:
    if step.name or step.id:
        return step.name or step.id or ""
    return detail if detail and not step.children else step.local


_TOLD = {
    "run": "script",
    "sleep": "duration",
    "check": "expression",
    "http": "url",
    "write": "path",
    "fail": "message",
    "approve": "prompt",
    "agent": "prompt",
    "python": "call",
}  # what a type does is told by this field of its config


def detail_of(kind: str, config: Mapping[str, Any]) -> str:
    """What a step does, in one line: for most types one field of their config."""
    match kind:
        case "matrix":
            axes = config.get("matrix")
            detail = " x ".join(map(str, axes)) if isinstance(axes, Mapping) else str(axes or "")
        case "repeat":
            rules = ((name, config.get(name)) for name in ("until", "times"))
            detail = ", ".join(f"{name} {value}" for name, value in rules if value is not None)
        case "call":
            detail = str(config.get("call", ""))
        case "sequence" | "parallel" | "background" | "conditional" | "graph":
            detail = ""
        case "fix":
            detail = f"at most {config.get('iterations')} iterations"
        case "agent" if config.get("prompt") == PROMPT:
            detail = str(config.get("profile"))
        case "node":
            function = config.get("function")
            detail = str(getattr(function, "__qualname__", None) or type(function).__name__)
        case _:
            detail = str(config.get(_TOLD.get(kind, ""), next(iter(config.values()), "")))
    first, newline, _ = detail.strip().partition("\n")
    return first[:LONGEST_DETAIL] + (" …" if newline or len(first) > LONGEST_DETAIL else "")
