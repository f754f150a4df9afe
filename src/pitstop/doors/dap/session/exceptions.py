"""Which failures stop the run: the filters that a client can switch on, each with a condition if it wants."""

import json
import re
from collections.abc import Mapping

from pitstop.doors.dap.session.places import Places
from pitstop.errors import BadExpression, CommandRefused
from pitstop.service.debugging import Debugger, StopInfo, verbs
from pitstop.service.flows import StepInfo

_CONDITION = 'jq on the error, such as .type == "CommandFailed" or (.message | test("port"))'
_ATTEMPT = re.compile(r"#(\d+)$")

FILTERS = [
    {
        "filter": name,
        "label": label,
        "description": description,
        "default": name == "failed",
        "supportsCondition": True,
        "conditionDescription": _CONDITION,
    }
    for name, label, description in (
        ("failed", "Any failure", "Pause where a step fails, before the failure takes effect"),
        ("uncaught", "Unhandled failures", "Pause where a failure would end the run"),
        ("retry", "Failures that will be retried", "Pause where a step failed and will be retried"),
        ("timeout", "Timeouts", "Pause where a step timed out"),
    )
]
NAMES = tuple(each["filter"] for each in FILTERS)
DEFAULTS = [str(each["filter"]) for each in FILTERS if each["default"]]

Wanted = Mapping[str, str | None]  # the filters that are on, and their conditions


async def is_wanted(stop: StopInfo, wanted: Wanted, places: Places, debugger: Debugger) -> bool:
    """Whether one of the filters wants this failure. A condition that cannot be worked out stops, as that of any
    breakpoint does.
    """
    for name, condition in wanted.items():
        if _fits(name, stop, places) and (condition is None or await _holds(condition, stop, debugger)):
            return True
    return False


def is_handled(stop: StopInfo, places: Places) -> bool:
    """Whether the run goes on after this failure, because the step or one around it is written so."""
    step = places.step(stop.step)
    if step is None:
        return False
    return _has_attempts_left(step, stop.occurrence) or any(
        each.goes_on_after_failure for each in (step, *places.around(step))
    )


def _fits(name: str, stop: StopInfo, places: Places) -> bool:
    step = places.step(stop.step)
    match name:
        case "uncaught":
            return not is_handled(stop, places)
        case "retry":
            return step is not None and _has_attempts_left(step, stop.occurrence)
        case "timeout":
            return stop.outcome is not None and stop.outcome.status == "timed_out"
    return True


def _has_attempts_left(step: StepInfo, occurrence: str) -> bool:
    found = _ATTEMPT.search(occurrence)
    return step.retries >= (int(found[1]) if found is not None else 1)


async def _holds(condition: str, stop: StopInfo, debugger: Debugger) -> bool:
    outcome = stop.outcome
    error = {
        "type": outcome.error_type if outcome is not None else None,
        "message": outcome.error if outcome is not None else None,
        "status": outcome.status if outcome is not None else None,
        "step": stop.step,
    }
    try:
        found = (await debugger.say(verbs.Evaluate(f"{json.dumps(error)} | ({condition})", stop.id))).values
    except BadExpression:
        return True
    except CommandRefused:  # the stop is over
        return False
    return bool(found) and found[0] is not None and found[0] is not False
