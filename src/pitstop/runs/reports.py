"""The tests that steps of a run reported, compared with the run of the flow before it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from pitstop.errors import UnknownRun
from pitstop.events.counting import events_that_count
from pitstop.events.types import AnyEvent, StepFinished
from pitstop.runs.log_pages import events_of
from pitstop.runs.test_results import FailingTest, TestCase, TestedRun
from pitstop.store.port import ENDED, KeptRun, RunFilter, RunRecord, RunStore

LOOKED_AT_RUNS = 20

Change = Literal["new", "fixed", "still_failing", "flaky", ""]
Key = tuple[str, str, str]  # the step, the suite and the name of a test


async def compared_tests(store: RunStore, kept: KeptRun) -> tuple[TestCase, ...]:
    """The tests that failed, and those that did the last time and do no more."""
    own = _Reports(await events_of(kept.log))
    if not own.counts:
        return ()
    return tuple(compare(own, await _reports_before(store, kept)))


async def tests_over_runs(store: RunStore, kept: KeptRun, limit: int) -> tuple[TestedRun, ...]:
    """What the tests of this run and of the whole runs of its flow before it came to, the newest first."""
    record = await kept.record()
    earlier = RunFilter(file=record.file, status=ENDED, before=(record.created_at, record.id), limit=limit)
    found = [each for each in await store.find(earlier) if not each.is_partial][: limit - 1]
    tested = [_tested(record, await events_of(kept.log))]
    tested += [_tested(each, await _events_of(store, each.id)) for each in found]
    return tuple(each for each in tested if each is not None)


def _tested(record: RunRecord, events: Iterable[AnyEvent]) -> TestedRun | None:
    reports = _Reports(events)
    if not reports.counts:
        return None
    counts = reports.counts.values()
    return TestedRun(
        run=record.id,
        created_at=record.created_at,
        status=record.status,
        total=sum(each["total"] for each in counts),
        failed=sum(each["failed"] + each["errors"] for each in counts),
        skipped=sum(each["skipped"] for each in counts),
        seconds=sum(each["seconds"] for each in counts),
        failing=tuple(FailingTest(*key) for key in reports.failing),
    )


class _Reports:
    """What the steps of one run said of tests: the last attempt of each step counts."""

    def __init__(self, events: Iterable[AnyEvent]) -> None:
        self.failing: dict[Key, Mapping[str, Any]] = {}
        self.failed_once: dict[Key, Mapping[str, Any]] = {}  # in an attempt that was followed by another
        self.counts: dict[str, Mapping[str, Any]] = {}  # of the steps that said anything
        for _, event in events_that_count(events):
            if isinstance(event, StepFinished) and (tests := _tests_in(event)) is not None:
                self._take(event.step, tests)

    def _take(self, step: str, tests: Mapping[str, Any]) -> None:
        cases = {(step, str(case["classname"]), str(case["name"])): case for case in tests["failing"]}
        earlier = {key: case for key, case in self.failing.items() if key[0] == step}
        self.failed_once |= {key: case for key, case in earlier.items() if key not in cases}
        self.failing = {key: case for key, case in self.failing.items() if key[0] != step} | cases
        self.counts[step] = tests


def compare(own: _Reports, before: _Reports | None) -> Iterator[TestCase]:
    """New ones first come the failures, then those that passed in the end or that are repaired."""
    known = {} if before is None else before.failing
    for key, case in own.failing.items():
        status = "error" if case.get("kind") == "error" else "failed"
        change: Change = "still_failing" if key in known else "new" if before is not None else ""
        yield _case(key, status, case, change)
    for key, case in own.failed_once.items():
        yield _case(key, "passed", case, "flaky")
    for key in known:
        if key not in own.failing and key not in own.failed_once and key[0] in own.counts:
            yield _case(key, "passed", {}, "fixed")


def _case(key: Key, status: str, case: Mapping[str, Any], change: Change) -> TestCase:
    step, suite, name = key
    message = str(case.get("message") or case.get("text") or "")
    return TestCase(step, suite, name, status, message=message, change=change)


def _tests_in(event: StepFinished) -> Mapping[str, Any] | None:
    outputs = event.outcome.outputs
    tests = outputs.get("tests") if isinstance(outputs, Mapping) else None
    return tests if isinstance(tests, Mapping) and isinstance(tests.get("failing"), list) else None


async def _reports_before(store: RunStore, kept: KeptRun) -> _Reports | None:
    """Those of the whole run of the same flow that ended before this one began."""
    record = await kept.record()
    earlier = RunFilter(file=record.file, status=ENDED, before=(record.created_at, record.id), limit=LOOKED_AT_RUNS)
    for each in await store.find(earlier):
        events = [] if each.is_partial else await _events_of(store, each.id)
        if events:
            return _Reports(events)
    return None


async def _events_of(store: RunStore, run: str) -> list[AnyEvent]:
    """None of a run that was deleted since it was found."""
    try:
        return await events_of((await store.open(run, events=False)).log)
    except UnknownRun:
        return []
