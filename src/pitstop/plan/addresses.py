"""Addresses of occurrences, such as `deploy#2[1].smoke`: what a plan says about one before it has run."""

import re
from collections.abc import Mapping
from math import prod

from msgspec import Struct

from pitstop.errors import UnknownOccurrence, UnknownStep
from pitstop.plan.expressions import expressions_in
from pitstop.plan.plan import Plan, Step

_SEGMENT = re.compile(r"(?P<name>[^@+#\[\]]+)(?:@(?P<visit>\d+))?(?:#(?P<attempt>\d+))?(?:\[(?P<turn>\d+)\])?")
_TURNING = ("matrix", "repeat", "fix")

TOOL_CALL = "tool_call"  # the kind of the points that calls inside a step are asked about at


class Occurrence(Struct, frozen=True):
    """One execution of a step, as an address names it."""

    path: str
    address: str


def occurrence_in(plan: Plan, text: str) -> Occurrence | None:
    """The occurrence that the text names; None for a text without marks, which names a step.

    UnknownStep, and UnknownOccurrence for marks that do not fit the plan, with those that do.
    """
    if text in plan.steps or not has_marks(text):
        return None
    path, address, around = "", "", plan.root
    segments = [_SEGMENT.fullmatch(part) for part in text.split(".")]
    for segment in segments:
        if segment is None:
            raise UnknownOccurrence(text, "an address has a form like m[1].x, x#2 or node@3")
        path = f"{path}.{segment['name']}" if path else segment["name"]
        step = plan.steps.get(path)
        if step is None:
            raise UnknownStep(path, plan.nearest(path))
        _check_marks(text, step, around, segment, is_last=segment is segments[-1])
        address += f".{_marked(segment)}" if address else _marked(segment)
        around = step
    return Occurrence(path, address)


def is_call(occurrence: str) -> bool:
    """Whether it is the address of a call inside a step, such as `fix/3`, and not of a step injected before it."""
    return "/" in occurrence and "+" not in occurrence


def caller_of(occurrence: str) -> str:
    """The occurrence of the step that makes a call; of any other, itself."""
    return occurrence.partition("/")[0]


def planned_path(path: str) -> str:
    """The step of the plan that a path belongs to: of an injected step, or of a call, the step it is at."""
    return re.split(r"[+/]", path, maxsplit=1)[0]


def has_marks(text: str) -> bool:
    """Whether it can be the address of one occurrence of a step."""
    return any(mark in text for mark in "@#[")


def _check_marks(text: str, step: Step, around: Step, segment: re.Match[str], *, is_last: bool) -> None:
    if segment["visit"] and around.kind != "graph":
        raise UnknownOccurrence(text, f"{step.path} is not a node of a graph, so it has no visits (@)")
    if "0" in (segment["visit"], segment["attempt"]):
        raise UnknownOccurrence(text, "visits (@) and attempts (#) count from 1")
    if segment["turn"] and is_last:
        raise UnknownOccurrence(
            text, f"it names an iteration, not a step; steps in it: {_inside(step, text) or 'none'}"
        )
    if is_last or (step.kind not in _TURNING and not segment["turn"]):
        return
    if step.kind not in _TURNING:
        raise UnknownOccurrence(text, f"{step.path} is not a matrix or a repeat, so it has no iterations ([])")
    turns = _turns_of(step)
    known = "name an iteration, such as" if turns is None else f"it has {turns} iterations:"
    last = "" if turns is None or turns == 1 else f" to {step.path}[{turns - 1}]"
    if not segment["turn"] or (turns is not None and int(segment["turn"]) >= turns):
        raise UnknownOccurrence(text, f"{step.path} runs its steps several times; {known} {step.path}[0]{last}")


def _turns_of(step: Step) -> int | None:
    """How many turns there can be; None if that is known only when it runs."""
    if step.kind == "repeat":
        times = step.config.get("times")
        return times if isinstance(times, int) else None
    axes = step.config.get("matrix")
    if not isinstance(axes, Mapping) or any(True for _ in expressions_in(axes)):
        return None
    return prod(map(len, axes.values()))


def _inside(step: Step, text: str) -> str:
    return ", ".join(f"{text}.{child.local}" for child in step.children)


def _marked(segment: re.Match[str]) -> str:
    """The segment as the engine writes it: the first visit and the first attempt have no marks."""
    visit = f"@{segment['visit']}" if segment["visit"] not in (None, "1") else ""
    attempt = f"#{segment['attempt']}" if segment["attempt"] not in (None, "1") else ""
    turn = f"[{segment['turn']}]" if segment["turn"] else ""
    return f"{segment['name']}{visit}{attempt}{turn}"
