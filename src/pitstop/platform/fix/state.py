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
    failure: str = ""  # the verdict of an iteration that needs no tests
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
    is_rolled_back: bool = False


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
        if event.note.startswith("fix.") and _is_of(event.occurrence, base):
            _note(state, event.note, event.data)
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


def _note(state: FixState, note: str, data: Mapping[str, Any]) -> None:
    """Fold what the loop noted. Notes of later versions have no effect."""
    match note:
        case "fix.started":
            state.started, state.triaged, state.ended, state.escalation = data, {}, None, None
            state.best, state.head, state.best_commit = START, data["base"], data["base"]
        case "fix.triaged":
            state.triaged = data
            state.attempts[START] = max(state.attempts.get(START, 1), data["attempt"])
        case "fix.iteration_started":
            state.iterations.append(Iteration(data["n"], data["round"]))
        case "fix.round_opened":
            state.round, state.escalation = data["round"], None
            state.guidance.append(data["guidance"])
        case "fix.escalated":
            state.escalation, state.head = Escalation(data["reason"], data["why"]), data["commit"]
        case "fix.rolled_back":
            state.best, state.best_commit, state.head = data["to"], state.commit_of(data["to"]) or "", data["commit"]
            if state.escalation is not None:
                state.escalation.is_rolled_back = True
        case "fix.ended":
            state.ended = data
        case "fix.tested":
            _note_tested(state, data)
        case "fix.agent_retried" | "fix.reported" | "fix.applied" | "fix.judged":
            at = next(each for each in reversed(state.iterations) if each.number == data["n"])
            _note_of(state, at, note, data)


def _note_tested(state: FixState, data: Mapping[str, Any]) -> None:
    number = data["n"]
    state.attempts[number] = max(state.attempts.get(number, 1), data["attempt"])
    if data["after"] == "user":
        state.best, state.best_commit, state.head = number, data["commit"], data["commit"]
    if number == START:
        state.tested = data
    else:
        next(each for each in reversed(state.iterations) if each.number == number).tested = data


def _note_of(state: FixState, at: Iteration, note: str, data: Mapping[str, Any]) -> None:
    """Fold a note on an iteration."""
    match note:
        case "fix.agent_retried":
            at.retries.append(data)
        case "fix.reported":
            at.report, at.root_cause, at.recommended = data["path"], data["root_cause"], data["recommended"]
            at.report_commit = state.head = data["commit"]
            at.failure, at.why = data["verdict"], data["why"]
        case "fix.applied":
            at.is_applied, at.files, at.lines = True, tuple(data["files"]), data["lines"]
            at.summary, at.touches_tests = data["summary"], tuple(data["touches_tests"])
            at.failure, at.why = data["verdict"], data["why"]
            state.head = data["commit"] or state.head
            at.commit = "" if data["refused"] else data["commit"] or ""
        case "fix.judged":
            at.verdict, at.why = data["verdict"], data["why"]
            if data["best"] != state.best:
                state.best, state.best_commit = data["best"], state.commit_of(data["best"]) or state.best_commit


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
