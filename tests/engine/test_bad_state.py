"""States with anything in them: they go through a run untouched, and through a log as well as JSON can say it."""

import json
import math
import threading
import tracemalloc
from typing import Any

import pytest

from pitstop import END, START, Graph, GraphApp, MemoryLog, Session, Status
from pitstop.events.log import events_from_json, events_to_json
from pitstop.events.view import fold

State = dict[str, Any]


class Uncopyable:
    def __copy__(self) -> Any:
        raise TypeError("cannot be copied")

    def __deepcopy__(self, memo: Any) -> Any:
        raise TypeError("cannot be copied")

    def __reduce__(self) -> Any:
        raise TypeError("cannot be pickled")

    def __eq__(self, other: object) -> bool:
        raise TypeError("cannot be compared")

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        raise TypeError("cannot be shown")


class Undecided:
    """Like an array: asked whether it is true, or equal, it does not say."""

    def __bool__(self) -> bool:
        raise ValueError("ambiguous")

    def __eq__(self, other: object) -> Any:
        return self

    __hash__ = None  # type: ignore[assignment]


def cycle() -> Any:
    value: dict[str, Any] = {"list": []}
    value["list"].append(value)
    return value


def deep(levels: int) -> Any:
    value: Any = "bottom"
    for _ in range(levels):
        value = [value]
    return value


ODD: dict[str, Any] = {
    "cycle": cycle(),
    "uncopyable": Uncopyable(),
    "undecided": Undecided(),
    "lock": threading.Lock(),
    "nan": math.nan,
    "infinity": -math.inf,
    "bytes": bytes(range(256)) * 100,
    "deep": deep(900),
    "very deep": deep(100_000),
    "keys": {1: 1, None: 2, (3, 4): 5},
    "function": print,
    "class": Uncopyable,
    "huge number": 10**5000,
    "surrogate": "\udc80",
    "generator": (number for number in range(3)),
}


def app() -> GraphApp:
    """Hands `odd` on through a chain, a fan-out, a graph in the graph and a join."""
    inner = Graph()
    inner.add_node("x", lambda state: {"inner": state["odd"]})
    inner.add_edge(START, "x")
    inner.add_edge("x", END)
    graph = Graph()
    graph.add_node("a", lambda state: {"a": state["odd"]})
    graph.add_node("b", lambda state: {"b": state["odd"]}, retries=1)
    graph.add_node("c", inner)
    graph.add_node("d", lambda state: {"d": state["odd"], "odd": state["odd"]})
    for source, target in [(START, "a"), ("a", ["b", "c"]), ("b", "d"), ("c", "d"), ("d", END)]:
        graph.add_edge(source, target)
    return graph.compile()


@pytest.mark.parametrize("name", ODD)
async def test_a_value_of_any_kind_comes_out_as_the_object_that_went_in(name: str) -> None:
    odd = ODD[name]

    result = await app().invoke({"odd": odd}, log=MemoryLog())

    assert result.status is Status.PASSED, result.error
    assert all(result.state[key] is odd for key in ("odd", "a", "b", "d", "inner"))


@pytest.mark.parametrize("name", ODD)
async def test_the_log_of_a_run_with_any_value_can_be_written_read_and_gone_on_with(name: str) -> None:
    log = MemoryLog()
    await app().invoke({"odd": ODD[name]}, log=log)

    text = json.dumps(events_to_json(log.read()), allow_nan=False)
    events = events_from_json(json.loads(text))
    result = await app().invoke(None, log=MemoryLog(events))

    assert fold(events).status == "passed"
    assert result.status is Status.PASSED
    assert set(result.state) == {"odd", "a", "b", "d", "inner"}


@pytest.mark.parametrize("name", ODD)
async def test_a_debugger_that_watches_everything_does_not_disturb_it(name: str) -> None:
    session = Session(stop_at_entry=False)
    session.add_breakpoint(position="after", condition="false")
    odd = ODD[name]

    result = await app().invoke({"odd": odd}, debug=session)

    assert result.status is Status.PASSED, result.error
    assert result.state["d"] is odd


async def test_a_key_that_is_no_text_is_a_key_like_any_other() -> None:
    def swap(state: dict[Any, Any]) -> dict[Any, Any]:
        return {1: "one", (2, 3): state[None]}

    graph = Graph()
    graph.add_node("a", swap)
    graph.add_edge(START, "a")
    graph.add_edge("a", END)
    given: Any = {None: "nothing"}

    state: Any = (await graph.compile().invoke(given, log=MemoryLog())).state

    assert state == {None: "nothing", 1: "one", (2, 3): "nothing"}


async def test_fifty_megabytes_of_state_are_carried_and_not_copied() -> None:
    big = [{"n": number, "text": "x" * 100} for number in range(200_000)]
    graph = Graph()
    names = [f"n{number}" for number in range(100)]
    for name in names:
        graph.add_node(name, lambda state: {"count": state.get("count", 0) + 1})
    for source, target in zip([START, *names], [*names, END], strict=True):
        graph.add_edge(source, target)
    running = graph.compile()

    tracemalloc.start()
    try:
        result = await running.invoke({"big": big}, log=MemoryLog())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert result.state["big"] is big
    assert result.state["count"] == 100
    assert peak < 2_000_000


async def test_what_is_changed_inside_a_value_is_seen_by_all_who_hold_it_and_by_no_log() -> None:
    """The state given to a node is a copy of its outermost level: deeper things are shared, and changing them in
    place is no update. Return what changed."""
    seen: list[Any] = []
    graph = Graph()
    graph.add_node("sneaky", lambda state: state["items"].append(1))
    graph.add_node("look", lambda state: seen.append(list(state["items"])))
    for source, target in [(START, "sneaky"), ("sneaky", "look"), ("look", END)]:
        graph.add_edge(source, target)
    items: list[int] = []

    result = await graph.compile().invoke({"items": items})

    assert seen == [[1]]
    assert result.steps["sneaky"].outputs == {}
