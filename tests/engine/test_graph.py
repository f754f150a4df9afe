"""Graphs: which node runs when, on what state, and what becomes of what it returns."""

import asyncio
import functools
import operator
import threading
from collections import ChainMap, OrderedDict
from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pitstop import END, START, Graph, MemoryLog, RunResult, Status
from pitstop.errors import ConflictingUpdates, RecursionLimit, UnknownRoute
from pitstop.events.outcome import Outcome
from pitstop.events.types import FrameOpened, StepFinished, StepStarted
from tests.amounts import amount
from tests.engine.flows import living_tasks
from tests.engine.virtual_time import now, run_virtual, virtual_time

State = dict[str, Any]
Node = Callable[[State], Any]


def says(name: str) -> Node:
    """A node that adds its name to `said`."""

    async def node(state: State) -> State:
        await asyncio.sleep(0)
        return {"said": [name]}

    return node


def graph_of(
    edges: dict[str, Any], *, name: str = "graph", reducers: dict[str, Any] | None = None, **nodes: Any
) -> Graph:
    """A graph of nodes that say their names, joined by `edges`; a function in place of an edge is a router."""
    graph = Graph(name=name, reducers={"said": operator.add} if reducers is None else reducers)
    for node in dict.fromkeys([*edges, *(each for ends in edges.values() for each in _ends(ends))]):
        if node not in (START, END):
            graph.add_node(node, nodes.get(node, says(node)))
    for source, ends in edges.items():
        if callable(ends):
            graph.add_conditional_edge(source, ends)
        elif isinstance(ends, tuple):
            graph.add_conditional_edge(source, *ends)
        else:
            graph.add_edge(source, ends)
    return graph


def _ends(ends: Any) -> Iterable[str]:
    if isinstance(ends, tuple):
        ends = ends[1].values() if isinstance(ends[1], dict) else ends[1]
    return () if callable(ends) else [ends] if isinstance(ends, str) else ends


async def said(graph: Graph, **state: Any) -> list[str]:
    result = await graph.compile().invoke({"said": [], **state})
    assert result.status is Status.PASSED, result.error
    words: list[str] = result.state["said"]
    return words


async def run_nodes(*nodes: Node, state: State | None = None, **options: Any) -> RunResult:
    """A chain of these nodes, on a state."""
    graph = Graph()
    names = [f"n{number}" for number in range(len(nodes))]
    for name, node in zip(names, nodes, strict=True):
        graph.add_node(name, node, **options)
    for source, target in zip([START, *names], [*names, END], strict=True):
        graph.add_edge(source, target)
    return await graph.compile().invoke(state or {})


# --- Chains ----------------------------------------------------------------------------------------------------------


async def test_nodes_run_in_the_order_of_their_edges() -> None:
    assert await said(graph_of({START: "a", "a": "b", "b": "c", "c": END})) == ["a", "b", "c"]


async def test_an_update_replaces_the_keys_it_names_and_leaves_the_others() -> None:
    result = await run_nodes(
        lambda state: {"x": state["x"] + 1}, lambda state: {"y": state["x"]}, state={"x": 1, "z": 0}
    )

    assert result.state == {"x": 2, "y": 2, "z": 0}


async def test_what_was_given_to_invoke_is_not_changed() -> None:
    given: State = {"x": 1}

    await run_nodes(lambda state: {"x": 2}, state=given)

    assert given == {"x": 1}


async def async_function(state: State) -> State:
    await asyncio.sleep(0)
    return {"by": "async"}


def plain_function(state: State) -> State:
    return {"by": "plain"}


def returns_a_coroutine(state: State) -> Any:
    return async_function(state)


class AsyncCallable:
    async def __call__(self, state: State) -> State:
        return {"by": "async object"}

    async def method(self, state: State) -> State:
        return {"by": "method"}


class PlainCallable:
    def __call__(self, state: State) -> State:
        return {"by": "object"}


def with_argument(extra: str, state: State) -> State:
    return {"by": extra}


@pytest.mark.parametrize(
    ("node", "by"),
    [
        (async_function, "async"),
        (plain_function, "plain"),
        (returns_a_coroutine, "async"),
        (lambda state: {"by": "lambda"}, "lambda"),
        (AsyncCallable(), "async object"),
        (AsyncCallable().method, "method"),
        (PlainCallable(), "object"),
        (functools.partial(with_argument, "partial"), "partial"),
        (lambda state: asyncio.get_running_loop().run_in_executor(None, plain_function, state), "plain"),
    ],
)
async def test_anything_that_can_be_called_is_a_node(node: Node, by: str) -> None:
    result = await run_nodes(node)

    assert result.state == {"by": by}


async def test_a_callable_object_is_a_node_whatever_its_attributes_are_called() -> None:
    class Tool(PlainCallable):
        definition = "searches the web"

    result = await run_nodes(Tool())

    assert result.state == {"by": "object"}


class Frozen(OrderedDict[str, Any]):
    pass


@pytest.mark.parametrize(
    ("node", "state"),
    [
        (lambda state: None, {"x": 1}),
        (lambda state: {}, {"x": 1}),
        (lambda state: state, {"x": 1}),
        (lambda state: state.update(y=2) or state, {"x": 1, "y": 2}),
        (lambda state: state.update(x=1.0) or state, {"x": 1.0}),
        (lambda state: MappingProxyType({"y": 2}), {"x": 1, "y": 2}),
        (lambda state: ChainMap({"y": 2}, {"z": 3}), {"x": 1, "y": 2, "z": 3}),
        (lambda state: Frozen(y=2), {"x": 1, "y": 2}),
        (lambda state: {**state, "y": 2}, {"x": 1, "y": 2}),
    ],
    ids=["none", "nothing", "same", "mutated", "replaced", "proxy", "chain", "subclass", "whole"],
)
async def test_what_a_node_may_return(node: Node, state: State) -> None:
    result = await run_nodes(node, state={"x": 1})

    assert result.status is Status.PASSED, result.error
    assert result.state == state


async def test_a_key_taken_out_of_the_state_that_is_given_back_stays() -> None:
    def forget(state: State) -> State:
        del state["x"]
        return state

    result = await run_nodes(forget, state={"x": 1})

    assert result.state == {"x": 1}, "an update says what to change; it cannot remove"


async def test_a_change_to_the_state_that_is_not_returned_is_lost() -> None:
    def change(state: State) -> None:
        state["x"] = 2

    result = await run_nodes(change, state={"x": 1})

    assert result.state == {"x": 1}


@pytest.mark.parametrize(
    "returned", [1, "text", [("x", 1)], True, object(), {1, 2}, ValueError("not raised"), b"", 0, ""]
)
@pytest.mark.parametrize("options", [{}, {"timeout": 9}], ids=["plain", "with options"])
async def test_garbage_fails_the_node_and_names_what_it_was(returned: object, options: dict[str, Any]) -> None:
    result = await run_nodes(lambda state: {"x": 1}, lambda state: returned, **options)

    assert result.status is Status.FAILED
    assert result.error is not None
    assert (result.error.type, result.error.origin) == ("BadUpdate", "n1")
    assert type(returned).__name__ in result.error.message
    assert result.state == {"x": 1}


async def test_a_failing_node_ends_the_graph_and_the_state_is_as_it_was_before_it() -> None:
    def fail(state: State) -> State:
        state["x"] = "changed"
        raise ValueError("broken")

    result = await run_nodes(lambda state: {"x": 1}, fail, lambda state: {"x": 3})

    assert (result.status, result.state) == (Status.FAILED, {"x": 1})
    assert str(result.error) == "ValueError: broken"
    assert isinstance(result.exception, ValueError)
    assert {path: outcome.status for path, outcome in result.steps.items()} == {
        "n0": Status.PASSED,
        "n1": Status.FAILED,
    }


async def test_the_error_tells_where_in_the_nodes_code_it_was() -> None:
    def fail(state: State) -> State:
        raise ValueError("broken")

    result = await run_nodes(fail)

    assert result.error is not None
    assert result.error.trace is not None
    assert "in fail" in result.error.trace
    assert "test_graph.py" in result.error.trace


# --- Fan-out and join ------------------------------------------------------------------------------------------------


async def test_branches_run_beside_each_other_and_meet_once() -> None:
    both = asyncio.Barrier(2)

    async def meet(state: State) -> State:
        await both.wait()
        return {"said": ["met"]}

    graph = graph_of({START: "a", "a": ["b", "c"], "b": "d", "c": "d", "d": END}, b=meet, c=meet)

    assert await said(graph) == ["a", "met", "met", "d"]


async def test_what_branches_wrote_is_joined_in_the_order_of_the_edges() -> None:
    async def late(state: State) -> State:
        for _ in range(5):
            await asyncio.sleep(0)
        return {"said": ["late"]}

    graph = graph_of({START: ["a", "b", "c"], "a": END, "b": END, "c": END}, a=late)

    assert await said(graph) == ["late", "b", "c"]


async def test_a_branch_sees_its_own_writes_and_not_its_siblings() -> None:
    seen: dict[str, Any] = {}

    async def look(state: State) -> None:
        for _ in range(5):
            await asyncio.sleep(0)
        seen.update(state)

    graph = graph_of({START: ["a", "b"], "a": "look", "look": END, "b": END}, look=look)

    assert await said(graph, x=1) == ["a", "b"]
    assert seen == {"said": ["a"], "x": 1}


async def test_branches_that_write_different_keys_need_no_reducer() -> None:
    graph = graph_of({START: ["a", "b"], "a": END, "b": END}, reducers={}, a=lambda s: {"x": 1}, b=lambda s: {"y": 2})

    result = await graph.compile().invoke({"z": 0})

    assert result.state == {"x": 1, "y": 2, "z": 0}


async def test_branches_that_write_one_key_without_a_reducer_contradict_each_other() -> None:
    graph = graph_of({START: ["a", "b"], "a": END, "b": END}, reducers={}, a=lambda s: {"x": 1}, b=lambda s: {"x": 1})

    result = await graph.compile().invoke({"x": 0})

    assert result.status is Status.FAILED
    assert isinstance(result.exception, ConflictingUpdates)
    assert (result.exception.key, result.exception.branches) == ("x", ("a", "b"))
    assert "reducer" in str(result.error)
    assert result.state == {"x": 0}


async def test_one_branch_may_write_a_key_twice() -> None:
    graph = graph_of(
        {START: ["a", "b"], "a": "c", "c": END, "b": END},
        reducers={},
        a=lambda s: {"x": 1},
        c=lambda s: {"x": s["x"] + 1},
        b=lambda s: {"y": 1},
    )

    result = await graph.compile().invoke({})

    assert result.state == {"x": 2, "y": 1}


async def test_a_reducer_is_also_used_in_a_chain_and_not_for_a_key_that_was_not_there() -> None:
    graph = graph_of({START: "a", "a": ["b", "c"], "b": END, "c": END})

    result = await graph.compile().invoke({})

    assert result.state == {"said": ["a", "b", "c"]}


@pytest.mark.parametrize("options", [{}, {"timeout": 9}], ids=["plain", "with options"])
async def test_a_reducer_that_raises_fails_the_run(options: dict[str, Any]) -> None:
    graph = Graph(reducers={"x": operator.add})
    graph.add_node("a", lambda state: {"x": "text"}, **options)
    graph.add_edge(START, "a")
    graph.add_edge("a", END)

    result = await graph.compile().invoke({"x": 1})

    assert result.status is Status.FAILED
    assert result.error is not None
    assert (result.error.type, result.error.origin) == ("TypeError", "a")
    assert result.state == {"x": 1}
    assert result.steps["a"].status is Status.FAILED, "it is the node's update that could not be taken"


async def test_a_reducer_that_raises_at_a_join_fails_the_run() -> None:
    graph = graph_of(
        {START: ["a", "b"], "a": END, "b": END}, reducers={"x": max}, a=lambda s: {"x": 1}, b=lambda s: {"x": ""}
    )

    result = await graph.compile().invoke({})

    assert result.status is Status.FAILED
    assert isinstance(result.exception, TypeError)


async def test_three_branches_of_which_two_meet_earlier() -> None:
    edges = {START: ["a", "b", "c"], "a": "ab", "b": "ab", "ab": "abc", "c": "abc", "abc": END}

    assert await said(graph_of(edges)) == ["a", "b", "c", "ab", "abc"]


async def test_a_branch_may_lead_straight_to_where_the_others_meet() -> None:
    assert await said(graph_of({START: ["a", "join"], "a": "b", "b": "join", "join": END})) == ["a", "b", "join"]


async def test_a_branch_may_end_while_the_others_go_on() -> None:
    assert await said(graph_of({START: ["a", "b", "c"], "a": END, "b": "j", "c": "j", "j": END})) == [
        "a",
        "b",
        "c",
        "j",
    ]


async def test_branches_in_branches_meet_inside_first() -> None:
    edges = {START: ["a", "b"], "a": ["c", "d"], "c": "e", "d": "e", "e": "z", "b": "z", "z": END}

    assert await said(graph_of(edges)) == ["a", "c", "d", "e", "b", "z"]


async def test_a_meeting_point_runs_once_also_when_a_branch_in_a_branch_leads_to_it_alone() -> None:
    edges = {START: ["a", "b"], "a": ["c", "d"], "c": "j", "d": END, "b": "j", "j": END}

    words = await said(graph_of(edges))

    assert words.count("j") == 1
    assert words[-1] == "j"


async def test_a_meeting_point_runs_once_also_when_a_branch_forks_into_it() -> None:
    edges = {START: ["a", "b"], "a": ["c", "j"], "c": END, "b": "j", "j": END}

    words = await said(graph_of(edges))

    assert words.count("j") == 1
    assert words[-1] == "j"


async def test_branches_in_a_circle_each_run_their_own_first_node() -> None:
    turns = {"left": 0}

    def enough(state: State) -> Literal["a", "b", "__end__"]:
        turns["left"] += 1
        return "b" if turns["left"] == 1 else END  # type: ignore[return-value]

    edges: dict[str, Any] = {START: ["a", "b"], "a": enough, "b": (lambda state: END, ["a", END])}

    words = await said(graph_of(edges))

    assert words[:2] == ["a", "b"]
    assert words.count("a") == 1


async def test_a_node_never_runs_in_two_branches_at_once() -> None:
    running: set[str] = set()

    def alone(name: str) -> Node:
        async def node(state: State) -> State:
            assert name not in running, f"{name} runs twice at once"
            running.add(name)
            for _ in range(3):
                await asyncio.sleep(0)
            running.remove(name)
            return {"said": [name]}

        return node

    edges = {
        START: ["a", "b", "c"],
        "a": ["d", "e"],
        "b": ["e", "f"],
        "c": "f",
        "d": "g",
        "e": "g",
        "f": ["g", "h"],
        "g": "h",
        "h": END,
    }

    alone_nodes: dict[str, Any] = {name: alone(name) for name in "abcdefgh"}

    words = await said(graph_of(edges, **alone_nodes))

    assert sorted(words) == list("abcdefgh"), "and each runs once"


async def test_branches_are_frames_with_the_same_ids_in_every_run() -> None:
    log = MemoryLog()
    edges = {START: "a", "a": ["b", "c"], "b": "d", "c": "d", "d": END}

    await graph_of(edges).compile().invoke({}, log=log)

    opened = [(event.frame, event.parent) for event in log.read() if isinstance(event, FrameOpened)]
    assert opened == [("main", None), ("b", "main"), ("c", "main")]


@virtual_time
async def test_a_failing_branch_ends_the_others_and_its_failure_is_told() -> None:
    async def slow(state: State) -> None:
        await asyncio.sleep(60)

    async def fail(state: State) -> None:
        await asyncio.sleep(1)
        raise ValueError("the real reason")

    log = MemoryLog()
    graph = graph_of({START: ["a", "b"], "a": END, "b": END}, a=slow, b=fail)

    result = await graph.compile().invoke({}, log=log)

    assert (result.status, now()) == (Status.FAILED, 1)
    ends = {event.step: event.outcome for event in log.read() if isinstance(event, StepFinished)}
    assert ends["a"].status is Status.CANCELLED
    assert "branch b failed" in str(ends["a"].error)
    assert living_tasks() == set()
    assert str(result.error) == "ValueError: the real reason"
    assert result.error is not None
    assert result.error.origin == "b"


async def test_a_hundred_branches() -> None:
    names = [f"n{number}" for number in range(100)]

    assert await said(graph_of({START: names, **dict.fromkeys(names, "z"), "z": END})) == [*names, "z"]


@st.composite
def acyclic(draw: st.DrawFn) -> dict[str, list[str]]:
    """The edges of any graph without circles: a node leads to nodes with a higher number, or to the end."""
    count = draw(st.integers(2, 8))
    names = [f"n{number}" for number in range(count)]
    edges = {
        name: draw(st.lists(st.sampled_from(names[at + 1 :] or [END]), max_size=3, unique=True))
        for at, name in enumerate(names)
    }
    reached = {target for targets in edges.values() for target in targets}
    return {
        START: [name for name in names if name not in reached],
        **{name: ends or [END] for name, ends in edges.items()},
    }


@pytest.mark.repeats
@given(acyclic(), st.lists(st.integers(0, 5), min_size=8, max_size=8))
@settings(max_examples=amount(50, soak=200))
def test_in_any_graph_without_circles_each_node_runs_once_and_after_all_that_lead_to_it(
    edges: dict[str, list[str]], seconds: list[int]
) -> None:
    ended: list[str] = []
    began: dict[str, set[str]] = {}

    def timed(name: str, duration: int) -> Node:
        async def node(state: State) -> State:
            assert name not in began, f"{name} runs a second time"
            began[name] = set(ended)
            await asyncio.sleep(duration)
            ended.append(name)
            return {"said": [name]}

        return node

    nodes: dict[str, Any] = {f"n{number}": timed(f"n{number}", duration) for number, duration in enumerate(seconds)}

    words = run_virtual(said(graph_of(edges, **nodes)))

    assert sorted(words) == sorted(name for name in edges if name != START)
    for name, done in began.items():
        before = {source for source, targets in edges.items() if name in targets and source != START}
        assert before <= done, f"{name} did not wait for {before - done}"


@given(acyclic(), st.lists(st.integers(0, 5), min_size=8, max_size=8), st.data())
@settings(max_examples=50)
def test_any_graph_without_circles_goes_on_from_any_point(
    edges: dict[str, list[str]], seconds: list[int], data: st.DataObject
) -> None:
    ran: list[str] = []

    def timed(name: str, duration: int) -> Node:
        async def node(state: State) -> State:
            ran.append(name)
            await asyncio.sleep(duration)
            return {"said": [name]}

        return node

    nodes: dict[str, Any] = {f"n{number}": timed(f"n{number}", duration) for number, duration in enumerate(seconds)}
    app = graph_of(edges, **nodes).compile()
    log = MemoryLog()
    whole = run_virtual(app.invoke({"said": []}, log=log))
    total = sorted(ran)
    ran.clear()
    known = log.read()[: data.draw(st.integers(1, len(log)))]

    again = run_virtual(app.invoke(None, log=MemoryLog(known)))

    assert (again.status, again.state) == (whole.status, whole.state)
    assert sorted(ran + [event.step for event in known if isinstance(event, StepFinished)]) == total


# --- Loops and routers -----------------------------------------------------------------------------------------------


def count_to(most: int, again: str = "a") -> Node:
    return lambda state: again if len(state["said"]) < most else END


async def test_a_loop_turns_until_its_router_says_end() -> None:
    graph = graph_of({START: "a", "a": "b", "b": count_to(6)})

    assert await said(graph) == ["a", "b"] * 3


async def test_each_turn_is_an_occurrence_of_its_own() -> None:
    log = MemoryLog()

    await graph_of({START: "a", "a": count_to(3)}).compile().invoke({"said": []}, log=log)

    assert [event.occurrence for event in log.read() if isinstance(event, StepStarted)] == ["a", "a@2", "a@3"]


async def test_branches_in_a_loop_meet_in_each_turn() -> None:
    graph = graph_of({START: "a", "a": ["b", "c"], "b": "d", "c": "d", "d": (count_to(8), ["a", END])})

    assert await said(graph) == ["a", "b", "c", "d"] * 2


async def test_a_loop_in_a_branch() -> None:
    edges: dict[str, Any] = {START: ["a", "b"], "a": (count_to(3), ["a", "z", END]), "b": "z", "z": END}
    edges["a"] = (lambda state: "a" if len(state["said"]) < 3 else "z", ["a", "z"])

    assert await said(graph_of(edges)) == ["a", "a", "a", "b", "z"]


async def async_router(state: State) -> str:
    await asyncio.sleep(0)
    return "b"


def literal_router(state: State) -> Literal["b", "c", "__end__"]:
    return "b"


@pytest.mark.parametrize(
    ("choose", "words"),
    [
        ((lambda state: "b", ["b", "c"]), ["a", "b"]),
        ((lambda state: ["b"], ["b", "c"]), ["a", "b"]),
        ((lambda state: ["b", "c"], ["b", "c"]), ["a", "b", "c"]),
        ((lambda state: ("c", "b"), ["b", "c"]), ["a", "c", "b"]),
        ((lambda state: {"b", "c"}, ["b", "c"]), None),
        ((lambda state: ["b", "b"], ["b", "c"]), ["a", "b"]),
        ((lambda state: ["b", END], ["b", "c", END]), ["a", "b"]),
        ((lambda state: END, ["b", "c", END]), ["a"]),
        ((lambda state: [], ["b", "c", END]), ["a"]),
        ((lambda state: True, {True: "b", False: "c"}), ["a", "b"]),
        ((lambda state: len(state["said"]) > 5, {True: "b", False: "c"}), ["a", "c"]),
        ((lambda state: ["yes", "no"], {"yes": "b", "no": "c"}), ["a", "b", "c"]),
        ((lambda state: "stop", {"go": "b", "there": "c", "stop": END}), ["a"]),
        ((async_router, ["b", "c"]), ["a", "b"]),
    ],
)
async def test_what_a_router_may_say(choose: tuple[Any, Any], words: list[str] | None) -> None:
    graph = graph_of({START: "a", "a": choose, "b": END, "c": END})

    heard = await said(graph)

    if words is None:  # a set has no order
        words, heard = ["a", "b", "c"], sorted(heard)
    assert heard == words


async def test_a_literal_return_type_says_what_a_router_may_choose() -> None:
    assert await said(graph_of({START: "a", "a": literal_router, "b": END, "c": END})) == ["a", "b"]


async def test_a_router_may_choose_where_the_graph_begins() -> None:
    graph = graph_of({START: (lambda state: state["first"], ["a", "b"]), "a": END, "b": END})

    assert await said(graph, first="b") == ["b"]
    assert await said(graph, first=["a", "b"]) == ["a", "b"]


async def test_a_router_sees_a_copy_of_the_state() -> None:
    def choose(state: State) -> str:
        state["said"] = "changed"
        return END

    assert await said(graph_of({START: "a", "a": (choose, [END])})) == ["a"]


@pytest.mark.parametrize("choice", ["lnit", None, 7, ["lint", "typs"], {"lint": 1}, object(), [["lint"]], ""])
async def test_a_router_that_names_no_node_fails_the_run(choice: Any) -> None:
    graph = graph_of({START: "a", "a": (lambda state: choice, ["lint", "types"]), "lint": END, "types": END})

    result = await graph.compile().invoke({"said": []})

    assert result.status is Status.FAILED
    assert isinstance(result.exception, UnknownRoute)
    assert "'a'" in str(result.error)
    assert result.state == {"said": ["a"]}


async def test_a_router_that_names_almost_a_node_is_told_which() -> None:
    graph = graph_of({START: "a", "a": (lambda state: "lnit", ["lint"]), "lint": END})

    result = await graph.compile().invoke({})

    assert "did you mean 'lint'?" in str(result.error)


async def test_a_router_may_only_choose_what_it_was_declared_to_choose() -> None:
    graph = graph_of({START: ["a", "z"], "a": (lambda state: "z", ["b"]), "b": END, "z": END})

    result = await graph.compile().invoke({})

    assert result.status is Status.FAILED, "joins are worked out from what is declared: z would run twice"
    assert isinstance(result.exception, UnknownRoute)


@pytest.mark.parametrize("raised", [ValueError("no"), KeyError("x"), StopIteration(), asyncio.CancelledError("mine")])
async def test_a_router_that_raises_fails_the_run(raised: BaseException) -> None:
    def choose(state: State) -> str:
        raise raised

    graph = graph_of({START: "a", "a": (choose, [END])})

    result = await graph.compile().invoke({})

    assert result.status is Status.FAILED
    assert result.error is not None
    assert (result.error.type, result.error.origin) == (type(raised).__name__, "a")


async def test_a_graph_that_turns_too_often_is_ended() -> None:
    graph = graph_of({START: "a", "a": "b", "b": (lambda state: "a", ["a", END])})

    result = await graph.compile(recursion_limit=7).invoke({"said": []})

    assert result.status is Status.FAILED
    assert isinstance(result.exception, RecursionLimit)
    assert (result.exception.limit, result.exception.node) == (7, "b")
    assert len(result.state["said"]) == 7


async def test_exactly_as_many_turns_as_allowed_are_fine() -> None:
    graph = graph_of({START: "a", "a": "b", "b": "c", "c": END})

    assert (await graph.compile(recursion_limit=3).invoke({})).status is Status.PASSED
    assert (await graph.compile(recursion_limit=2).invoke({})).status is Status.FAILED


async def test_turns_in_branches_count_too() -> None:
    turning: dict[str, Any] = {
        START: ["a", "b"],
        "a": (lambda state: "a", ["a", END]),
        "b": (lambda state: "b", ["b", END]),
    }

    result = await graph_of(turning).compile(recursion_limit=50).invoke({})

    assert isinstance(result.exception, RecursionLimit)
    assert living_tasks() == set()


async def test_turns_of_loops_with_branches_count_too() -> None:
    graph = graph_of({START: "a", "a": ["b", "c"], "b": "d", "c": "d", "d": (lambda state: "a", ["a", END])})

    result = await graph.compile(recursion_limit=20).invoke({})

    assert isinstance(result.exception, RecursionLimit)


# --- Graphs in graphs ------------------------------------------------------------------------------------------------


def inner_graph(reducers: dict[str, Any], *nodes: Node) -> Graph:
    graph = Graph(reducers=reducers)
    names = [f"i{number}" for number in range(len(nodes))]
    for name, node in zip(names, nodes, strict=True):
        graph.add_node(name, node)
    for source, target in zip([START, *names], [*names, END], strict=True):
        graph.add_edge(source, target)
    return graph


def around(inner: Any, reducers: dict[str, Any]) -> Graph:
    graph = Graph(reducers=reducers)
    graph.add_node("before", lambda state: {"n": [1]})
    graph.add_node("inner", inner)
    graph.add_node("after", lambda state: {"seen": list(state["n"])})
    for source, target in [(START, "before"), ("before", "inner"), ("inner", "after"), ("after", END)]:
        graph.add_edge(source, target)
    return graph


ADD = {"n": operator.add}


@pytest.mark.parametrize(
    ("inner_reducers", "outer_reducers", "seen"),
    [
        (ADD, ADD, [1, 2, 3]),  # what was added inside is added outside
        (ADD, {}, [1, 2, 3]),  # what it came to be inside replaces what was outside
        ({}, ADD, [1, 3]),  # what it came to be inside is added outside
        ({}, {}, [3]),
    ],
    ids=["both", "inner", "outer", "none"],
)
async def test_reducers_of_a_graph_in_a_graph(
    inner_reducers: dict[str, Any], outer_reducers: dict[str, Any], seen: list[int]
) -> None:
    inner = inner_graph(inner_reducers, lambda state: {"n": [2]}, lambda state: {"n": [3]})

    result = await around(inner, outer_reducers).compile().invoke({})

    assert result.state["seen"] == seen


async def test_a_compiled_graph_is_a_node_too() -> None:
    inner = inner_graph({}, lambda state: {"n": [*state["n"], 2]}).compile()

    result = await around(inner, {}).compile().invoke({})

    assert result.state["seen"] == [1, 2]


async def test_a_graph_in_a_graph_sees_the_state_around_it_and_gives_only_what_it_changed() -> None:
    seen: dict[str, Any] = {}

    def look(state: State) -> State:
        seen.update(state)
        return {"x": 1}

    result = await around(inner_graph({}, look), ADD).compile().invoke({"given": 0, "n": [0]})

    assert seen == {"given": 0, "n": [0, 1]}
    assert result.state == {"given": 0, "n": [0, 1], "x": 1, "seen": [0, 1]}
    assert result.steps["inner"].outputs == {"x": 1}


async def test_a_failure_in_a_graph_in_a_graph_is_told_with_its_path() -> None:
    def fail(state: State) -> None:
        raise ValueError("deep")

    result = await around(inner_graph({}, lambda state: {"half": 1}, fail), {}).compile().invoke({})

    assert result.error is not None
    assert (result.error.message, result.error.origin) == ("deep", "inner.i1")
    assert "half" not in result.state, "a graph that failed changes nothing around it"


async def test_branches_in_graphs_in_branches_join_with_reducers() -> None:
    inner = graph_of({START: ["x", "y"], "x": END, "y": END})
    graph = graph_of({START: ["a", "b"], "a": "z", "b": "z", "z": END}, a=inner, b=says("b"))

    assert await said(graph) == ["x", "y", "b", "z"]


async def test_one_graph_may_be_several_nodes() -> None:
    inner = graph_of({START: "x", "x": END})
    graph = graph_of({START: ["a", "b"], "a": "c", "b": "c", "c": END}, a=inner, b=inner, c=inner)

    assert await said(graph) == ["x", "x", "x"]


async def test_graphs_nest_deeply() -> None:
    graph = graph_of({START: "x", "x": END})
    for _ in range(20):
        graph = graph_of({START: "a", "a": END}, a=graph)

    result = await graph.compile().invoke({"said": []})

    assert result.state == {"said": ["x"]}
    assert max(len(path.split(".")) for path in result.steps) == 21


@virtual_time
async def test_a_graph_in_a_graph_may_be_tried_again_and_have_a_timeout() -> None:
    tries: list[float] = []

    async def slow_at_first(state: State) -> State:
        tries.append(now())
        await asyncio.sleep(60 if len(tries) < 3 else 1)
        return {"n": ["done"]}

    graph = Graph(reducers=ADD)
    graph.add_node(
        "inner", inner_graph(ADD, lambda s: {"n": ["begun"]}, slow_at_first), retries=5, retry_delay=2, timeout=10
    )
    graph.add_edge(START, "inner")
    graph.add_edge("inner", END)

    result = await graph.compile().invoke({"n": []})

    assert tries == [0, 12, 24]
    assert result.state == {"n": ["begun", "done"]}, "what attempts that failed have added does not count"


# --- Options of a node -----------------------------------------------------------------------------------------------


@virtual_time
async def test_a_node_may_be_tried_again() -> None:
    began: list[float] = []

    def flaky(state: State) -> State:
        began.append(now())
        if len(began) < 4:
            raise ValueError("no")
        return {"tries": len(began)}

    result = await run_nodes(flaky, retries=3, retry_delay=1, retry_backoff=2)

    assert result.state == {"tries": 4}
    assert began == [0, 1, 3, 7]
    assert result.exception is None


@virtual_time
async def test_a_node_may_have_a_timeout() -> None:
    async def slow(state: State) -> None:
        await asyncio.sleep(60)

    result = await run_nodes(lambda state: None, slow, timeout=3)

    assert (result.status, now()) == (Status.TIMED_OUT, 3)
    assert str(result.error) == "Timeout: timed out after 3 s"


async def test_a_node_in_a_thread_may_block() -> None:
    where: list[bool] = []

    def block(state: State) -> State:
        where.append(threading.current_thread() is threading.main_thread())
        return {"x": 1}

    result = await run_nodes(block, thread=True)

    assert result.state == {"x": 1}
    assert where == [False]


async def test_a_node_in_a_thread_that_raises_has_failed() -> None:
    def fail(state: State) -> None:
        raise ValueError("in a thread")

    result = await run_nodes(fail, thread=True)

    assert str(result.error) == "ValueError: in a thread"


async def test_nodes_in_threads_block_beside_each_other() -> None:
    both = threading.Barrier(2, timeout=30)

    def meet(state: State) -> State:
        both.wait()
        return {"said": ["met"]}

    graph = Graph(reducers={"said": operator.add})
    for name in ("a", "b"):
        graph.add_node(name, meet, thread=True)
        graph.add_edge(name, END)
    graph.add_edge(START, ["a", "b"])

    assert await said(graph) == ["met", "met"]


async def test_the_last_outcome_of_each_node_is_in_the_result() -> None:
    result = await graph_of({START: "a", "a": count_to(3)}).compile().invoke({"said": []})

    assert result.steps == {"a": Outcome(Status.PASSED, {"said": ["a"]})}
