"""`card:` and `trigger:` after a step: runs make cards and start them."""

from pitstop.service.caller import LOCAL
from pitstop.service.cards import Work
from tests.platform.card_bench import card_of, cards_of, settled
from tests.platform.workbench import Workbench

FAILS = """\
on: push
steps:
  - {id: build, run: echo one line; exit 3, on_failure: "card:Repair the build"}
  - {id: after, run: echo after}
"""


async def test_a_failing_step_makes_a_card_with_its_log_and_the_run_still_fails(bench: Workbench) -> None:
    await bench.push_flow(FAILS)
    (run,) = await bench.runs()
    assert (run.status, [each.step for each in run.failures]) == ("failed", ["build"])
    (column, *_) = (await cards_of(bench).board(LOCAL, bench.repo)).columns
    (card,) = column.cards
    assert (card.title, card.by) == ("Repair the build", f"run {run.id}")
    description = (await cards_of(bench).get(LOCAL, card.id)).description
    assert "exit code 3" in description
    assert "one line" in description
    assert run.id in description


async def test_a_step_that_passes_makes_no_card(bench: Workbench) -> None:
    await bench.push_flow(FAILS.replace("exit 3", "exit 0"))
    (run,) = await bench.runs()
    assert run.status == "passed"
    assert (await cards_of(bench).board(LOCAL, bench.repo)).columns[0].count == 0


async def test_a_failing_step_starts_a_card(bench: Workbench) -> None:
    await bench.push_flow()
    await bench.runs()
    card = await card_of(bench, Work(run="echo repaired > build.txt"))
    await bench.push_flow(FAILS.replace("card:Repair the build", f"trigger:{card.id}"))
    _, run = await bench.runs()
    assert run.status == "failed"
    assert (await settled(bench, card.id)).status == "in_review"
    (attempt,) = await cards_of(bench).attempts(LOCAL, card.id)
    assert attempt.by == f"run {run.id}"
