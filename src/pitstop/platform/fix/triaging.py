"""The triage of a failure, before any agent is called: infrastructure, flaky, or there before the change."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from pitstop.events.outcome import Outcome
from pitstop.platform.fix.bench import MOST_FINGERPRINTS, Bench, Ran
from pitstop.platform.fix.state import START
from pitstop.platform.fix.triage import flaky, infrastructure_evidence, pre_existing
from pitstop.platform.reports.failures import Failures

LAST_FAILED = "--last-failed"  # of pytest


async def triage(bench: Bench, first: Ran) -> None:
    """Note what kind of failure it is. It runs the tests again, and then once on the files of the base."""
    failures = bench.failures(first)
    evidence = await _infrastructure(bench, first.outcome, failures)
    attempt = bench.state.attempts.get(START, 1)
    if evidence:
        _note(bench, "infrastructure", evidence, attempt)
        return
    again = await _run_failed(bench, attempt + 1)
    if not again.outcome.is_failure:
        told = f"all {failures.total} failures passed when run again on the same files ({again.occurrence})"
        _note(bench, "flaky", [told], again.attempt, came_and_went=failures.fingerprints)
        return
    repeated = bench.failures(again)
    came_and_went = flaky(failures, repeated)
    told_flaky = [f"{len(came_and_went)} of {failures.total} failures passed when run again ({again.occurrence})"]
    known, told_known, attempt = await _at_base(bench, failures, again.attempt + 1)
    rest = {*failures.fingerprints} - {*came_and_went} - {*known}
    verdict = "failing" if rest or not known else "pre_existing"
    evidence = (*(told_flaky if came_and_went else ()), *told_known)
    _note(bench, verdict, evidence, attempt, came_and_went=came_and_went, known=known)


async def _run_failed(bench: Bench, attempt: int) -> Ran:
    """Run what failed once more: only that, where the tool can do it, else everything."""
    step = bench.test
    if "pytest" in step.config.get("tests", ()):
        options = " ".join(filter(None, (step.env.get("PYTEST_ADDOPTS", ""), LAST_FAILED)))
        again = await bench.run(replace(step, env={**step.env, "PYTEST_ADDOPTS": options}), START, attempt=attempt)
        if not again.outcome.is_failure or bench.failures(again).reader == "junit":
            return again
        attempt = again.attempt + 1  # it does not take the option
    return await bench.run(step, START, attempt=attempt)


async def _at_base(bench: Bench, failures: Failures, attempt: int) -> tuple[Sequence[str], Sequence[str], int]:
    """The failures that the base has too, the evidence, and the last attempt of the tests."""
    start: str = bench.state.started["base"]
    base = await bench.compared_commit(start)
    if base is None:
        return (), (), attempt - 1
    await bench.tree.restore(base)
    try:
        there = await bench.run(bench.test, START, attempt=attempt)
    finally:
        await bench.tree.restore(start)
    if not there.outcome.is_failure or await _infrastructure(bench, there.outcome, bench.failures(there)):
        return (), (), there.attempt
    known = pre_existing(failures, bench.failures(there))
    told = f"{len(known)} of {failures.total} failures exist at {base[:12]} too, before the change ({there.occurrence})"
    return known, (told,) if known else (), there.attempt


async def _infrastructure(bench: Bench, outcome: Outcome, failures: Failures) -> Sequence[str]:
    origin = bench.origin_of(outcome)
    outputs = origin.outputs if isinstance(origin.outputs, Mapping) else {}
    message = "" if origin.error is None else origin.error.message
    files = await bench.tree.files(bench.state.started["base"])
    return infrastructure_evidence(failures, origin.log or "", message, outputs.get("exit_code"), files)


def _note(
    bench: Bench,
    verdict: str,
    evidence: Sequence[str],
    attempt: int,
    *,
    came_and_went: Sequence[str] = (),
    known: Sequence[str] = (),
) -> None:
    told = {"flaky": list(came_and_went[:MOST_FINGERPRINTS]), "pre_existing": list(known[:MOST_FINGERPRINTS])}
    bench.note("triaged", verdict=verdict, evidence=list(evidence), attempt=attempt, **told)
