"""Graphs in Python at the desk: found by name and run like flows, with their code in a thread of its own."""

import asyncio
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pitstop.errors import BadFlow, NoScopes
from pitstop.runs.graph_targets import read_target
from pitstop.service.caller import LOCAL
from pitstop.service.debugging import Debugger, verbs
from pitstop.service.runs import BreakpointRequest, DebugRequest, EventInfo, RerunRequest
from tests.contracts.service_desk import next_stop
from tests.service.desk import Desk

COUNTING = """
    from pitstop import END, START, Graph

    def first(state):
        print("first", state["count"])
        return {"count": state["count"] + 1}

    async def second(state):
        if state["count"] > 10:
            raise ValueError("too many")
        return {"seen": state["count"]}

    def make():
        graph = Graph("counting")
        graph.add_node("first", first)
        graph.add_node("second", second)
        graph.add_edge(START, "first")
        graph.add_edge("first", "second")
        graph.add_edge("second", END)
        return graph

    app = make().compile()
    """


@pytest.fixture(autouse=True)
def modules() -> Iterator[None]:
    """What a test imports is forgotten after it, but for our own modules: their classes are to stay the same."""
    known, paths = set(sys.modules), [*sys.path]
    yield
    sys.path[:] = paths
    for name in set(sys.modules) - known:
        if name.partition(".")[0] != "pitstop":
            del sys.modules[name]


def update_of(events: list[EventInfo], step: str) -> Any:
    (ended,) = [each for each in events if each.kind == "step.finished" and each.fields["step"] == step]
    return ended.fields["outcome"]["outputs"]


@pytest.mark.parametrize("name", ["app", "make"])
async def test_a_graph_runs_on_the_state_it_is_given(desk: Desk, name: str) -> None:
    summary, events = await desk.run(f"{desk.write(COUNTING, 'counting.py')}:{name}", inputs={"count": 1})

    assert summary.status == "passed"
    assert update_of(events, "second") == {"seen": 2}


async def test_a_module_is_looked_for_in_the_folder_that_is_named_before_it(desk: Desk) -> None:
    (desk.folder / "package").mkdir()
    (desk.folder / "package/__init__.py").touch()
    desk.write("from package.numbers import START_AT\n", "package/other.py")
    desk.write("START_AT = 5\n", "package/numbers.py")
    desk.write(COUNTING, "package/counting.py")
    summary, events = await desk.run(f"{desk.folder}/package.counting:app", inputs={"count": 5})

    assert (summary.status, update_of(events, "second")) == ("passed", {"seen": 6})


async def test_what_a_node_prints_is_in_its_log_and_nowhere_else(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    async with desk.start(f"{desk.write(COUNTING, 'counting.py')}:app", inputs={"count": 1}) as run:
        await run.wait()
        assert await run.log_tail("first") == ["first 1"]
    print("the test")

    assert capsys.readouterr().out == "the test\n"


async def test_whoever_hears_the_output_may_print_it(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    async with desk.start(f"{desk.write(COUNTING, 'counting.py')}:app", inputs={"count": 1}) as run:
        run.hear_output(lambda output: print(f"[{output.data.decode()}]", end=""))
        await run.wait()

    assert capsys.readouterr().out.replace("][", "") == "[first 1\n]"


async def test_a_run_goes_on_from_a_node_with_the_state_of_then(desk: Desk) -> None:
    target = f"{desk.write(COUNTING, 'counting.py')}:app"
    assert (await desk.run(target, inputs={"count": 10}))[0].status == "failed"
    desk.write(COUNTING.replace("> 10", "> 100"), "counting.py")
    async with desk.start(target, from_step="second") as run:
        events = [event async for event in run.events(run.carried_over)]
        assert (await run.wait()).status == "passed"

    assert [each.fields["step"] for each in events if each.kind == "step.started"] == ["second"]
    assert update_of(events, "second") == {"seen": 11}


async def test_code_that_is_changed_twice_in_a_second_is_the_last_one(desk: Desk) -> None:
    path = Path(desk.write(COUNTING, "counting.py"))
    os.utime(path, ns=(10**18, 10**18))
    before, _ = await desk.run(f"{path}:app", inputs={"count": 50})
    desk.write(COUNTING.replace("> 10", "> 90"), "counting.py")
    os.utime(path, ns=(10**18, 10**18 + 1))
    after, _ = await desk.run(f"{path}:app", inputs={"count": 50})

    assert (before.status, after.status) == ("failed", "passed")


async def test_a_run_of_the_past_can_be_looked_at_without_its_code_and_run_again_with_it(desk: Desk) -> None:
    target = f"{desk.write(COUNTING, 'counting.py')}:app"
    old, _ = await desk.run(target, inputs={"count": 3})
    code = (desk.folder / "counting.py").rename(desk.folder / "gone.py")
    async with desk.service as service:
        run = await service.runs.get(LOCAL, old.run)
        assert ((await run.info()).flow, run.flow.steps) == ("counting", ())
        first, *_, last = await service.debugging.say(LOCAL, run.id, verbs.History())
        with pytest.raises(NoScopes):
            await service.debugging.say(LOCAL, run.id, verbs.Diff(before=first.number, after=last.number))
        with pytest.raises(BadFlow, match="cannot read the file"):
            await service.runs.rerun(LOCAL, old.run, RerunRequest())
        code.rename(desk.folder / "counting.py")
        again = await service.runs.rerun(LOCAL, old.run, RerunRequest())
        assert (await again.wait()).status == "passed"


async def test_code_that_blocks_keeps_the_service_from_nothing(desk: Desk) -> None:
    blocking = COUNTING.replace('print("first", state["count"])', "print(); wait.wait()")
    blocking = blocking.replace("def first", "import threading\n    wait = threading.Event()\n\n    def first")
    target = f"{desk.write(blocking, 'blocking.py')}:app"
    async with desk.start(target, inputs={"count": 1}) as run:
        heard = asyncio.Event()
        run.hear_output(lambda output: heard.set())
        await heard.wait()
        await desk.opened.runs.cancel(LOCAL, run.id, "enough")
        assert (await run.wait()).status == "cancelled"
    sys.modules["blocking"].wait.set()


async def test_after_a_run_its_thread_is_over(desk: Desk) -> None:
    await desk.run(f"{desk.write(COUNTING, 'counting.py')}:app", inputs={"count": 1})
    for thread in threading.enumerate():
        if thread.name == "graph":
            thread.join(60)

            assert not thread.is_alive()


async def test_a_node_that_exits_fails_and_ends_nobody_else(desk: Desk) -> None:
    leaving = COUNTING.replace('print("first", state["count"])', "raise SystemExit(3)")
    summary, _ = await desk.run(f"{desk.write(leaving, 'leaving.py')}:app", inputs={"count": 1})

    assert (summary.status, summary.failures[0].message) == ("failed", "first raised SystemExit: 3")


async def test_the_debugger_stops_at_a_node_and_a_value_is_changed(desk: Desk) -> None:
    target = f"{desk.write(COUNTING, 'counting.py')}:app"
    async with desk.start(target, inputs={"count": 1}, debug=DebugRequest(stop_at_entry=True)) as run:
        events = run.events()
        stop = await anext(each.fields["stop"] async for each in events if each.kind == "debug.stopped")
        await desk.debugger(run).say(verbs.Set(stop, ".count", 7))
        await desk.debugger(run).say(verbs.Continue(stop))
        summary = await run.wait()
        told = [each async for each in run.events()]

    assert (summary.status, summary.intervened, update_of(told, "second")) == ("passed", True, {"seen": 8})


@pytest.mark.parametrize(
    ("text", "module", "name"),
    [
        ("graph.py:app", "graph.py", "app"),
        ("some/graph.py:graphs.inner", "graph.py", "graphs.inner"),
        ("package.module:app", "package.module", "app"),
        ("/abs/package.module:app", "package.module", "app"),
    ],
)
def test_names_of_graphs_are_told_from_those_of_flows(text: str, module: str, name: str) -> None:
    target = read_target(text)

    assert target is not None
    assert (target.module, target.name, target.folder.is_absolute()) == (module, name, True)


@pytest.mark.parametrize("text", ["ci", "ci.yaml", "flows/a:b.yaml", "graph.py", "http://here:80", "a-b:app", "x:1"])
def test_what_names_no_graph_is_a_flow(text: str) -> None:
    assert read_target(text) is None


def test_a_file_that_is_there_is_a_flow_whatever_it_is_called(tmp_path: Path) -> None:
    (tmp_path / "odd:name").touch()

    assert read_target(str(tmp_path / "odd:name")) is None


async def test_a_graph_that_was_left_goes_on_with_the_state_that_it_had(desk: Desk) -> None:
    target = f"{desk.write(COUNTING, 'counting.py')}:app"
    request = DebugRequest(breakpoints=(BreakpointRequest(step="second"),))
    async with desk.start(target, inputs={"count": 1}, debug=request) as run:
        stop = await next_stop(desk.opened, run)
        await desk.opened.runs.leave(LOCAL, run.id)

    async with desk.service as service:
        again = await service.runs.take_up(LOCAL, run.id, {})
        debugger = Debugger(service.debugging, LOCAL, run.id)
        assert (await debugger.say(verbs.Scope(stop.id))).scope["count"] == 2
        await debugger.say(verbs.Continue(stop.id))
        assert (await again.wait()).status == "passed"
        lines = await again.log_tail("first")
    assert lines == ["first 1"]
