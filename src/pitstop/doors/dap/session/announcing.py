"""How a stop is told: why it is one, in the words of the protocol and in those of people."""

from collections.abc import Sequence

from pitstop.doors.dap.session.breakpoint_book import Mark
from pitstop.service.debugging import StopInfo

# What has to be told, and not only to be seen by whoever looks.
TELLING = frozenset(("breakpoint", "failure", "completed", "escalated"))


def has_news(stop: StopInfo) -> bool:
    """Whether somebody would miss something if it were passed over. The end of a step in another branch is none."""
    return not TELLING.isdisjoint(stop.reasons)


def is_only_paused(stop: StopInfo) -> bool:
    return set(stop.reasons) == {"pause"}


def reason_of(stop: StopInfo, hit: Sequence[Mark], expected: str | None) -> str:
    """One of the protocol's words. `expected` is that of the command that has led here."""
    if "failure" in stop.reasons:
        return "exception"
    if "entry" in stop.reasons:
        return "entry"
    if "breakpoint" in stop.reasons and (hit or expected is None):
        kinds = {mark.kind for mark in hit}
        return (
            "data breakpoint" if kinds == {"data"} else "function breakpoint" if kinds == {"function"} else "breakpoint"
        )
    return expected or ("step" if "step" in stop.reasons else "pause")


def description_of(stop: StopInfo) -> str:
    name = stop.occurrence or "the run"
    if "completed" in stop.reasons:
        return "Paused at the end of the run"
    if "escalated" in stop.reasons:
        return f"Step {name} gave up and needs you: `decide` in the console"
    if stop.position == "error":
        return f"Step {name} failed"
    skipped = "" if stop.will_run else ", which will be skipped"
    text = f"Paused {stop.position} step {name}{skipped}"
    return f"{text}; {'; '.join(stop.problems)}" if stop.problems else text


def text_of(stop: StopInfo) -> str | None:
    """The message of the failure, which some clients show on its own."""
    if stop.outcome is None or stop.outcome.error_type is None:
        return None
    return f"{stop.outcome.error_type}: {stop.outcome.error}" if stop.outcome.error else stop.outcome.error_type
