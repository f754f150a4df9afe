"""Runs of one concurrency group exclude each other; a newer one may cancel an older one."""

import asyncio

from pitstop.runs.groups import Groups
from pitstop.service.caller import LOCAL
from pitstop.service.runs import RunQuery
from tests.patience import wait_until
from tests.platform.workbench import Workbench

FLOW = """\
on: push
concurrency: {{group: "${{{{ .trigger.branch }}}}", cancel: {}}}
steps:
  - {{id: work, run: 'until test -e {}; do sleep 0.02; done'}}
"""


async def statuses(bench: Workbench) -> list[str]:
    listed = await bench.house.service.runs.list(LOCAL, RunQuery(repo=bench.repo))
    return [run.status for run in reversed(listed.runs)]


async def test_a_newer_run_cancels_the_older_one_of_its_branch_and_says_so(bench: Workbench) -> None:
    gate = bench.clone.parent / "gate"
    await bench.push_flow(FLOW.format("true", gate))
    await bench.push("HEAD:other")
    await wait_until(lambda: _all_running(bench, 2))
    await bench.commit()
    await bench.push()
    newer = (await bench.firings())[-1].run
    await wait_until(lambda: _first_is(bench, "cancelled"))
    gate.touch()

    first, other, second = await bench.runs()
    assert [run.status for run in (first, other, second)] == ["cancelled", "passed", "passed"]
    assert (first.error or "").endswith(f"superseded by run {newer}")


async def _all_running(bench: Workbench, count: int) -> bool:
    return await statuses(bench) == ["running"] * count


async def _first_is(bench: Workbench, status: str) -> bool:
    return (await statuses(bench))[0] == status


async def test_without_cancel_the_newer_run_waits_for_the_older_one(bench: Workbench) -> None:
    gate = bench.clone.parent / "gate"
    await bench.push_flow(FLOW.format("false", gate))
    await wait_until(lambda: _all_running(bench, 1))
    await bench.commit()
    await bench.push()
    await bench.firings()
    assert await statuses(bench) == ["running", "pending"]
    gate.touch()

    first, second = await bench.runs()
    assert (first.status, second.status) == ("passed", "passed")
    assert (second.started_at or 0) >= (first.ended_at or 0)


async def test_a_waiting_run_can_be_let_in_to_be_ended() -> None:
    groups, order = Groups(), []

    async def member(run: str, release: asyncio.Event) -> None:
        async with groups.turn("g", run, lambda _: None, cancels_others=False):
            order.append(run)
            await release.wait()

    releases = [asyncio.Event() for _ in range(3)]
    async with asyncio.TaskGroup() as tasks:
        for number, release in enumerate(releases):
            tasks.create_task(member(str(number), release))
            await asyncio.sleep(0)
        groups.let_in("2")
        await asyncio.sleep(0)
        assert order == ["0", "2"]
        for release in releases:
            release.set()
    assert order == ["0", "2", "1"]
