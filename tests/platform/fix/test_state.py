"""The state of a fix loop as a fold: what holds after every event, and what is noticed when it does not hold."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.errors import BadLog
from pitstop.events.types import AnyEvent, Resumed, StepDecided, StepNoted, Stopped
from pitstop.platform.fix.judging import WITHOUT_FILES
from pitstop.platform.fix.state import START, fold, wrong_in

LIMITS: dict[str, Any] = {"iterations": 3, "rounds": 3, "retries": 2, "seconds": 60, "cost": None, "lines": 400}
JUDGED = ("progress", "moved", "mixed", "same", "worse", "oscillating", *WITHOUT_FILES)


def noted(name: str, occurrence: str = "tests", **data: Any) -> StepNoted:
    return StepNoted(1.0, "main", occurrence, f"fix.{name}", data)


def said(number: int, after: str = "fix", commit: str = "") -> StepNoted:
    told: dict[str, Any] = {
        "details": [],
        "total": 1,
        "ran": None,
        "reader": "junit",
        "occurrence": f"tests[{number}].test",
    }
    return noted("tested", n=number, after=after, commit=commit, attempt=1, passed=False, failures=["f"], **told)


def beginning() -> list[AnyEvent]:
    return [
        noted("started", topic="t", command="make test", base="c0", branch="fix/r", in_place=False, limits=LIMITS),
        said(START, "start"),
        noted("triaged", verdict="failing", evidence=[], attempt=2, flaky=[], pre_existing=[]),
    ]


def iteration(number: int, round_number: int, verdict: str, best: int, retries: int) -> list[AnyEvent]:
    """All that is noted of an iteration."""
    events: list[AnyEvent] = [noted("iteration_started", n=number, round=round_number)]
    events += [noted("agent_retried", n=number, role="diagnose", why="late") for _ in range(retries)]
    told: dict[str, Any] = {"root_cause": "", "options": 2, "recommended": "", "verdict": "", "why": ""}
    events.append(noted("reported", n=number, path=f"debug/t/{number}.md", status="open", commit=f"r{number}", **told))
    if verdict != "no_diagnosis":
        applied: dict[str, Any] = {
            "files": ["a"],
            "lines": 1,
            "verdict": "",
            "why": "",
            "touches_tests": [],
            "summary": "",
            "refused": verdict == "refused",
        }
        commit = None if verdict in ("no_fix", "no_change") else f"c{number}"
        events.append(noted("applied", n=number, commit=commit, **applied))
    if verdict not in WITHOUT_FILES:
        events.append(said(number))
    events.append(noted("judged", n=number, verdict=verdict, gone=[], new=[], best=best, why=""))
    return events


def escalation(stop: int, choice: str, text: str = "") -> list[AnyEvent]:
    where = ("main", "tests", "tests")
    return [
        noted("escalated", reason="limit", why="", message="", commit="e1"),
        Stopped(1.0, stop, *where, "error", ("escalated",)),
        StepDecided(1.0, *where, stop, choice, text),
        Resumed(1.0, stop, "main", "decide"),
    ]


@st.composite
def loops(draw: st.DrawFn) -> list[AnyEvent]:
    """The events of a loop that keeps its rules, up to its third round."""
    events, number, best = beginning(), 0, START
    for round_number in range(1, draw(st.integers(1, 3)) + 1):
        if round_number > 1:
            events += escalation(round_number - 1, "guide", "look there")
            events.append(noted("round_opened", round=round_number, guidance="look there"))
        for _ in range(draw(st.integers(1, 3))):
            number += 1
            verdict = draw(st.sampled_from(JUDGED))
            if verdict not in WITHOUT_FILES and draw(st.booleans()):
                best = number
            events += iteration(number, round_number, verdict, best, draw(st.integers(0, 2)))
    return events


@given(loops())
def test_after_every_event_the_counter_is_within_its_limit_and_only_grows(events: list[AnyEvent]) -> None:
    before = 0
    for end in range(len(events) + 1):
        state = fold(events[:end], "tests")
        assert before <= state.number <= before + 1
        assert state.number <= LIMITS["iterations"] * LIMITS["rounds"]
        assert state.in_round <= LIMITS["iterations"]
        assert len(state.reports) in (state.number, state.number - 1)
        assert len(state.judged) in (state.number, state.number - 1)
        assert wrong_in(state) == []
        before = state.number


@given(loops())
def test_the_best_files_are_those_that_the_last_verdict_names(events: list[AnyEvent]) -> None:
    state = fold(events, "tests")

    last = next(event for event in reversed(events) if isinstance(event, StepNoted) and event.note == "fix.judged")
    assert state.best == last.data["best"]
    assert state.best_commit == (f"c{state.best}" if state.best else "c0")


@given(loops(), st.data())
def test_events_of_other_steps_and_unknown_notes_change_nothing(events: list[AnyEvent], data: st.DataObject) -> None:
    others: list[AnyEvent] = [
        noted("started", occurrence="tests2", topic="x"),
        noted("judged", occurrence="tests.inner", n=1),
        noted("something_new", anything=1),
    ]
    at = data.draw(st.integers(0, len(events)))

    assert fold([*events[:at], *others, *events[at:]], "tests") == fold(events, "tests")


@given(loops(), st.data())
def test_an_iteration_that_is_told_twice_or_is_missing_is_noticed(events: list[AnyEvent], data: st.DataObject) -> None:
    starts = [index for index, event in enumerate(events) if _is(event, "iteration_started")]
    at = data.draw(st.sampled_from(starts))

    assert wrong_in(fold([*events, events[at]], "tests"))
    if len(starts) > 1 and at != starts[-1]:
        without = [event for index, event in enumerate(events) if not starts[0] <= index < starts[1]]
        assert wrong_in(fold(without, "tests"))


@pytest.mark.parametrize("name", ["reported", "judged"])
def test_a_past_iteration_without_its_report_or_verdict_is_noticed(name: str) -> None:
    events = [*beginning(), *iteration(1, 1, "same", 1, 0), *iteration(2, 1, "same", 2, 0)]
    events.remove(next(event for event in events if _is(event, name)))

    assert wrong_in(fold(events, "tests"))


def test_more_iterations_than_the_limit_are_noticed() -> None:
    events = beginning()
    for number in range(1, 11):
        events += iteration(number, 1, "same", number, 0)

    assert "beyond the limit" in wrong_in(fold(events, "tests"))[0]


@pytest.mark.parametrize("data", [{}, {"n": 7}, {"n": "one", "verdict": "same"}])
def test_damaged_notes_are_a_bad_log(data: dict[str, Any]) -> None:
    with pytest.raises(BadLog, match="fix loop of tests is damaged"):
        fold([*beginning(), noted("judged", **data)], "tests")


def test_a_second_attempt_of_the_step_does_not_reset_the_counter() -> None:
    events = [*beginning(), *iteration(1, 1, "same", 1, 0), noted("ended", outcome="escalated", why="")]
    again: dict[str, Any] = {"topic": "t", "command": "make test", "base": "d0", "branch": "fix/r", "in_place": False}

    state = fold([*events, noted("started", occurrence="tests#2", limits=LIMITS, **again)], "tests")

    assert (state.number, state.in_round, state.ended) == (1, 1, None)
    assert (state.best, state.best_commit, state.occurrence) == (START, "d0", "tests#2")


def test_what_a_user_chose_is_known_until_the_next_escalation() -> None:
    state = fold([*beginning(), *escalation(4, "skip", "known")], "tests")

    assert state.escalation is not None
    assert state.escalation.decision is not None
    assert (state.escalation.decision.choice, state.escalation.verb) == ("skip", "decide")


def _is(event: AnyEvent, name: str) -> bool:
    return isinstance(event, StepNoted) and event.note == f"fix.{name}"
