"""The state of a fix loop: a fold of its notes, and what must hold of it."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from pitstop.errors import BadLog
from pitstop.events.types import AnyEvent, Resumed, StepDecided, StepFinished, StepNoted, Stopped

START = 0  # the number of the files before the first iteration


class Iteration(Struct):
    """One iteration so far. `commit` has its files, `report_commit` those that the fix began with."""

    number: int
    round: int
    report: str = ""
    root_cause: str = ""
    recommended: str = ""
    report_commit: str = ""
    summary: str = ""
    files: tuple[str, ...] = ()
    lines: int = 0
    touches_tests: tuple[str, ...] = ()
    commit: str = ""
    is_applied: bool = False
    tested: Mapping[str, Any] = field(default_factory=dict)
    verdict: str = ""
    why: str = ""
    retries: list[Mapping[str, Any]] = field(default_factory=list)


class Escalation(Struct):
    """A stop at which the loop gave up. `verb` is the command that ended it, and `decision` what the user chose."""

    reason: str
    why: str
    stop: int | None = None
    decision: StepDecided | None = None
    verb: str | None = None


class FixState(Struct):
    """All that is known of a loop. `occurrence` is the attempt of the step that it is in."""

    occurrence: str = ""
    started: Mapping[str, Any] = field(default_factory=dict)
    started_at: float = 0.0
    tested: Mapping[str, Any] = field(default_factory=dict)  # the files of START
    attempts: dict[int, int] = field(default_factory=dict)  # of the test, by iteration
    triaged: Mapping[str, Any] = field(default_factory=dict)
    iterations: list[Iteration] = field(default_factory=list)
    best: int = START
    best_commit: str = ""
    head: str = ""  # the last commit on the branch
    guidance: list[str] = field(default_factory=list)
    round: int = 1
    escalation: Escalation | None = None
    ended: Mapping[str, Any] | None = None
    cost: float = 0.0

    @property
    def number(self) -> int:
        """The iteration that it is at."""
        return self.iterations[-1].number if self.iterations else START

    @property
    def current(self) -> Iteration:
        return self.iterations[-1]

    @property
    def judged(self) -> list[Iteration]:
        return [each for each in self.iterations if each.verdict]

    @property
    def in_round(self) -> int:
        """How many iterations the round has begun."""
        return sum(each.round == self.round for each in self.iterations)

    @property
    def reports(self) -> list[str]:
        return [each.report for each in self.iterations if each.report]

    def commit_of(self, number: int) -> str | None:
        """The commit with the files after an iteration; that of START has the files before the loop."""
        if number == START:
            return str(self.started.get("base", ""))
        return next((each.commit for each in self.iterations if each.number == number), None) or None

    def tested_at(self, number: int) -> Mapping[str, Any]:
        """What the tests said of the files after an iteration."""
        return next((each.tested for each in self.iterations if each.number == number and each.tested), self.tested)


def fold(events: Iterable[AnyEvent], base: str) -> FixState:
    """The state of the loop of a step; `base` is the address of the step without an attempt. BadLog."""
    state = FixState()
    try:
        for event in events:
            _follow(state, event, base)
    except (AttributeError, KeyError, StopIteration, TypeError) as error:
        raise BadLog(f"the log of the fix loop of {base} is damaged: {error!r}") from error
    return state


def _follow(state: FixState, event: AnyEvent, base: str) -> None:
    at = state.escalation
    if isinstance(event, StepNoted):
        if event.note in _FOLDS and _is_of(event.occurrence, base):
            _FOLDS[event.note](state, event.data)
            if event.note == "fix.started":
                state.occurrence, state.started_at = event.occurrence, event.at
    elif isinstance(event, Stopped):
        if at is not None and "escalated" in event.reasons and _is_of(event.occurrence, base):
            at.stop = event.stop
    elif isinstance(event, StepDecided):
        if at is not None and event.stop == at.stop:
            at.decision = event
    elif isinstance(event, Resumed):
        if at is not None and event.stop == at.stop:
            at.verb = event.verb
    elif isinstance(event, StepFinished) and event.step.endswith(_AGENTS) and _is_inside(event.occurrence, base):
        outputs = event.outcome.outputs if isinstance(event.outcome.outputs, Mapping) else {}
        state.cost += outputs.get("cost") or 0.0


_AGENTS = (".diagnose", ".fix")


def _is_of(occurrence: str, base: str) -> bool:
    """Whether it is an attempt of the step with this address."""
    rest = occurrence.removeprefix(base)
    return occurrence.startswith(base) and (not rest or (rest[0] == "#" and rest[1:].isdigit()))


def _is_inside(occurrence: str, base: str) -> bool:
    return occurrence.startswith(base) and occurrence[len(base) : len(base) + 1] in ("[", "#")


def _started(state: FixState, data: Mapping[str, Any]) -> None:
    state.started, state.triaged, state.ended, state.escalation = data, {}, None, None
    state.best, state.head, state.best_commit = START, data["base"], data["base"]


def _tested(state: FixState, data: Mapping[str, Any]) -> None:
    number = data["n"]
    state.attempts[number] = max(state.attempts.get(number, 1), data["attempt"])
    if data["after"] == "user":
        state.best_commit = state.head = data["commit"]
        state.best = number
    if number == START:
        state.tested = data
    else:
        _of(state, data).tested = data


def _triaged(state: FixState, data: Mapping[str, Any]) -> None:
    state.triaged = data
    state.attempts[START] = max(state.attempts.get(START, 1), data["attempt"])


def _iteration_started(state: FixState, data: Mapping[str, Any]) -> None:
    state.iterations.append(Iteration(data["n"], data["round"]))


def _round_opened(state: FixState, data: Mapping[str, Any]) -> None:
    state.round, state.escalation = data["round"], None
    state.guidance.append(data["guidance"])


def _agent_retried(state: FixState, data: Mapping[str, Any]) -> None:
    _of(state, data).retries.append(data)


def _reported(state: FixState, data: Mapping[str, Any]) -> None:
    at = _of(state, data)
    at.report, at.root_cause, at.recommended = data["path"], data["root_cause"], data["recommended"]
    at.report_commit = state.head = data["commit"]


def _applied(state: FixState, data: Mapping[str, Any]) -> None:
    at = _of(state, data)
    at.files, at.lines, at.summary = tuple(data["files"]), data["lines"], data["summary"]
    at.touches_tests = tuple(data["touches_tests"])
    if data["commit"]:
        state.head = data["commit"]
        at.commit = "" if data["refused"] else data["commit"]
    at.is_applied = True


def _judged(state: FixState, data: Mapping[str, Any]) -> None:
    at = _of(state, data)
    at.verdict, at.why = data["verdict"], data["why"]
    if data["best"] != state.best:
        state.best, state.best_commit = data["best"], state.commit_of(data["best"]) or state.best_commit


def _escalated(state: FixState, data: Mapping[str, Any]) -> None:
    state.escalation = Escalation(data["reason"], data["why"])
    state.head = data["commit"] or state.head


def _rolled_back(state: FixState, data: Mapping[str, Any]) -> None:
    state.best, state.best_commit, state.head = data["to"], state.commit_of(data["to"]) or "", data["commit"]


def _ended(state: FixState, data: Mapping[str, Any]) -> None:
    state.ended = data


def _of(state: FixState, data: Mapping[str, Any]) -> Iteration:
    return next(each for each in reversed(state.iterations) if each.number == data["n"])


_FOLDS = {
    "fix.started": _started,
    "fix.tested": _tested,
    "fix.triaged": _triaged,
    "fix.iteration_started": _iteration_started,
    "fix.round_opened": _round_opened,
    "fix.agent_retried": _agent_retried,
    "fix.reported": _reported,
    "fix.applied": _applied,
    "fix.judged": _judged,
    "fix.escalated": _escalated,
    "fix.rolled_back": _rolled_back,
    "fix.ended": _ended,
}


def wrong_in(state: FixState) -> list[str]:
    """What does not fit together, in sentences; empty for a state that can be trusted."""
    limits = state.started.get("limits", {})
    numbers = [each.number for each in state.iterations]
    wrong: list[str] = []
    if numbers != list(range(1, len(numbers) + 1)):
        wrong.append(f"the iterations are numbered {', '.join(map(str, numbers))}")
    if limits and (len(numbers) > limits["iterations"] * limits["rounds"] or state.round > limits["rounds"]):
        wrong.append(f"iteration {len(numbers)} of round {state.round} is beyond the limit")
    for each in state.iterations[:-1]:
        wrong += [] if each.report else [f"iteration {each.number} has no report"]
        wrong += [] if each.verdict else [f"iteration {each.number} was not judged"]
    if state.best not in (START, *numbers):
        wrong.append(f"the best files are said to be those of iteration {state.best}, which does not exist")
    return wrong
