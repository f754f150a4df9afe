"""The public face of graphs: invoke, stream, and going on from a log, also in another process."""

import asyncio
import contextlib
import json
import operator
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pitstop import END, START, Graph, GraphApp, MemoryLog, Status
from pitstop.errors import BadLog, PitstopError
from pitstop.events.log import events_from_json, events_to_json
from pitstop.events.outcome import Outcome
from pitstop.events.types import AnyEvent, RunEnded, RunStarted, StepFinished, StepRouted, StepStarted
from pitstop.events.view import fold
from tests.engine.flows import living_tasks
from tests.engine.virtual_time import run_virtual, virtual_time

State = dict[str, Any]
Node = Callable[[State], Any]


def chain(*nodes: Node, name: str = "graph") -> GraphApp:
    graph = Graph(name=name)
    names = [f"n{number}" for number in range(len(nodes))]
    for node_name, node in zip(names, nodes, strict=True):
        graph.add_node(node_name, node)
    for source, target in zip([START, *names], [*names, END], strict=True):
        graph.add_edge(source, target)
    return graph.compile()


def add_one(state: State) -> State:
    return {"n": state["n"] + 1}


async def for_ever(state: State) -> None:
    await asyncio.get_running_loop().create_future()


# --- Invoke ----------------------------------------------------------------------------------------------------------


async def test_the_result_tells_how_it_ended_and_what_each_node_did() -> None:
    result = await chain(add_one, add_one).invoke({"n": 0})

    assert (result.status, result.state, result.error, result.exception) == (Status.PASSED, {"n": 2}, None, None)
    assert result.steps == {"n0": Outcome(Status.PASSED, {"n": 1}), "n1": Outcome(Status.PASSED, {"n": 2})}
    assert result.intervened == ()


async def test_one_app_runs_many_times_at_once() -> None:
    async def slow(state: State) -> State:
        for _ in range(state["n"] % 5):
            await asyncio.sleep(0)
        return {"twice": state["n"] * 2}

    graph = Graph(reducers={"said": operator.add})
    for name in ("a", "b", "c"):
        graph.add_node(name, slow if name == "a" else lambda state: {"said": [state["n"]]})
    for source, target in [(START, "a"), ("a", ["b", "c"]), ("b", END), ("c", END)]:
        graph.add_edge(source, target)
    app = graph.compile()

    results = await asyncio.gather(*(app.invoke({"n": number}) for number in range(100)))

    assert [result.state for result in results] == [
        {"n": number, "twice": 2 * number, "said": [number, number]} for number in range(100)
    ]


def test_one_app_runs_on_one_event_loop_after_another() -> None:
    app = chain(add_one)

    assert [asyncio.run(app.invoke({"n": number})).state for number in range(3)] == [{"n": 1}, {"n": 2}, {"n": 3}]


async def test_an_error_of_the_tree_has_a_code() -> None:
    result = await chain(lambda state: 7).invoke({})

    assert isinstance(result.exception, PitstopError)
    assert result.exception.code == "step.bad_update"


async def test_a_state_that_is_no_mapping_is_refused() -> None:
    with pytest.raises((TypeError, ValueError)):
        await chain(add_one).invoke(7)  # type: ignore[arg-type]


async def test_without_a_state_there_has_to_be_a_log_that_has_one() -> None:
    with pytest.raises(BadLog, match="no initial state"):
        await chain(add_one).invoke(None)
    with pytest.raises(BadLog, match="no initial state"):
        await chain(add_one).invoke(None, log=MemoryLog())


async def test_nothing_is_left_when_it_is_cancelled() -> None:
    app = chain(add_one, for_ever)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(app.invoke({"n": 0}))
        await asyncio.sleep(0)
        task.cancel()

    assert task.cancelled()
    assert living_tasks() == set()


# --- Stream ----------------------------------------------------------------------------------------------------------


async def test_a_stream_gives_every_event_as_it_happens() -> None:
    let_go = asyncio.Event()

    async def wait(state: State) -> None:
        await let_go.wait()

    seen: list[AnyEvent] = []
    async for event in chain(add_one, wait).stream({"n": 0}):
        seen.append(event)
        if isinstance(event, StepStarted) and event.step == "n1":
            assert not let_go.is_set(), "it came while the node was running"
            let_go.set()

    assert isinstance(seen[0], RunStarted)
    assert isinstance(seen[-1], RunEnded)
    assert fold(seen).status == "passed"


async def test_a_stream_goes_into_the_log_that_was_given() -> None:
    log = MemoryLog()

    seen = [event async for event in chain(add_one).stream({"n": 0}, log=log)]

    assert seen == list(log.read())


async def test_a_stream_that_goes_on_from_a_log_gives_what_is_new() -> None:
    app = chain(add_one, add_one)
    whole = [event async for event in app.stream({"n": 0})]
    cut = next(number for number, event in enumerate(whole) if isinstance(event, StepFinished)) + 1

    new = [event async for event in app.stream(None, log=MemoryLog(whole[:cut]))]

    assert [event.step for event in new if isinstance(event, StepStarted)] == ["n1"]
    assert isinstance(new[-1], RunEnded)


async def test_a_failing_run_is_streamed_to_its_end() -> None:
    def fail(state: State) -> None:
        raise ValueError("no")

    last = [event async for event in chain(fail).stream({})][-1]

    assert isinstance(last, RunEnded)
    assert last.outcome.status is Status.FAILED


async def test_leaving_a_stream_early_cancels_the_run() -> None:
    ended = asyncio.Event()

    async def note_end(state: State) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.set()

    async with contextlib.aclosing(chain(note_end).stream({})) as events:  # type: ignore[type-var]
        async for event in events:
            if isinstance(event, StepStarted):
                break

    assert ended.is_set(), "it is over as soon as the stream is closed"
    assert living_tasks() == set()


async def test_breaking_out_of_a_stream_without_closing_it_cancels_the_run_too() -> None:
    ended = asyncio.Event()
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))

    async def note_end(state: State) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.set()

    async for event in chain(note_end).stream({}):
        if isinstance(event, StepStarted):
            break

    async with asyncio.timeout(60):
        await ended.wait()
        await asyncio.gather(
            *(task for task in asyncio.all_tasks() if task is not asyncio.current_task()), return_exceptions=True
        )
    assert complaints == []


async def test_an_error_in_the_body_of_the_loop_is_the_callers_and_ends_the_run() -> None:
    with pytest.raises(ValueError, match="mine"):
        async with contextlib.aclosing(chain(for_ever).stream({})) as events:  # type: ignore[type-var]
            async for event in events:
                if isinstance(event, StepStarted):
                    raise ValueError("mine")

    assert living_tasks() == set()


async def test_a_stream_that_cannot_begin_says_why_by_name() -> None:
    with pytest.raises(BadLog, match="no initial state"):
        async for _ in chain(add_one).stream(None):
            pass


async def test_a_stream_on_a_log_of_something_else_says_so_by_name() -> None:
    log = MemoryLog()
    await chain(add_one, name="one").invoke({"n": 0}, log=log)

    with pytest.raises(BadLog, match="'one'"):
        async for _ in chain(add_one, name="other").stream(None, log=log):
            pass


# --- Going on from a log ---------------------------------------------------------------------------------------------


class Counted:
    """Nodes that count how often they ran, in all runs together."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def node(self, name: str, seconds: float = 0, **update: Any) -> Node:
        async def run(state: State) -> State:
            self.ran.append(name)
            await asyncio.sleep(seconds)
            return {"said": [name], **update}

        return run

    def flaky(self, name: str, failures: int) -> Node:
        """Fails until it was tried often enough in this process; a run that goes on starts counting anew."""
        tries = 0

        def run(state: State) -> State:
            nonlocal tries
            tries += 1
            self.ran.append(name)
            if tries % (failures + 1):
                raise ValueError(f"try {tries}")
            return {"said": [name]}

        return run


def straight(counted: Counted) -> Graph:
    return _joined(counted, {START: "a", "a": "b", "b": "c", "c": END})


def fan_out(counted: Counted) -> Graph:
    return _joined(counted, {START: "a", "a": ["b", "c", "d"], "b": "e", "e": "z", "c": "z", "d": END, "z": END})


def fan_out_in_fan_out(counted: Counted) -> Graph:
    return _joined(counted, {START: ["a", "b"], "a": ["c", "d"], "c": "e", "d": "e", "e": "z", "b": "z", "z": END})


def loop(counted: Counted) -> Graph:
    graph = _joined(counted, {START: "a", "a": "b", "b": [], "c": END})
    graph.add_conditional_edge("b", lambda state: "a" if len(state["said"]) < 7 else "c", ["a", "c"])
    return graph


def loop_with_branches(counted: Counted) -> Graph:
    graph = _joined(counted, {START: "a", "a": ["b", "c"], "b": "d", "c": "d", "d": []})
    graph.add_conditional_edge("d", lambda state: "a" if len(state["said"]) < 9 else END, ["a", END])
    return graph


def router_to_branches(counted: Counted) -> Graph:
    graph = _joined(counted, {"a": "z", "b": "z", "c": END, "z": END})
    graph.add_conditional_edge(START, lambda state: ["a", "b"], ["a", "b", "c"])
    return graph


def nested(counted: Counted) -> Graph:
    graph = _joined(counted, {START: "a", "a": ["in1", "in2"], "in1": "z", "in2": "z", "z": END}, but=("in1", "in2"))
    graph.add_node("in1", fan_out(counted))
    graph.add_node("in2", loop(counted))
    return graph


def nested_in_a_loop(counted: Counted) -> Graph:
    graph = _joined(counted, {START: "a", "a": "inner", "inner": []}, but=("inner",))
    graph.add_node("inner", straight(counted))
    graph.add_conditional_edge("inner", lambda state: "a" if len(state["said"]) < 6 else END, ["a", END])
    return graph


def failing(counted: Counted) -> Graph:
    def fail(state: State) -> None:
        counted.ran.append("b")
        raise ValueError("broken")

    graph = _joined(counted, {START: "a", "a": "b", "b": "c", "c": END}, but=("b",))
    graph.add_node("b", fail)
    return graph


def _joined(counted: Counted, edges: dict[str, Any], but: tuple[str, ...] = ()) -> Graph:
    graph = Graph(reducers={"said": operator.add})
    for number, name in enumerate(name for name in edges if name != START and name not in but):
        graph.add_node(name, counted.node(name, seconds=(7 * number) % 3, **{f"by_{name}": number}))
    for source, targets in edges.items():
        if targets:
            graph.add_edge(source, targets)
    return graph


SHAPES = [
    straight,
    fan_out,
    fan_out_in_fan_out,
    loop,
    loop_with_branches,
    router_to_branches,
    nested,
    nested_in_a_loop,
    failing,
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
@pytest.mark.parametrize("as_json", [False, True], ids=["in memory", "as json"])
def test_cut_at_every_event_a_graph_ends_the_same_and_no_finished_node_runs_again(
    shape: Callable[[Counted], Graph], as_json: bool
) -> None:
    counted = Counted()
    app = shape(counted).compile()
    log = MemoryLog()
    expected = run_virtual(app.invoke({"said": [], "given": 1}, log=log))
    events = list(log.read())
    total = sorted(counted.ran)

    for cut in range(1, len(events) + 1):
        known = events[:cut]
        if as_json:
            known = events_from_json(json.loads(json.dumps(events_to_json(known))))
        counted.ran.clear()

        result = run_virtual(app.invoke(None, log=MemoryLog(known)))

        where = f"cut after event {cut}: {known[-1]}"
        assert (result.status, result.state) == (expected.status, expected.state), where
        assert {path: end.status for path, end in result.steps.items()} == {
            path: end.status for path, end in expected.steps.items()
        }, where
        nodes = app.plan.steps
        finished = [
            nodes[event.step].local
            for event in known
            if isinstance(event, StepFinished) and not nodes[event.step].children
        ]
        assert sorted(counted.ran + finished) == total, where


def test_what_a_router_chose_comes_from_the_log() -> None:
    asked: list[str] = []

    def choose(state: State) -> str:
        asked.append("asked")
        return "left" if len(asked) == 1 else "right"

    graph = Graph(reducers={"said": operator.add})
    counted = Counted()
    for name in ("a", "left", "right"):
        graph.add_node(name, counted.node(name))
    graph.add_edge(START, "a")
    graph.add_conditional_edge("a", choose, ["left", "right"])
    graph.add_edge("left", END)
    graph.add_edge("right", END)
    app = graph.compile()
    log = MemoryLog()
    run_virtual(app.invoke({"said": []}, log=log))
    cut = next(number for number, event in enumerate(log.read()) if isinstance(event, StepRouted)) + 1

    result = run_virtual(app.invoke(None, log=MemoryLog(log.read()[:cut])))

    assert result.state == {"said": ["a", "left"]}
    assert asked == ["asked"]


@virtual_time
async def test_attempts_that_failed_are_not_made_again() -> None:
    counted = Counted()
    graph = Graph(reducers={"said": operator.add})
    graph.add_node("a", counted.flaky("a", 2), retries=2, retry_delay=1)
    graph.add_node("b", counted.node("b"))
    for source, target in [(START, "a"), ("a", "b"), ("b", END)]:
        graph.add_edge(source, target)
    app = graph.compile()
    log = MemoryLog()
    await app.invoke({"said": []}, log=log)
    ends = [number for number, event in enumerate(log.read()) if isinstance(event, StepFinished)]

    counted.ran.clear()
    result = await app.invoke(None, log=MemoryLog(log.read()[: ends[2] + 1]))

    assert result.state == {"said": ["a", "b"]}
    assert counted.ran == ["b"]


async def test_a_log_whose_nodes_the_graph_does_not_have_is_refused() -> None:
    log = MemoryLog()
    await chain(add_one).invoke({"n": 0}, log=log)
    other = Graph()
    other.add_node("elsewhere", add_one)
    other.add_edge(START, "elsewhere")
    other.add_edge("elsewhere", END)

    with pytest.raises(BadLog, match="n0"):
        await other.compile().invoke(None, log=MemoryLog(log.read()))


async def test_a_log_with_a_route_to_a_node_that_is_gone_is_refused_by_name() -> None:
    def app(target: str) -> GraphApp:
        graph = Graph()
        graph.add_node("a", lambda state: None)
        graph.add_node(target, lambda state: None)
        graph.add_edge(START, "a")
        graph.add_conditional_edge("a", lambda state: target, [target])
        graph.add_edge(target, END)
        return graph.compile()

    log = MemoryLog()
    await app("old").invoke({}, log=log)
    cut = next(number for number, event in enumerate(log.read()) if isinstance(event, StepRouted)) + 1

    with pytest.raises(BadLog, match="old"):
        await app("new").invoke(None, log=MemoryLog(log.read()[:cut]))


# --- After kill -9 ---------------------------------------------------------------------------------------------------

CHILD = textwrap.dedent(
    """
    import asyncio, json, os, sys
    from pathlib import Path
    from pitstop import END, START, Graph, MemoryLog
    from pitstop.events.log import events_from_json, events_to_json

    folder = Path(sys.argv[1])

    def node(name, waits=False):
        async def run(state):
            with (folder / f"ran-{name}").open("a") as file:
                file.write("x")
            if waits and not (folder / "go-on").exists():
                print(name, "waits", flush=True)
                await asyncio.get_running_loop().create_future()
            return {"said": [name]}
        return run

    class FileLog(MemoryLog):
        def append(self, event):
            super().append(event)
            with (folder / "log.jsonl").open("a") as file:
                file.write(json.dumps(events_to_json([event])[0]) + "\\n")

    def build():
        graph = Graph(reducers={"said": lambda old, new: old + new})
        inner = Graph(reducers={"said": lambda old, new: old + new})
        inner.add_node("x", node("x"))
        inner.add_node("y", node("y", waits=True))
        inner.add_edge(START, "x"); inner.add_edge("x", "y"); inner.add_edge("y", END)
        graph.add_node("a", node("a"))
        graph.add_node("b", node("b"))
        graph.add_node("inner", inner)
        graph.add_node("c", node("c"))
        graph.add_edge(START, "a"); graph.add_edge("a", ["b", "inner"])
        graph.add_edge("b", "c"); graph.add_edge("inner", "c"); graph.add_edge("c", END)
        return graph.compile()

    if __name__ == "__main__":
        asyncio.run(build().invoke({"said": []}, log=FileLog()))
    """
)


def test_a_run_whose_process_was_killed_goes_on_in_another(tmp_path: Path) -> None:
    script = tmp_path / "child.py"
    script.write_text(CHILD)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    child = subprocess.Popen([sys.executable, script, tmp_path], stdout=subprocess.PIPE, text=True, env=environment)
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == "y waits\n"
        child.send_signal(signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL

    events = events_from_json([json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()])
    (tmp_path / "go-on").touch()
    code: dict[str, Any] = {"__name__": "child"}
    argv, sys.argv = sys.argv, [str(script), str(tmp_path)]
    try:
        exec(compile(CHILD, str(script), "exec"), code)
    finally:
        sys.argv = argv
    result = asyncio.run(code["build"]().invoke(None, log=MemoryLog(events)))

    assert result.status is Status.PASSED
    assert result.state == {"said": ["a", "b", "x", "y", "c"]}
    times = {file.name.removeprefix("ran-"): len(file.read_text()) for file in tmp_path.glob("ran-*")}
    assert times == {"a": 1, "b": 1, "x": 1, "y": 2, "c": 1}, "only what was running when it died ran twice"
