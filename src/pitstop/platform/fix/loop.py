"""The fix loop: tests fail, one agent diagnoses, one repairs, the tests run again; then a user decides."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from pitstop.engine.frame import Activation
from pitstop.events.outcome import Outcome, Status, StepError
from pitstop.platform.fix.bench import Bench, Ran
from pitstop.platform.fix.escalating import LIMIT, Escalating
from pitstop.platform.fix.iterating import AgentUnusable, Iterating
from pitstop.platform.fix.judging import is_stalled
from pitstop.platform.fix.state import START, FixState, wrong_in
from pitstop.platform.fix.topics import topic_of
from pitstop.platform.fix.triaging import triage
from pitstop.steps.workplace import Workplace

KNOWN_ISSUE_DAYS = 30
PASSING = ("fixed", "flaky", "skipped", "taken_over")
_ERRORS = {"infrastructure": "Infrastructure", "pre_existing": "PreExisting"}


async def run_fix_loop(
    workplace: Workplace, activation: Activation, config: Mapping[str, Any], *, is_on: bool = True
) -> Outcome:
    """Run the tests, and the loop if they fail. Killed at any moment, it continues where its notes end.

    Outputs: those of the tests, and `fix` with what became of the loop.
    """
    bench = Bench(await workplace.at(activation.home), activation, config)
    first = await bench.run(bench.test, START)
    if not first.outcome.is_failure or not is_on:
        return first.outcome
    try:
        return await _Loop(bench, first).run()
    except asyncio.CancelledError:
        if not activation.is_replayed:
            bench.note_ended(bench.state, "aborted", "the run was cancelled")
        raise


class _Loop:
    def __init__(self, bench: Bench, first: Ran) -> None:
        self._bench = bench
        self._first = first
        self._iterating = Iterating(bench)
        self._escalating = Escalating(bench)

    async def run(self) -> Outcome:
        bench = self._bench
        known = bench.state
        if known.occurrence != bench.at.occurrence:
            await self._start()
        elif known.ended is None and not bench.at.is_replayed:
            await bench.tree.mend(known.head, known.reports)
        while True:
            state = bench.state
            if state.ended is not None:
                return self._outcome(state.ended)
            if state.escalation is not None:
                forced = await self._escalating.ask(state)
                if forced is not None:
                    await self._end("skipped", "its outcome was forced in the debugger")
                    return forced
                continue
            if not state.triaged:
                await triage(bench, self._first)
                continue
            ending = self._ending_of(state)
            if ending is not None:
                await self._end(*ending)
                continue
            reason = await self._why_stop(state)
            if reason is not None:
                await self._escalating.escalate(*reason)
                continue
            try:
                await self._iterating.iterate(state)
            except AgentUnusable as error:
                await self._escalating.escalate("agent", str(error))

    async def _start(self) -> None:
        bench, config = self._bench, self._bench.config
        failures = bench.failures(self._first)
        names = ("iterations", "rounds", "cost", "lines")
        test = bench.test.config.get("script") or bench.test.config.get("command") or bench.test.kind
        bench.note(
            "started",
            topic=topic_of(bench.at.step.id or bench.at.step.local, failures.found),
            command=" ".join(str(test).split())[:500],
            base=await bench.tree.start(),
            branch=bench.branch,
            in_place=bench.in_place,
            limits={**{name: config[name] for name in names}, "seconds": config["time"], "retries": 2},
        )
        bench.note_tested(START, self._first, failures, after="start")

    def _ending_of(self, state: FixState) -> tuple[str, str] | None:
        """The end that the triage or the last iteration leads to, and why."""
        verdict, why = state.triaged["verdict"], "; ".join(state.triaged["evidence"])
        if verdict in ("flaky", "pre_existing"):
            return verdict, why
        if not state.judged:
            return None
        last = state.judged[-1]
        if last.verdict == "fixed" and state.triaged["pre_existing"]:
            return "pre_existing", "the other failures are fixed"
        return (last.verdict, last.why) if last.verdict in ("fixed", "flaky") else None

    async def _why_stop(self, state: FixState) -> tuple[str, str] | None:
        """The reason to give up, and what it means; None to go on."""
        wrong = wrong_in(state) or await self._missing(state)
        if wrong:
            return "state", "; ".join(wrong)
        if state.iterations and not state.current.verdict:
            return None
        if state.triaged["verdict"] == "infrastructure" and state.round == 1:
            return "infrastructure", "; ".join(state.triaged["evidence"])
        budget = self._budget_over(state)
        if budget is not None:
            return "budget", budget
        recent = [each for each in state.judged if each.round == state.round]
        if self._bench.config["early_stop"] and is_stalled(
            [each.verdict for each in recent], [each.root_cause for each in recent]
        ):
            is_turning = recent[-1].verdict == "oscillating"
            told = "the same failures came back" if is_turning else "two different repairs changed nothing"
            return "oscillating" if is_turning else "stalled", told
        if state.in_round >= self._bench.config["iterations"]:
            return LIMIT, f"{state.in_round} of {state.in_round} iterations are used"
        return None

    def _budget_over(self, state: FixState) -> str | None:
        config, at = self._bench.config, self._bench.at
        paused = at.meter.paused_by(asyncio.get_running_loop().time())
        seconds = at.run.now() - state.started_at - paused
        if seconds >= config["time"]:
            return f"{seconds:.0f} s at work, and at most {config['time']:g} s are allowed (`time`)"
        if config["cost"] is not None and state.cost >= config["cost"]:
            return f"the agents cost {state.cost:.2f} dollars, and at most {config['cost']:.2f} are allowed (`cost`)"
        return None

    async def _missing(self, state: FixState) -> list[str]:
        """What the workspace does not have any more of what the log tells."""
        if not state.iterations:
            return []
        bench = self._bench
        files = bench.workplace.files
        wrong = [f"{path} is missing" for path in state.reports if not await files.exists("repo", path)]
        if not bench.at.rewinds and await bench.tree.head() != state.head:
            wrong.append(f"the branch {bench.branch} is not at {state.head[:12]}, its last commit")
        return wrong

    async def _end(self, outcome: str, why: str) -> None:
        bench = self._bench
        state = bench.state
        commit = await self._escalating.finish(state, is_resolved=outcome in ("fixed", "taken_over"))
        bench.note_ended(state, outcome, why, commit)

    def _outcome(self, ended: Mapping[str, Any]) -> Outcome:
        """How the step ends: what the tests gave, and the report of the loop."""
        bench, outcome = self._bench, ended["outcome"]
        state = bench.state
        first = self._first.outcome
        outputs = dict(first.outputs) if isinstance(first.outputs, Mapping) else {}
        outputs["fix"] = {**ended, "topic": state.started["topic"], "branch": bench.branch}
        if outcome == "skipped":
            until = datetime.fromtimestamp(bench.at.run.now(), UTC) + timedelta(days=KNOWN_ISSUE_DAYS)
            outputs["fix"]["known_issue"] = {"why": ended["why"], "until": until.date().isoformat()}
        if outcome in PASSING or (outcome == "pre_existing" and bench.config["allow_pre_existing"]):
            return Outcome(Status.PASSED, outputs)
        tested = state.tested_at(state.number)
        message = f"{outcome.replace('_', ' ')}: {ended['why']}"
        error = StepError(_ERRORS.get(outcome, "Escalated"), message, tested["occurrence"])
        return Outcome(Status.FAILED, outputs, error=error)
