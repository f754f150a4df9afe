"""How nodes are joined: what follows what, and where branches meet."""

from typing import Any

import pytest

from pitstop.definition.values import Router
from pitstop.plan.plan import Retry, Step
from pitstop.plan.wiring import Node, Wiring


def wiring(edges: dict[str, tuple[str, ...]], routers: dict[str, Router] | None = None) -> Wiring:
    return Wiring("<", ">", edges, routers or {})


DIAMOND = wiring({"<": ("a",), "a": ("b", "c"), "b": ("d",), "c": ("d",), "d": ()})
TWO_OF_THREE = wiring({"a": ("ab",), "b": ("ab",), "ab": ("z",), "c": ("z",)})
CIRCLE = wiring({"a": ("b",), "b": ("a",)})
APART = wiring({"a": ("x",), "b": ("y",)})


@pytest.mark.parametrize(
    ("graph", "targets", "meeting"),
    [
        (DIAMOND, ("b", "c"), {"d"}),
        (TWO_OF_THREE, ("a", "b", "c"), {"ab", "z"}),
        (TWO_OF_THREE, ("ab", "z"), {"z"}),
        (CIRCLE, ("a", "b"), {"a", "b"}),
        (APART, ("a", "b"), set()),
    ],
)
def test_branches_meet_at_the_nodes_that_more_than_one_may_reach(
    graph: Wiring, targets: tuple[str, ...], meeting: set[str]
) -> None:
    assert graph.meeting_points(targets) == meeting
    assert graph.meeting_points(targets) is graph.meeting_points(targets), "worked out once"


def test_what_may_be_reached_includes_what_a_router_may_choose() -> None:
    router = Router(lambda state: "x", {"again": "a", "on": "x", "stop": ">"})
    graph = wiring({"a": ("b",), "x": ("y",)}, {"b": router})

    assert graph.reachable("a") == {"a", "b", "x", "y"}
    assert set(graph.successors("b")) == {"a", "x", ">"}


def test_a_router_that_declares_nothing_reaches_nothing() -> None:
    assert wiring({}, {"b": Router(lambda state: "x")}).reachable("b") == {"b"}


def test_the_node_that_always_follows_is_known_and_any_other_is_not() -> None:
    graph = wiring({"a": ("b",), "b": ("c", "d"), "c": ()}, {"d": Router(lambda state: "a")})

    nodes = graph.nodes([Step(name, "node", {"function": print}) for name in "abcd"])

    assert {name: node.following for name, node in nodes.items()} == {"a": "b", "b": None, "c": None, "d": None}
    assert graph.nodes([]) is nodes, "worked out once"


@pytest.mark.parametrize(
    ("options", "is_plain"),
    [
        ({}, True),
        ({"timeout_seconds": 1.0}, False),
        ({"retry": Retry(1)}, False),
        ({"condition": ".x"}, False),
        ({"continue_on_error": True}, False),
        ({"config": {"function": print, "thread": True}}, False),
        ({"kind": "graph"}, False),
    ],
    ids=str,
)
def test_only_a_node_without_options_may_take_the_short_way(options: dict[str, Any], is_plain: bool) -> None:
    step = Step("a", **{"kind": "node", "config": {"function": print}, **options})

    assert Node(step).is_plain is is_plain


def test_a_node_in_a_graph_is_found_by_the_last_part_of_its_path() -> None:
    nodes = wiring({}).nodes([Step("inner.x", "node", {"function": print})])

    assert (nodes["x"].name, nodes["x"].path) == ("x", "inner.x")
