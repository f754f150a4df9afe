"""What the stored test reports of runs say: comparison, history, flaky and slow tests."""

from collections.abc import AsyncIterator, Mapping, Sequence
from itertools import count
from typing import Any

import pytest
from sqlalchemy import select

from pitstop.errors import BadCursor
from pitstop.events.types import AnyEvent, Rewound
from pitstop.platform.stored import test_report_rows as rows_module
from pitstop.platform.stored.test_report_consumer import TestReportConsumer
from pitstop.platform.stored.test_report_rows import test_failures, test_names, test_reports
from pitstop.platform.stored.test_reports import StoredTestReports
from pitstop.runs.reports import compared_tests
from pitstop.runs.test_results import TestComparison
from pitstop.steps.junit import CaseStatus
from pitstop.store.sql.consumers import Consumers
from pitstop.store.sql.store import SqlStore, open_sql_store
from tests.contracts.store import record
from tests.platform.reports.logs import ENDED, STARTED, SUITE, finished, reported

P: CaseStatus = "passed"
F: CaseStatus = "failed"
NUMBERS = count(1)


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[SqlStore]:
    store = await open_sql_store(database_url)
    yield store
    await store.close()


class Shop:
    """Runs of a flow of its own repository, each a minute after the last, and the reports that are stored of them."""

    def __init__(self, store: SqlStore) -> None:
        self.store = store
        self.reports = StoredTestReports(store.database)
        self.repo = f"shop-{next(NUMBERS)}"
        self._count = 0

    async def run(self, cases: Mapping[str, CaseStatus], *, ref: str | None = "main", **fields: Any) -> str:
        """A run that reports these cases, on a commit of its own unless one is given."""
        sha = fields.pop("sha", f"{self._count:040x}")
        return await self.run_of([*reported(cases)], ref=ref, sha=sha, **fields)

    async def run_of(self, events: Sequence[AnyEvent], **fields: Any) -> str:
        self._count += 1
        name = f"{self.repo}-run-{self._count:04}"
        of_repo = {"repo": self.repo, "file": f"{self.repo}:ci", "ref": "main"}
        own = {"created_at": 60.0 * self._count, "status": "passed", **of_repo, **fields}
        kept = await self.store.create(record(name, **own))
        for event in (*STARTED, *events, ENDED):
            kept.log.append(event)
        await kept.log.settled()
        await self.feed()
        return name

    async def feed(self) -> None:
        consumer = TestReportConsumer(self.store.database)
        await Consumers(self.store.database, self.store.news, [consumer]).catch_up()

    async def changes(self, run: str, default_branch: str | None = "main") -> dict[str, str]:
        """The change of each test that failed or changed."""
        found = await self.comparison(run, default_branch)
        return {case.name: case.change for case in found.cases}

    async def comparison(self, run: str, default_branch: str | None = "main") -> TestComparison:
        return await compared_tests(self.store, await self.store.open(run, events=False), default_branch)

    async def rows(self, table: Any) -> int:
        """How many rows of the table are of runs of this repository."""
        rows = await self.store.database.rows(select(table.c.run).where(table.c.run.startswith(self.repo + "-")))
        return len(rows)

    async def names(self) -> set[bytes]:
        """The hashes of all names that are stored."""
        return {row.hash for row in await self.store.database.rows(select(test_names.c.hash))}


@pytest.fixture
def shop(store: SqlStore) -> Shop:
    return Shop(store)


# --- One run ---------------------------------------------------------------------------------------------------------


async def test_a_run_is_compared_with_the_last_run_on_the_same_branch_and_says_which(shop: Shop) -> None:
    await shop.run({"tax": F, "sum": F, "old": P, "cents": P}, ref="topic")
    base = await shop.run({"tax": F, "sum": F, "old": P, "cents": P}, ref="topic")
    await shop.run({"tax": P}, ref="main")
    run = await shop.run({"tax": F, "sum": P, "cents": F, "added": F, "fine": P}, ref="topic")

    found = await shop.comparison(run)

    assert await shop.changes(run) == {
        "cents": "new",
        "added": "new",
        "tax": "still_failing",
        "sum": "fixed",
        "old": "removed",
    }
    assert found.compared_with is not None
    assert (found.compared_with.run, found.compared_with.ref, found.compared_with.created_at) == (base, "topic", 120.0)
    assert [(step.step, step.total, step.failed) for step in found.steps] == [("test", 5, 3)]
    assert next(case.message for case in found.cases if case.name == "tax") == "tax is wrong, 7 times"


async def test_a_new_branch_is_compared_with_the_default_branch(shop: Shop) -> None:
    on_main = await shop.run({"tax": P}, ref="main")
    run = await shop.run({"tax": F}, ref="topic")

    found = await shop.comparison(run, "main")

    assert found.compared_with is not None
    assert (found.compared_with.run, found.compared_with.ref) == (on_main, "main")
    assert await shop.changes(run, "main") == {"tax": "new"}
    assert (await shop.comparison(run, None)).compared_with is None
    assert await shop.changes(run, None) == {"tax": ""}


async def test_a_run_without_a_repository_is_compared_with_the_last_run_of_its_file(shop: Shop) -> None:
    of_file: dict[str, Any] = {"repo": None, "ref": None, "sha": None, "file": f"/{shop.repo}/ci.yaml"}
    base = [await shop.run({"tax": status}, **of_file) for status in (F, P, F, P)][-1]
    await shop.run({"tax": F}, **{**of_file, "file": f"/{shop.repo}/other.yaml"})
    run = await shop.run({"tax": F}, **of_file)

    found = await shop.comparison(run)

    assert found.compared_with is not None
    assert (found.compared_with.run, found.compared_with.ref) == (base, None)
    assert await shop.changes(run) == {"tax": "new"}  # files are edited between such runs: turns say nothing


async def test_a_test_that_passed_and_failed_on_one_commit_is_flaky(shop: Shop) -> None:
    await shop.run({"tax": P, "sum": P}, sha="a" * 40)
    run = await shop.run({"tax": F, "sum": P}, sha="a" * 40)

    assert await shop.changes(run) == {"tax": "flaky"}


async def test_a_test_that_turns_twice_on_a_branch_is_flaky(shop: Shop) -> None:
    run = [await shop.run({"tax": status, "sum": P}) for status in (P, F, F)][-1]
    assert await shop.changes(run) == {"tax": "still_failing"}

    run = await shop.run({"tax": P, "sum": P})

    assert await shop.changes(run) == {"tax": "flaky"}


async def test_a_test_that_failed_in_an_earlier_attempt_is_flaky_and_keeps_its_message(shop: Shop) -> None:
    attempts = [*reported({"tax": F, "sum": P}), *reported({"tax": P, "sum": P}, occurrence="test#2")]
    run = await shop.run_of(attempts, sha="a" * 40)

    (case,) = (await shop.comparison(run)).cases

    assert await shop.changes(run) == {"tax": "flaky"}
    assert (case.status, case.message) == ("passed", "tax is wrong, 7 times")


async def test_each_combination_of_a_matrix_has_its_own_report(shop: Shop) -> None:
    def legs(*statuses: CaseStatus) -> list[AnyEvent]:
        return [
            event
            for number, status in enumerate(statuses)
            for event in reported({"tax": status}, step="m.test", frame=f"m[{number}]", occurrence=f"m[{number}].test")
        ]

    await shop.run_of(legs(P, P))
    run = await shop.run_of(legs(P, F))

    (case,) = (await shop.comparison(run)).cases

    assert (case.step, case.change) == ("m[1].test", "new")


async def test_each_step_is_compared_with_the_last_run_that_reported_it(shop: Shop) -> None:
    both = await shop.run_of([*reported({"tax": P}, step="unit"), *reported({"click": P}, step="browser")])
    only_unit = await shop.run_of([*reported({"tax": P}, step="unit")])
    run = await shop.run_of([*reported({"tax": P}, step="unit"), *reported({"click": F}, step="browser")])

    found = await shop.comparison(run)

    assert {step.step: step.compared_with and step.compared_with.run for step in found.steps} == {
        "browser": both,
        "unit": only_unit,
    }
    assert found.compared_with is not None
    assert found.compared_with.run == only_unit
    assert [(case.step, case.change) for case in found.cases] == [("browser", "new")]


async def test_what_was_undone_by_going_back_is_not_stored(shop: Shop) -> None:
    before = len(STARTED)
    back = Rewound(4.0, "main", "main", "test", "before", before)
    run = await shop.run_of([*reported({"tax": F, "gone": P}), back, *reported({"tax": P})], sha="a" * 40)

    assert [(each.case, each.state) for each in (await shop.reports.tests_of(shop.repo, "main")).tests] == [
        (f"{SUITE}::tax", "passing")
    ]
    assert (await shop.comparison(run)).cases == ()
    assert await shop.rows(test_failures) == 0


async def test_a_run_that_goes_on_from_another_does_not_store_its_reports_again(shop: Shop) -> None:
    events = [*STARTED, *reported({"tax": F})]
    own = record(f"{shop.repo}-again", repo=shop.repo, file=f"{shop.repo}:ci", ref="main", carried_over=len(events))
    kept = await shop.store.create(own, events)
    kept.log.append(ENDED)
    await kept.log.settled()
    await shop.feed()

    assert await shop.rows(test_reports) == 0


@pytest.mark.parametrize("fields", [{"is_partial": True}, {"intervened": True}])
async def test_a_run_of_one_step_or_one_that_was_modified_is_not_stored(shop: Shop, fields: dict[str, Any]) -> None:
    await shop.run({"tax": F}, **fields)

    assert await shop.rows(test_reports) == 0


async def test_outputs_that_only_look_like_a_report_hold_up_nothing(shop: Shop) -> None:
    strange = [finished({"tests": {"failing": [1, {"name": 2}], "total": "many"}}), *reported({"tax": P}, step="unit")]
    run = await shop.run_of(strange)

    assert [step.step for step in (await shop.comparison(run)).steps] == ["test", "unit"]


async def test_reports_are_deleted_with_their_run_and_names_with_the_next_new_ones(shop: Shop) -> None:
    others = await shop.names()
    first = await shop.run({"tax": F, f"old in {shop.repo}": P})
    of_first = await shop.names() - others
    await shop.run({"tax": F, shop.repo: P})
    await shop.run({"tax": P, shop.repo: P})
    assert len(of_first) == 1
    assert len(await shop.names() - others) == 2  # an unchanged suite is stored once

    await shop.store.delete(first)

    assert (await shop.rows(test_reports), await shop.rows(test_failures)) == (2, 1)
    await shop.run({"tax": P, f"added in {shop.repo}": P})
    assert not of_first & await shop.names()


# --- The tests of a repository ---------------------------------------------------------------------------------------


async def test_tests_of_a_branch_are_listed_with_their_state(shop: Shop) -> None:
    await shop.run({"tax": P, "sum": P, "cents": P, "gone": P, "later": P})
    await shop.run({"tax": P, "sum": F, "cents": P, "later": P})
    last = await shop.run({"tax": F, "sum": P, "cents": P, "later": "skipped"})
    await shop.run({"elsewhere": F}, ref="topic")

    tests = {each.name: each for each in (await shop.reports.tests_of(shop.repo, "main")).tests}

    assert {name: each.state for name, each in tests.items()} == {
        "cents": "passing",
        "later": "skipped",
        "sum": "flaky",
        "tax": "failing",
    }
    assert (tests["sum"].turns, tests["sum"].failed_runs, tests["sum"].runs) == (2, 1, 3)
    assert (tests["tax"].flow, tests["tax"].step, tests["tax"].last_run) == ("ci", "test", last)
    assert [each.name for each in (await shop.reports.tests_of(shop.repo, "main", state="failing")).tests] == ["tax"]
    assert [each.name for each in (await shop.reports.tests_of(shop.repo, "main", state="flaky")).tests] == ["sum"]
    assert (await shop.reports.tests_of(shop.repo, "main", flow="nightly")).tests == ()


async def test_the_slowest_tests_come_first(shop: Shop) -> None:
    await shop.run_of([*reported({"slow": P}, step="browser", milliseconds=2000), *reported({"quick": P})])

    found = (await shop.reports.tests_of(shop.repo, "main", state="slow", limit=1)).tests

    assert [(each.name, each.p50_milliseconds, each.last_milliseconds) for each in found] == [("slow", 2000, 2000)]


@pytest.mark.parametrize("state", ["all", "slow"])
async def test_tests_come_in_pages(shop: Shop, state: Any) -> None:
    await shop.run({f"case {number}": P for number in range(7)})
    names, cursor = [], None
    while True:
        page = await shop.reports.tests_of(shop.repo, "main", state=state, cursor=cursor, limit=3)
        names += [each.name for each in page.tests]
        if (cursor := page.next) is None:
            break

    assert names == [f"case {number}" for number in range(7)]
    with pytest.raises(BadCursor):
        await shop.reports.tests_of(shop.repo, "main", cursor="nonsense")


async def test_the_history_of_a_test_has_every_run_that_has_it(shop: Shop) -> None:
    first = await shop.run({"tax": F, "sum": P})
    await shop.run({"sum": P})
    other = await shop.run({"tax": P}, ref="topic")
    last = await shop.run({"tax": "skipped", "added": P})

    page = await shop.reports.history(shop.repo, "ci", "test", f"{SUITE}::tax")
    on_main = await shop.reports.history(shop.repo, "ci", "test", f"{SUITE}::tax", ref="main")

    assert [(each.run, each.ref, each.status) for each in page.results] == [
        (last, "main", "skipped"),
        (other, "topic", "passed"),
        (first, "main", "failed"),
    ]
    assert [each.run for each in on_main.results] == [last, first]
    assert (page.results[2].milliseconds, page.results[2].message) == (5, "tax is wrong, 7 times")
    assert page.results[2].fingerprint is not None
    assert page.next is None
    assert (await shop.reports.history(shop.repo, "ci", "test", "unknown")).results == ()


async def test_the_history_of_a_test_comes_in_pages(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "PAGE", 2)
    runs = [await shop.run({"tax": P} if number % 3 else {"sum": P}) for number in range(8)]
    found, cursor, pages = [], None, 0
    while True:
        page = await shop.reports.history(shop.repo, "ci", "test", f"{SUITE}::tax", cursor=cursor, limit=2)
        found += [each.run for each in page.results]
        pages += 1
        if (cursor := page.next) is None:
            break

    assert found == [run for number, run in reversed(list(enumerate(runs))) if number % 3]
    assert pages == 3


async def test_a_test_that_is_rare_is_searched_for_in_portions(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "MOST_SEARCHED", 3)
    first = await shop.run({"rare": P})
    for _ in range(3):
        await shop.run({"tax": P})

    page = await shop.reports.history(shop.repo, "ci", "test", f"{SUITE}::rare")
    assert (page.results, page.next is None) == ((), False)
    page = await shop.reports.history(shop.repo, "ci", "test", f"{SUITE}::rare", cursor=page.next)

    assert [each.run for each in page.results] == [first]


async def test_the_trend_adds_the_steps_of_each_run(shop: Shop) -> None:
    await shop.run_of([*reported({"tax": F, "sum": "error"}), *reported({"click": "skipped"}, step="browser")])
    last = await shop.run({"tax": P})

    newest, oldest = await shop.reports.trend(shop.repo, "main", "ci")

    assert (newest.run, newest.total, newest.failed) == (last, 1, 0)
    assert (oldest.total, oldest.failed, oldest.skipped) == (3, 2, 1)
    assert oldest.seconds == pytest.approx(0.015)
