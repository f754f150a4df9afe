"""What the last runs of a branch say about each test: whether it fails, is flaky, and how long it takes."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from pitstop.platform.reports.packed_cases import Names, is_notable, milliseconds_of, result_of, values_in
from pitstop.runs.step_reports import FAILING, case_id
from pitstop.runs.test_comparison import FLAKY_TURNS, count_turns

TestState = Literal["passing", "failing", "flaky", "skipped"]
StateFilter = Literal["failing", "flaky", "slow", "all"]


class TestSummary(Struct, frozen=True, kw_only=True):
    """One test in the last runs of a branch. It is in the newest one, which `last_…` is about.

    It is flaky if it passed and failed on one commit, or turned twice from passing to failing or back.
    """

    __test__ = False

    case: str
    suite: str
    name: str
    flow: str
    step: str
    state: TestState
    last_status: str
    last_run: str
    last_at: float
    last_milliseconds: int
    p50_milliseconds: int
    runs: int
    failed_runs: int
    turns: int


class ReportRow(Struct, frozen=True):
    """A stored report of one step in one run."""

    run: str
    sha: str | None
    at: float
    names: Names
    results: bytes


class _Ran(Struct, frozen=True, gc=False):
    """A test in one run in which it was not skipped."""

    is_failing: bool
    is_mixed: bool
    sha: str | None


def summarize(flow: str, step: str, rows: Sequence[ReportRow]) -> list[TestSummary]:
    """The tests of the newest of these reports of a step, which come newest first."""
    if not rows:
        return []
    places = _places(rows)
    values = [values_in(row.results) for row in rows]
    return [
        _summary(flow, step, pair, rows, _values_of(place, places, values))
        for place, pair in enumerate(rows[0].names.pairs())
    ]


def wanted(summaries: Iterable[TestSummary], state: StateFilter) -> list[TestSummary]:
    """Those with a state, in their order: the slowest and the flakiest first, others by their names."""
    match state:
        case "failing":
            summaries = (each for each in summaries if each.last_status in FAILING)
        case "flaky":
            summaries = (each for each in summaries if each.state == "flaky")
    return sorted(summaries, key=lambda each: order_of(each, state))


def order_of(summary: TestSummary, state: StateFilter) -> tuple[float, str, str, str]:
    """What pages are ordered by."""
    rank = {"slow": summary.p50_milliseconds, "flaky": summary.turns}.get(state, 0)
    return -rank, summary.flow, summary.step, summary.case


def _places(rows: Sequence[ReportRow]) -> list[Sequence[int | None] | None]:
    """For each report, where the tests of the newest one are in it; None where they are in the same places."""
    first = rows[0].names
    pairs = first.pairs()
    found: dict[int, Sequence[int | None] | None] = {id(first): None}
    for row in rows:
        if id(row.names) not in found:
            own = {pair: place for place, pair in enumerate(row.names.pairs())}
            found[id(row.names)] = [own.get(pair) for pair in pairs]
    return [found[id(row.names)] for row in rows]


def _values_of(
    place: int, places: Sequence[Sequence[int | None] | None], values: Sequence[Sequence[int]]
) -> Iterator[tuple[int, int]]:
    """The packed results of one test, each with the number of its report."""
    for number, of_report in enumerate(places):
        own = place if of_report is None else of_report[place]
        if own is not None:
            yield number, values[number][own]


def _summary(
    flow: str, step: str, pair: tuple[str, str], rows: Sequence[ReportRow], found: Iterator[tuple[int, int]]
) -> TestSummary:
    known = list(found)
    ran = _ran(known, rows) if any(is_notable(value) for _, value in known) else []
    last = result_of(known[0][1])
    times = sorted(milliseconds_of(value) for _, value in known)
    turns = count_turns(each.is_failing for each in ran)
    return TestSummary(
        case=case_id(*pair),
        suite=pair[0],
        name=pair[1],
        flow=flow,
        step=step,
        state=_state_of(last.status, ran, turns),
        last_status=last.status,
        last_run=rows[0].run,
        last_at=rows[0].at,
        last_milliseconds=last.milliseconds,
        p50_milliseconds=times[len(times) // 2],
        runs=len(known),
        failed_runs=sum(each.is_failing for each in ran),
        turns=turns,
    )


def _ran(known: Iterable[tuple[int, int]], rows: Sequence[ReportRow]) -> list[_Ran]:
    """The runs in which a test was not skipped."""
    ran = []
    for number, value in known:
        result = result_of(value)
        if result.status != "skipped":
            ran.append(_Ran(result.status in FAILING, result.is_mixed, rows[number].sha))
    return ran


def _state_of(status: str, ran: Sequence[_Ran], turns: int) -> TestState:
    ended = {(each.sha, each.is_failing) for each in ran if each.sha is not None}
    both_ways = len(ended) > len({sha for sha, _ in ended})
    if turns >= FLAKY_TURNS or both_ways or any(each.is_mixed for each in ran):
        return "flaky"
    if status in FAILING:
        return "failing"
    return "skipped" if status == "skipped" else "passing"
