"""Giving up: the message with all that was tried, and what follows from what the user chooses."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal

from pitstop.engine.frame import FrameRewound, Point
from pitstop.engine.verdict import Force, GoBack
from pitstop.errors import FileProblem
from pitstop.events.outcome import Outcome, Status, StepError
from pitstop.platform.fix.bench import Bench
from pitstop.platform.fix.reports import with_status
from pitstop.platform.fix.state import START, Escalation, FixState, Iteration
from pitstop.program import program

LIMIT = "limit"
TITLES = {
    LIMIT: "Maximum iterations reached",
    "stalled": "No progress",
    "oscillating": "The same failures came back",
    "budget": "A budget is used up",
    "infrastructure": "The tests cannot run here",
    "state": "The state of the loop cannot be trusted",
    "agent": "An agent cannot be started",
}
WAYS = (
    ("take-over", "repair it yourself, then continue"),
    ('guide "TEXT"', "another round with your guidance"),
    ("roll-back [N|base]", "to an iteration, or to the beginning"),
    ('skip "REASON"', "pass as a known issue"),
    ("stop", "end the loop; the step fails"),
)
NEXT_STEPS = (
    "start with the newest report",
    "what do the attempts have in common?",
    "are the tests themselves right?",
    "is this in the scope of the change? If not, revise the plan or the card",
)
_SHOWN_ERRORS = 5


class Escalating:
    """Hands the loop to a user at a stop, with the best files."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    async def escalate(self, reason: str, why: str) -> None:
        """Put the best files back, with all reports, and note why the loop gave up."""
        bench = self._bench
        state = bench.state
        commit = await self.finish(state, is_resolved=False)
        message = escalation_message(state, reason, why, bench.workplace.run)
        bench.note("escalated", reason=reason, why=why, message=message, commit=commit)

    async def finish(self, state: FixState, *, is_resolved: bool) -> str:
        """Leave the best files with the status of all reports in them, and store them; returns their commit."""
        bench, topic = self._bench, state.started["topic"]
        await bench.tree.restore(state.best_commit, state.head)
        status: Literal["resolved", "unresolved"] = "resolved" if is_resolved else "unresolved"
        for path in state.reports:
            with suppress(FileProblem):
                text = (await bench.workplace.files.read("repo", path)).decode(errors="replace")
                await bench.workplace.files.write("repo", path, with_status(text, status).encode())
        commit = await bench.tree.commit(f"debug({topic}): {status}", state.best_commit) or state.best_commit
        await bench.tree.store(state.started["base"])
        return commit

    async def ask(self, state: FixState) -> Outcome | None:
        """Let a user decide, and do what follows. Returns the outcome that was forced, if one was."""
        bench, at = self._bench, state.escalation
        if at is None:
            return None
        if at.verb is None:
            forced = await self._hold(state)
            if forced is not None:
                return forced
            state = bench.state
            at = state.escalation or at
        choice = at.decision.choice if at.decision is not None else "stop"
        text = at.decision.text if at.decision is not None else ""
        if choice == "take_over":
            await self._test_work_of_user(state, at.reason)
        elif choice == "guide":
            await self._open_round(state, at.reason, text)
        elif choice == "roll_back":
            await self._roll_back(state, at, text)
        else:
            outcome = "skipped" if choice == "skip" else "escalated"
            if at.reason == "infrastructure" and choice != "skip":
                outcome = "infrastructure"
            bench.note_ended(state, outcome, text or TITLES[at.reason])
        return None

    async def _hold(self, state: FixState) -> Outcome | None:
        """Wait for a user, if there can be one."""
        bench = self._bench
        run, at = bench.at.run, state.escalation
        if at is None or not run.can_pause() or run.hook is None:
            return None
        message = escalation_message(state, at.reason, at.why, bench.workplace.run)
        error = StepError("Escalated", message, bench.at.occurrence)
        verdict = await run.hook.at(Point(bench.at, "error", Outcome(Status.FAILED, error=error), reason="escalated"))
        if isinstance(verdict, GoBack):
            raise FrameRewound(verdict)
        return verdict.outcome if isinstance(verdict, Force) else None

    async def _test_work_of_user(self, state: FixState, reason: str) -> None:
        bench, number = self._bench, state.number
        commit = await bench.tree.commit(f"fix({state.started['topic']}): by the user", state.head) or state.head
        ran = await bench.run(bench.test, number, attempt=state.attempts.get(number, 1) + 1)
        failures = bench.failures(ran) if ran.outcome.is_failure else None
        bench.note_tested(number, ran, failures, after="user", commit=commit)
        if ran.outcome.is_failure:
            await self.escalate(reason, f"the tests still fail after the repair ({ran.occurrence})")
            return
        commit = await self.finish(bench.state, is_resolved=True)
        bench.note_ended(bench.state, "taken_over", "a user repaired it", commit)

    async def _open_round(self, state: FixState, reason: str, text: str) -> None:
        limit = state.started["limits"]["rounds"]
        if state.round >= limit:
            await self.escalate(reason, f"no further round: all {limit} are used")
        else:
            self._bench.note("round_opened", round=state.round + 1, guidance=text)

    async def _roll_back(self, state: FixState, at: Escalation, text: str) -> None:
        number = int(text) if text.isdigit() else START
        commit = state.commit_of(number)
        if commit is None:
            await self.escalate(at.reason, f"there are no files of iteration {number} to go back to")
            return
        if not at.is_rolled_back:
            await self._bench.tree.restore(commit, state.head)
            self._bench.note("rolled_back", to=number, commit=state.head)
        told = f"iteration {number}" if number else "the files before the loop"
        await self.escalate(at.reason, f"rolled back to {told}")


def escalation_message(state: FixState, reason: str, why: str, run: str) -> str:
    """All that a user needs to take over: the problem, what was tried, and the ways to continue."""
    start, best = state.tested, state.tested_at(state.best)
    done = state.judged
    lines = [f"{TITLES[reason]}: {why}" if why else TITLES[reason], ""]
    lines += [f"Original problem: `{state.started['command']}`", *_errors(start), ""]
    if done:
        where = f"iteration {state.best}" if state.best else "before the first iteration"
        lines += [f"Unresolved, with the best files ({where})", *_errors(best), ""]
    for each in done:
        lines += _attempt(each)
    newest = [f"Newest report: {state.reports[-1]}"] if state.reports else []
    lines += [
        "Checkpoint saved: escalation. All files, reports and logs are kept with the run.",
        f"Resume: {program()} fix --resume {run}",
        "",
        "Next steps",
        *(f"  - {each}" for each in NEXT_STEPS[0 if state.reports else 2 :]),
        *newest,
        "",
        "Ways to continue",
        *(f"  {number}. {program()} fix {run} {way:<20}{told}" for number, (way, told) in enumerate(WAYS, 1)),
    ]
    return "\n".join(lines)


def _errors(tested: Mapping[str, Any]) -> list[str]:
    shown = [
        f"  {each['test']}: {_line(each['message'] or each['error'])}" for each in tested["details"][:_SHOWN_ERRORS]
    ]
    more = tested["total"] - len(shown)
    return [*shown, f"  and {more} more"] if more > 0 and shown else shown


def _attempt(at: Iteration) -> list[str]:
    files = ", ".join(at.files[:5]) or "no files"
    return [
        f"Iteration {at.number}: {at.verdict.replace('_', ' ')}{f' ({_line(at.why)})' if at.why else ''}",
        f"  report  {at.report}",
        f"  fix     {_line(at.summary) or 'none'} ({files})",
        *([f"  cause   {_line(at.root_cause)}"] if at.root_cause else []),
        *(_errors(at.tested) if at.tested and at.verdict != "same" else []),
        "",
    ]


def _line(text: str) -> str:
    joined = " ".join(text.split())
    return joined if len(joined) <= 160 else joined[:159] + "…"
