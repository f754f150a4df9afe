"""What the parts of a fix loop work with: its step, its state, its files, and a way to run the steps in it."""

from collections.abc import Mapping
from posixpath import dirname
from typing import Any

from msgspec import Struct

from pitstop.engine.flow.sequence import take_over
from pitstop.engine.frame import Activation
from pitstop.engine.step import record_in_steps, run_step
from pitstop.events.outcome import Outcome
from pitstop.events.types import StepFinished
from pitstop.plan.plan import Step
from pitstop.plan.scope import Scope
from pitstop.platform.fix.state import FixState, fold
from pitstop.platform.reports.failures import Failure, Failures, failures_of
from pitstop.platform.workspace_tree import Tree
from pitstop.steps.workplace import Workplace

MOST_FINGERPRINTS = 1_500  # all that a note can carry
MOST_DETAILS = 50
MOST_FILES = 200
_DETAIL_BYTES = {"test": 240, "error": 80, "message": 240}


class Ran(Struct, frozen=True):
    """How a step in the loop ended, and the attempt that it ended with."""

    outcome: Outcome
    attempt: int
    occurrence: str


class Bench:
    """The parts of one fix loop. What it notes is all that it remembers."""

    def __init__(self, workplace: Workplace, activation: Activation, config: Mapping[str, Any]) -> None:
        self.workplace = workplace
        self.at = activation
        self.config = config
        self.test, self.diagnose, self.fix = activation.step.children
        place = workplace.workspace
        self.in_place = dirname(place.repo) != dirname(place.control)
        self.branch = f"fix/{workplace.run}"
        self.tree = Tree(workplace, activation, self.branch, in_place=self.in_place)

    @property
    def state(self) -> FixState:
        """The state as the log has it now. BadLog."""
        run = self.at.run
        return fold((event for _, event in run.what_counts().events), self.at.base) if run.log else FixState()

    def note(self, name: str, **data: Any) -> None:
        self.at.note(f"fix.{name}", self.workplace.masked(data))

    async def run(self, step: Step, number: int, values: Mapping[str, Any] | None = None, attempt: int = 1) -> Ran:
        """Run a step of the loop in an iteration, from an attempt on. What tests write into the scope stays."""
        address = f"{self.at.occurrence}[{number}]"
        base = f"{address}.{step.local}"
        scope = self.at.scope.child(address, dict(values or {}))
        last = attempt

        def record(scope: Scope, step: Step, outcome: Outcome, attempt: int) -> None:
            nonlocal last
            last = attempt
            record_in_steps(scope, step, outcome, attempt)

        outcome = await run_step(self.at, self.at.frame, scope, step, base, record, attempt=attempt)
        if step.path == self.test.path:
            take_over(self.at.scope, scope.own)
        return Ran(outcome, last, base if last == 1 else f"{base}#{last}")

    async def compared_commit(self, start: str) -> str | None:
        """The commit that the tested change began at, if it can be tested here and has other files."""
        rev = self.config["base"]
        return None if self.in_place or rev == "none" else await self.tree.base(rev, start)

    def failures(self, ran: Ran) -> Failures:
        """What failed, by the report of the tests or else their log."""
        outcome = self.origin_of(ran.outcome)
        outputs = outputs_of(outcome)
        message = "" if outcome.error is None else outcome.error.message
        return failures_of(outputs, outcome.log or "", message, outputs.get("exit_code"))

    def origin_of(self, outcome: Outcome) -> Outcome:
        """The outcome of the innermost step that failed."""
        origin = "" if outcome.error is None else outcome.error.origin
        return self.outcome_of(origin) or outcome

    def outcome_of(self, occurrence: str) -> Outcome | None:
        """How an occurrence ended, as the log has it."""
        log = self.at.run.log
        for event in reversed(log.read() if log is not None and occurrence else ()):
            if isinstance(event, StepFinished) and event.occurrence == occurrence:
                return event.outcome
        return None

    def output_of(self, tested: Mapping[str, Any]) -> str:
        """The end of what tests wrote."""
        outcome = self.outcome_of(tested["occurrence"])
        return "" if outcome is None else self.origin_of(outcome).log or ""

    def _count_of(self, outcome: Outcome) -> int | None:
        """How many tests ran, if a report says so."""
        tests = outputs_of(self.origin_of(outcome)).get("tests")
        return tests.get("total") if isinstance(tests, Mapping) else None

    def note_tested(self, number: int, ran: Ran, failures: Failures | None, *, after: str, commit: str = "") -> None:
        """Note what the tests said, `after` the `start`, a `fix`, a fix that they `confirm`, or work of the `user`."""
        found = failures.found if failures is not None else ()
        details = [_detail(each) for each in found[:MOST_DETAILS]]
        self.note(
            "tested",
            n=number,
            after=after,
            commit=commit,
            attempt=ran.attempt,
            passed=not ran.outcome.is_failure,
            failures=list(failures.fingerprints[:MOST_FINGERPRINTS]) if failures is not None else [],
            details=details,
            total=failures.total if failures is not None else 0,
            ran=self._count_of(ran.outcome),
            reader=failures.reader if failures is not None else "",
            occurrence=ran.occurrence,
        )

    def note_ended(self, state: FixState, outcome: str, why: str, commit: str = "") -> None:
        self.note(
            "ended",
            outcome=outcome,
            why=why,
            iterations=len(state.iterations),
            rounds=state.round,
            reports=state.reports,
            commit=commit or state.head,
            cost=round(state.cost, 4),
        )


def outputs_of(outcome: Outcome) -> Mapping[str, Any]:
    return outcome.outputs if isinstance(outcome.outputs, Mapping) else {}


def _detail(failure: Failure) -> dict[str, str]:
    """A failure, as short as a note with many needs it."""
    parts = {name: getattr(failure, name).encode(errors="replace") for name in _DETAIL_BYTES}
    cut = {name: part[: _DETAIL_BYTES[name]].decode(errors="ignore") for name, part in parts.items()}
    return {"fingerprint": failure.fingerprint, **cut}
