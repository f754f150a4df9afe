"""A log that keeps what it is told: no step acts before its start is kept, nor at all when the log is lost."""

import asyncio
from typing import Any

import pytest

from pitstop import Graph
from pitstop.definition.graph import END, START
from pitstop.engine.frame import Activation
from pitstop.errors import LogLost
from pitstop.events.log import MemoryLog
from pitstop.events.types import AnyEvent, RunEnded, StepFinished, StepStarted
from tests.engine.flows import Bench, call, flow, leaf, living_tasks, parallel, sequence, takes
from tests.engine.virtual_time import now, virtual_time


class SlowLog(MemoryLog):
    """Keeps events a second after they came; lost from the moment that the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[AnyEvent] = []
        self.is_lost = False
        self.after_loss: list[AnyEvent] = []

    def append(self, event: AnyEvent) -> None:
        if self.is_lost:
            self.after_loss.append(event)
        super().append(event)

    async def settled(self) -> None:
        told = len(self)
        await asyncio.sleep(1)
        if self.is_lost:
            raise LogLost("run-1")
        self.kept = list(self.read()[:told])


def occurrences(events: list[AnyEvent], kind: type[StepStarted] | type[StepFinished]) -> list[str]:
    return [event.occurrence for event in events if isinstance(event, kind)]


@virtual_time
async def test_a_step_acts_when_its_start_and_all_ends_before_it_are_kept() -> None:
    log = SlowLog()
    seen: list[tuple[list[str], list[str]]] = []

    def look(activation: Activation) -> None:
        seen.append((occurrences(log.kept, StepStarted), occurrences(log.kept, StepFinished)))

    await Bench(flow(leaf("a", look), sequence("s", leaf("b", look))), log=log).execute()

    assert seen == [(["a"], []), (["a", "s", "s.b"], ["a"])]


@virtual_time
async def test_it_is_waited_for_once_for_each_step_that_acts_and_not_for_those_around_it() -> None:
    log = SlowLog()

    await Bench(flow(sequence("s", leaf("a"), leaf("b")), leaf("c", condition="false")), log=log).execute()

    assert now() == 2


@virtual_time
async def test_the_wait_is_not_charged_to_the_step() -> None:
    log = SlowLog()

    await Bench(flow(leaf("a", takes(1), timeout_seconds=1.5)), log=log).execute()

    assert Bench(flow(leaf("a")), log=log).finished["a"].value == "passed"


@virtual_time
async def test_nodes_of_a_graph_wait_for_it_too() -> None:
    log = SlowLog()
    seen: list[list[str]] = []

    def node(state: dict[str, Any]) -> None:
        seen.append(occurrences(log.kept, StepStarted))

    graph = Graph()
    graph.add_node("a", node)
    graph.add_node("b", node)
    graph.add_edge(START, "a")
    graph.add_edge("a", "b")
    graph.add_edge("b", END)

    await graph.compile().invoke({}, log=log)

    assert seen == [["a"], ["a", "b"]]


@virtual_time
async def test_a_run_whose_log_is_lost_ends_without_acting_or_writing_any_more() -> None:
    log = SlowLog()
    plan = flow(
        call("c", leaf("a"), leaf("b", takes(60)), cleanup=(leaf("inner"),)), leaf("d"), cleanup=[leaf("outer")]
    )
    bench = Bench(plan, log=log)
    asyncio.get_running_loop().call_later(1.5, setattr, log, "is_lost", True)

    with pytest.raises(LogLost):
        await bench.execute()

    assert bench.ran == ["c.a"], "b had begun to wait, and no cleanup runs"
    assert [type(event) for event in log.after_loss] == []
    assert not any(isinstance(event, RunEnded) for event in log.read())
    assert living_tasks() == set()


@virtual_time
async def test_a_log_that_is_lost_in_a_branch_ends_the_others_at_once() -> None:
    log = SlowLog()
    part = sequence("s", leaf("b", takes(1)), leaf("c"))
    bench = Bench(flow(parallel("p", leaf("a", takes(60)), part), cleanup=[leaf("k")]), log=log)
    asyncio.get_running_loop().call_later(2.5, setattr, log, "is_lost", True)

    with pytest.raises(LogLost):
        await bench.execute()

    assert now() == 3
    assert bench.ran == ["p.a", "p.s.b"]
    assert log.after_loss == []
    assert living_tasks() == set()


@virtual_time
async def test_whoever_hears_first_that_the_run_is_anothers_may_end_it() -> None:
    bench = Bench(flow(parallel("p", leaf("a", takes(60)), leaf("b", takes(60))), cleanup=[leaf("k")]))
    asyncio.get_running_loop().call_later(1, bench.run.lose, LogLost("run-1"))

    with pytest.raises(LogLost, match="run-1"):
        await bench.execute()

    assert now() == 1
    assert bench.ran == ["p.a", "p.b"]
    assert not any(isinstance(event, StepFinished | RunEnded) for event in bench.events)


@virtual_time
async def test_the_task_that_ran_it_is_not_left_cancelled() -> None:
    bench = Bench(flow(leaf("a", takes(60))))
    asyncio.get_running_loop().call_later(1, bench.run.lose, LogLost("run-1"))

    with pytest.raises(LogLost):
        await bench.execute()

    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    await asyncio.sleep(1)
