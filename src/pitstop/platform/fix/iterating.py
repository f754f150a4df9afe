"""One iteration: an agent diagnoses, another repairs, the tests run, and the result is judged."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from pitstop.errors import FileProblem
from pitstop.events.outcome import Outcome, Status
from pitstop.plan.plan import Step
from pitstop.platform.fix.bench import MOST_FILES, Bench, Ran, outputs_of
from pitstop.platform.fix.guard import touched_tests
from pitstop.platform.fix.judging import best_of, judge
from pitstop.platform.fix.prompting import again_prompt, diagnose_prompt, fix_prompt
from pitstop.platform.fix.reports import (
    FRONT_MATTER,
    REPORT_BYTES,
    Report,
    is_report_path,
    named_in,
    next_number,
    read_report,
    report_path,
    report_without_diagnosis,
    slug_of,
    with_front_matter,
)
from pitstop.platform.fix.state import FixState, Iteration
from pitstop.platform.workspace_tree import Change

RETRIES = 2  # of an agent, in its role and iteration
LONGER = 1.5  # the time of an agent that was too slow, when it is asked again
_UNUSABLE = ("AgentMissing", "NoAgentKey", "BadConfig")
_SUMMARY_CHARACTERS = 500

Read = Callable[[Outcome], Awaitable[Any]]  # what an agent brought; AnswerRefused


class AgentUnusable(Exception):
    """An agent cannot be started here at all: its CLI or its key is missing."""


class AnswerRefused(Exception):
    """What an agent did is not what it was asked for."""


class Iterating:
    """Goes through one iteration, or continues it where the notes of the loop end."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    async def iterate(self, state: FixState) -> None:
        """Bring the iteration to its verdict. AgentUnusable."""
        bench = self._bench
        if not state.iterations or state.current.verdict:
            await self._begin(state)
        if not bench.state.current.report:
            await self._diagnose()
        if not bench.state.current.failure and not bench.state.current.is_applied:
            await self._repair()
        at = bench.state.current
        if at.failure:
            self._judge(at.number, at.failure, at.why)
        else:
            await self._test(at)

    async def _begin(self, state: FixState) -> None:
        await self._bench.tree.restore(state.best_commit, state.head)
        self._bench.note("iteration_started", n=state.number + 1, round=state.round)

    # The diagnosis

    async def _diagnose(self) -> None:
        bench = self._bench
        state = bench.state
        number = state.number
        topic = state.started["topic"]
        tested = state.tested_at(state.best)
        start = state.started["base"]
        change, reports = await bench.tree.change(await bench.compared_commit(start) or start, state.best_commit)
        expected = next_number(reports, topic)
        path = report_path(topic, expected, "SLUG")
        prompt = diagnose_prompt(self._given(state, tested), state.iterations, path=path, change=change.diff)

        async def read(outcome: Outcome) -> tuple[Report, str]:
            return await self._read_report(outcome, topic, expected, number)

        found, last = await self._ask(bench.diagnose, "diagnose", prompt, path, read)
        await bench.tree.restore(state.best_commit, state.head)  # only the report is to stay
        values = self._front_matter(state, tested, expected)
        if found is None:
            report = Report(report_path(topic, expected, "no_diagnosis"), "", 0, "")
            text = report_without_diagnosis(values, reasons=self._whys(number, "diagnose", last), said=_text_of(last))
        else:
            report, text = found[0], with_front_matter(found[1], values)
        await bench.workplace.files.write("repo", report.path, text.encode())
        commit = await bench.tree.commit(f"debug({topic}): report {expected:03d}", state.best_commit)
        bench.note(
            "reported",
            n=number,
            path=report.path,
            status="open" if found is not None else "failed",
            verdict="" if found is not None else "no_diagnosis",
            why="" if found is not None else self._whys(number, "diagnose", last)[-1],
            root_cause=report.root_cause,
            options=report.options,
            recommended=report.recommended,
            commit=commit or state.best_commit,
        )

    async def _read_report(self, outcome: Outcome, topic: str, number: int, iteration: int) -> tuple[Report, str]:
        """The report that the agent wrote, with the number that it should have. AnswerRefused."""
        files = self._bench.workplace.files
        named = named_in(_text_of(outcome))
        wanted = report_path(topic, number, "SLUG")
        path = named.path
        if path is not None and not is_report_path(path, topic):
            raise AnswerRefused(f"the report {path[:200]} is not a path like {wanted}")
        if path is None:  # then the newest new one
            found = [each for each in await self._bench.tree.reports() if is_report_path(each, topic)]
            path = max((each for each in found if each >= wanted.removesuffix("SLUG.md")), default=None)
        if path is None:
            raise AnswerRefused(f"no report was written to {wanted}")
        try:
            text = (await files.read("repo", path, limit=REPORT_BYTES + 1)).decode(errors="replace")
        except FileProblem as error:
            raise AnswerRefused(f"cannot read the report {path}: {error}") from error
        right = report_path(topic, number, slug_of(path))
        report = read_report(right, text, iteration)
        if not isinstance(report, Report):
            raise AnswerRefused(
                "The report lacks parts. Write it again, whole:\n" + "\n".join(f"- {p}" for p in report)
            )
        return report, text

    # The repair

    async def _repair(self) -> None:
        bench = self._bench
        state = bench.state
        at, topic = state.current, state.started["topic"]
        allow = bench.config["allow_tests"]
        report = (await bench.workplace.files.read("repo", at.report)).decode(errors="replace")
        prompt = fix_prompt(
            self._given(state, state.tested_at(state.best)),
            state.iterations,
            report=report,
            recommended=at.recommended,
            allow_tests=allow,
        )

        async def read(outcome: Outcome) -> str:
            return _summary_of(_text_of(outcome))

        summary, last = await self._ask(bench.fix, "fix", prompt, at.report, read)
        if summary is None:
            self._note_applied(at.number, "no_fix", self._whys(at.number, "fix", last)[-1])
            return
        message = f"fix({topic}): iteration {at.number}"
        committed = await bench.tree.commit_change(message, at.report_commit, state.started["base"])
        if committed is None:
            self._note_applied(at.number, "no_change", "the agent changed no file", summary=summary)
            return
        change, lines, limit = committed.change, committed.lines_since_start, bench.config["lines"]
        touched = () if allow else await self._touched(state, change)
        size = "too many bytes" if change.is_cut else f"{lines} changed lines"
        why = "it changes tests: " + "; ".join(touched) if touched else ""
        if not why and (lines > limit or change.is_cut):
            why = f"the fix has {size}, and at most {limit} lines are allowed (`lines`)"
        told = {"commit": committed.commit, "files": list(change.files[:MOST_FILES]), "lines": change.lines}
        refusal = {"summary": summary, "touches_tests": list(touched), "refused": bool(why)}
        self._note_applied(at.number, "refused" if why else "", why, **told, **refusal)

    async def _touched(self, state: FixState, change: Change) -> tuple[str, ...]:
        """What the change does to the tests and to what they are started with, in sentences."""
        words = re.split(r"[\s;&|'\"]+", state.started["command"])
        started = tuple(f"{path} is what the tests are started with" for path in change.files if path in words)
        return started + await asyncio.to_thread(touched_tests, change.diff)

    def _note_applied(self, number: int, verdict: str, why: str, **told: Any) -> None:
        nothing: dict[str, Any] = {
            "commit": None,
            "files": [],
            "lines": 0,
            "summary": "",
            "touches_tests": [],
            "refused": False,
        }
        self._bench.note("applied", n=number, verdict=verdict, why=why, **{**nothing, **told})

    # The tests

    async def _test(self, at: Iteration) -> None:
        bench, number = self._bench, at.number
        tested = at.tested or await self._tested(number, "fix")
        verdict, why = self._verdict(bench.state, tested), ""
        if tested["after"] == "fix" and verdict == "fixed":
            tested = await self._tested(number, "confirm")
            verdict = self._verdict(bench.state, tested)
        if tested["after"] == "confirm" and verdict != "fixed":
            verdict, why = (
                "flaky",
                f"the tests passed after the fix, and failed when run again ({tested['occurrence']})",
            )
        self._judge(number, verdict, why)

    async def _tested(self, number: int, after: str) -> Mapping[str, Any]:
        """Run the tests after a fix, or once more to confirm it."""
        bench = self._bench
        ran = await bench.run(bench.test, number, attempt=bench.state.attempts.get(number, 0) + 1)
        bench.note_tested(number, ran, bench.failures(ran) if ran.outcome.is_failure else None, after=after)
        return bench.state.current.tested

    def _verdict(self, state: FixState, tested: Mapping[str, Any]) -> str:
        left_out = {*state.triaged["flaky"], *state.triaged["pre_existing"]}
        before = set(state.tested_at(state.best)["failures"]) - left_out
        seen = [set(each.tested["failures"]) - left_out for each in state.judged if each.tested]
        seen = [set(state.tested["failures"]) - left_out, *seen]
        after = set(tested["failures"]) - left_out
        if tested["passed"]:
            return "fixed"
        if not tested["failures"]:
            return "same"  # it failed, and nothing says what
        verdict = judge(before, after, seen)
        hides_tests = (tested["ran"] or 0) < (state.tested_at(state.best)["ran"] or 0)
        return "worse" if verdict == "moved" and hides_tests else verdict  # broken code runs fewer tests

    def _judge(self, number: int, verdict: str, why: str = "") -> None:
        state = self._bench.state
        before = state.tested_at(state.best)
        tested = next(each for each in state.iterations if each.number == number).tested or before
        is_better = best_of([before["total"], tested["total"]], [verdict])
        best = number if is_better else state.best
        gone = sorted(set(before["failures"]) - set(tested["failures"]))
        new = sorted(set(tested["failures"]) - set(before["failures"]))
        self._bench.note("judged", n=number, verdict=verdict, gone=gone, new=new, best=best, why=why)

    # Both agents

    async def _ask(self, step: Step, role: str, prompt: str, path: str, read: Read) -> tuple[Any, Outcome]:
        """What the agent brought, or None if it failed RETRIES times more. AgentUnusable."""
        bench = self._bench
        state = bench.state
        at, before = state.current, state.current.report_commit or state.best_commit
        seconds = float(bench.config["time"]) / 3
        asked, attempt = prompt, 1
        known = [each for each in at.retries if each["role"] == role]
        for retry in range(RETRIES + 1):
            values = {"role": role, "iteration": at.number, "attempt": attempt, "report": path, "prompt": asked}
            timed = replace(step, timeout_seconds=seconds)
            ran = await bench.run(timed, at.number, {"fix": values}, attempt)
            if retry < len(known):
                why = known[retry]["why"]
            else:
                try:
                    return await self._brought(ran, read), ran.outcome
                except AnswerRefused as error:
                    why = str(error)
                if retry == RETRIES:
                    return None, ran.outcome
                await bench.tree.restore(before, state.head)
                bench.note("agent_retried", n=at.number, role=role, why=why[:2_000])
            asked, attempt = again_prompt(prompt, why), ran.attempt + 1
            seconds *= LONGER if ran.outcome.status is Status.TIMED_OUT else 1
        raise AssertionError("unreachable")

    async def _brought(self, ran: Ran, read: Read) -> Any:
        error = ran.outcome.error
        if error is not None and error.type in _UNUSABLE:
            raise AgentUnusable(error.message)
        if ran.outcome.status is not Status.PASSED:
            raise AnswerRefused("the agent was skipped" if error is None else error.message.partition("\n")[0])
        return await read(ran.outcome)

    def _whys(self, number: int, role: str, last: Outcome) -> list[str]:
        at = next(each for each in self._bench.state.iterations if each.number == number)
        told = [str(each["why"]) for each in at.retries if each["role"] == role]
        final = "its report was not accepted" if last.error is None else last.error.message.partition("\n")[0]
        return [*told, final]

    def _given(self, state: FixState, tested: Mapping[str, Any]) -> dict[str, Any]:
        """What both prompts say of the failure."""
        lines = [f"{each['test']}: {each['error']}: {each['message']}" for each in tested["details"]]
        names = [each["test"] for each in tested["details"][:5]]
        more = f" and {tested['total'] - len(names)} more" if tested["total"] > len(names) else ""
        return {
            "command": state.started["command"],
            "n": state.in_round,
            "limit": self._bench.config["iterations"],
            "round": state.round,
            "failing": ", ".join(names) + more,
            "failures": "\n".join(lines),
            "output": self._bench.output_of(tested),
            "goal": self._bench.config["goal"],
            "guidance": state.guidance,
            "lines": self._bench.config["lines"],
        }

    def _front_matter(self, state: FixState, tested: Mapping[str, Any], number: int) -> dict[str, Any]:
        date = datetime.fromtimestamp(self._bench.at.run.now(), UTC).date().isoformat()
        failing = [each["test"] for each in tested["details"][:20]]
        about = (state.started["topic"], number, state.number, state.round, date, state.best_commit[:12])
        return dict(zip(FRONT_MATTER, (*about, state.started["command"], failing, "open"), strict=True))


def _text_of(outcome: Outcome) -> str:
    """What the agent said: its last text, or where it reports none the end of its log."""
    return str(outputs_of(outcome).get("text") or outcome.log or "")


def _summary_of(text: str) -> str:
    """What the agent says it changed."""
    for line in reversed(text.splitlines()):
        label, colon, told = line.strip("*_`- ").partition(":")
        if colon and label.strip("*_` ").lower() == "changes made":
            return told.strip("*_` ")[:_SUMMARY_CHARACTERS]
    return " ".join(text.split())[-_SUMMARY_CHARACTERS:]
