"""The tests that steps of a run reported, compared with earlier runs of the flow."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from pitstop.errors import UnknownRun
from pitstop.events.types import AnyEvent
from pitstop.runs.log_pages import events_of
from pitstop.runs.step_reports import StepReport, reports_in
from pitstop.runs.test_comparison import LOOKED_AT_RUNS, EarlierReport, StepHistory, compare
from pitstop.runs.test_results import ComparedRun, FailingTest, TestComparison, TestedRun
from pitstop.store.port import ENDED, KeptRun, RunFilter, RunRecord, RunStore

Reports = Mapping[str, StepReport]  # by step


class _EarlierRun(Struct, frozen=True):
    record: RunRecord
    reports: Reports


async def compared_tests(store: RunStore, kept: KeptRun, default_branch: str | None = None) -> TestComparison:
    """The tests that failed or changed, compared with the last whole run on the same branch or tag.

    A step that no such run has reported is compared with the last one on the default branch. A run that is not of a
    repository on the server is compared with any run of its file.
    """
    own = reports_in(await events_of(kept.log))
    if not own:
        return TestComparison()
    record = await kept.record()
    same_ref = await _runs_before(store, record, own)
    missing = {step for step in own if not any(step in run.reports for run in same_ref)}
    on_default: Sequence[_EarlierRun] = ()
    if missing and record.repo is not None and default_branch not in (None, record.ref):
        on_default = await _runs_before(store, replace(record, ref=default_branch), missing, is_base_only=True)
    return compare(own, {step: _history(step, record, same_ref, on_default) for step in own})


def _history(
    step: str, record: RunRecord, same_ref: Sequence[_EarlierRun], on_default: Sequence[_EarlierRun]
) -> StepHistory:
    """A run that is not of a repository has no commit, and is often changed between two runs: nothing is flaky then."""
    base = next((run for run in (*same_ref, *on_default) if step in run.reports), None)
    known = [] if record.repo is None else [run for run in same_ref if step in run.reports]
    return StepHistory(
        base=None if base is None else _earlier(base, step),
        earlier=[run.reports[step] for run in known],
        same_commit=[run.reports[step] for run in known if record.sha and run.record.sha == record.sha],
    )


def _earlier(run: _EarlierRun, step: str) -> EarlierReport:
    record = run.record
    return EarlierReport(
        run=ComparedRun(record.id, record.ref, record.created_at), sha=record.sha, report=run.reports[step]
    )


async def _runs_before(
    store: RunStore, record: RunRecord, steps: Iterable[str], *, is_base_only: bool = False
) -> list[_EarlierRun]:
    """The whole runs before this one, newest first, on its branch or tag if it has one.

    Without a repository, or with `is_base_only`, no more than until each step was reported once.
    """
    if record.repo is not None and record.ref is None:
        return []
    read: list[_EarlierRun] = []
    missing = set(steps)
    for each in await _records_before(store, record, LOOKED_AT_RUNS):
        read.append(_EarlierRun(each, reports_in(await _events_of(store, each.id))))
        missing -= read[-1].reports.keys()
        if not missing and (is_base_only or record.repo is None):
            break
    return read


async def _records_before(store: RunStore, record: RunRecord, limit: int) -> list[RunRecord]:
    earlier = RunFilter(
        file=record.file,
        repo=record.repo,
        ref=record.ref,
        status=ENDED,
        before=(record.created_at, record.id),
        limit=limit,
    )
    return [each for each in await store.find(earlier) if not (each.is_partial or each.intervened)]


async def tests_over_runs(store: RunStore, kept: KeptRun, limit: int) -> tuple[TestedRun, ...]:
    """What the tests of this run and of the whole runs of its flow before it came to, the newest first."""
    record = await kept.record()
    found = (await _records_before(store, record, limit))[: limit - 1]
    tested = [_tested(record, await events_of(kept.log))]
    tested += [_tested(each, await _events_of(store, each.id)) for each in found]
    return tuple(each for each in tested if each is not None)


def _tested(record: RunRecord, events: Iterable[AnyEvent]) -> TestedRun | None:
    reports = reports_in(events)
    if not reports:
        return None
    failing = [
        FailingTest(step, case.suite, case.name)
        for step, report in reports.items()
        for case in report.cases.values()
        if case.is_failing
    ]
    return TestedRun(
        run=record.id,
        created_at=record.created_at,
        status=record.status,
        total=sum(each.total for each in reports.values()),
        failed=sum(each.failed + each.errors for each in reports.values()),
        skipped=sum(each.skipped for each in reports.values()),
        seconds=sum(each.seconds for each in reports.values()),
        failing=tuple(failing),
    )


async def _events_of(store: RunStore, run: str) -> list[AnyEvent]:
    """None of a run that was deleted since it was found."""
    try:
        return await events_of((await store.open(run, events=False)).log)
    except UnknownRun:
        return []
