"""Building a graph: every mistake is told at once, and the graph can be drawn."""

import re
import textwrap
from collections.abc import Iterable
from typing import Any, Literal

import pytest

from pitstop import END, START, Graph
from pitstop.errors import BadDefinition, BadGraph


def node(state: dict[str, Any]) -> None:
    """Does nothing."""


def graph_with(*names: str, edges: Iterable[tuple[str, Any]] = ()) -> Graph:
    graph = Graph()
    for name in names:
        graph.add_node(name, node)
    for source, targets in edges:
        graph.add_edge(source, targets)
    return graph


def mistakes_of(graph: Graph) -> list[str]:
    with pytest.raises(BadGraph) as caught:
        graph.compile()
    return list(caught.value.mistakes)


def test_a_sound_graph_compiles() -> None:
    graph = graph_with("a", "b", "c", edges=[(START, "a"), ("a", ["b", "c"]), ("b", END), ("c", END)])

    assert [*graph.compile().plan.steps] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("graph", "mistake"),
    [
        (graph_with(), "nothing follows START"),
        (graph_with("a", edges=[("a", END)]), "nothing follows START: add_edge(START, 'a')"),
        (
            graph_with("lint", edges=[(START, "lint"), ("lint", "lnit")]),
            "the edge from 'lint' leads to 'lnit', which is not a node; did you mean 'lint'?",
        ),
        (
            graph_with("lint", edges=[(START, "lint"), ("lint", END), ("lnit", END)]),
            "an edge starts at 'lnit', which is not a node; did you mean 'lint'?",
        ),
        (graph_with("a", edges=[(START, "a"), ("a", START)]), "leads to '__start__', which is not a node"),
        (graph_with("a", edges=[(START, "a"), ("a", END), (END, "a")]), "an edge starts at '__end__'"),
        (graph_with("a", "b", edges=[(START, "a"), ("a", END), ("b", END)]), "node 'b' cannot be reached from START"),
        (graph_with("a", "b", edges=[(START, "a"), ("a", "b"), ("b", "a")]), "no path leads from node 'a' to END"),
        (
            graph_with("a", "b", edges=[(START, ["a", "b"]), ("a", END), ("b", "b")]),
            "no path leads from node 'b' to END",
        ),
        (graph_with("a", "a", edges=[(START, "a"), ("a", END)]), "node 'a' is added twice"),
        (
            graph_with("a", edges=[(START, "a"), (START, "a"), ("a", END)]),
            "the edge from '__start__' to 'a' is added twice",
        ),
    ],
)
def test_each_mistake_is_named(graph: Graph, mistake: str) -> None:
    assert any(mistake in told for told in mistakes_of(graph)), mistakes_of(graph)


@pytest.mark.parametrize("name", ["", "a.b", "a b", "a[0]", "x#2", "x@2", "x+1", "a/b", START, END])
def test_names_that_addresses_are_made_of_are_refused(name: str) -> None:
    graph = graph_with("a", edges=[(START, "a"), ("a", END)])
    graph.add_node(name, node)

    assert any("invalid node name" in mistake for mistake in mistakes_of(graph))


@pytest.mark.parametrize("name", ["a", "a1", "a-b", "a_b", "Überprüfung", "北京", "1"])
def test_names_that_are_fine(name: str) -> None:
    graph_with(name, edges=[(START, name), (name, END)]).compile()


@pytest.mark.parametrize("does", [None, 7, "print", {"run": "x"}, []])
def test_a_node_that_cannot_be_called_is_refused(does: Any) -> None:
    graph = graph_with("a", edges=[(START, "a"), ("a", END)])
    graph.add_node("b", does)

    (mistake, *_) = mistakes_of(graph)
    assert mistake == f"node 'b' must be a function or a graph, not a {type(does).__name__}"


def test_every_mistake_is_told_at_once() -> None:
    graph = graph_with("a", "b", "alone", "endless", edges=[(START, "a"), ("a", "bb"), ("a", "endless")])
    graph.add_node("a", node)
    graph.add_edge("endless", "endless")
    graph.add_edge("c", "b")
    graph.add_edge("b", END)

    told = "\n".join(mistakes_of(graph))

    assert "node 'a' is added twice" in told
    assert "leads to 'bb', which is not a node; did you mean 'b'?" in told
    assert "an edge starts at 'c'" in told
    assert "node 'alone' cannot be reached" in told
    assert "no path leads from node 'endless' to END" in told


def test_one_wrong_name_in_two_places_is_told_twice() -> None:
    graph = graph_with("a", "b", edges=[(START, ["a", "b"]), ("a", "c"), ("b", "c")])

    assert len([mistake for mistake in mistakes_of(graph) if "'c', which is not a node" in mistake]) == 2


def test_the_error_says_it_all_in_its_text_and_has_a_code() -> None:
    with pytest.raises(BadDefinition) as caught:
        graph_with("a", edges=[(START, "b"), ("c", "a")]).compile()

    assert str(caught.value).splitlines() == list(caught.value.mistakes)
    assert caught.value.code == "definition.graph"


def test_a_node_with_edges_and_a_router_is_refused() -> None:
    graph = graph_with("a", "b", edges=[(START, "a"), ("a", "b"), ("b", END)])
    graph.add_conditional_edge("a", lambda state: "b", ["b"])

    assert any("edges and a conditional edge" in mistake for mistake in mistakes_of(graph))


def test_a_node_with_two_routers_is_refused() -> None:
    graph = graph_with("a", edges=[(START, "a")])
    graph.add_conditional_edge("a", lambda state: END, [END])
    graph.add_conditional_edge("a", lambda state: END, [END])

    assert any("two conditional edges" in mistake for mistake in mistakes_of(graph))


def test_the_targets_of_a_router_are_checked() -> None:
    graph = graph_with("lint", edges=[(START, "lint")])
    graph.add_conditional_edge("lint", lambda state: "x", {"again": "lnit", "done": END})

    assert mistakes_of(graph) == ["the edge from 'lint' leads to 'lnit', which is not a node; did you mean 'lint'?"]


def test_the_literal_of_a_router_is_checked() -> None:
    def choose(state: dict[str, Any]) -> Literal["lint", "tpyes"]:
        return "lint"

    graph = graph_with("lint", "types", edges=[(START, "lint"), ("types", END)])
    graph.add_conditional_edge("lint", choose)

    assert any("'tpyes', which is not a node; did you mean 'types'?" in mistake for mistake in mistakes_of(graph))


def test_a_router_that_may_choose_anything_reaches_everything() -> None:
    graph = graph_with("a", "b", edges=[(START, "a"), ("b", END)])
    graph.add_conditional_edge("a", lambda state: "b")

    graph.compile()


def test_in_a_branch_a_router_has_to_say_what_it_may_choose() -> None:
    graph = graph_with("a", "b", "c", edges=[(START, ["a", "b"]), ("b", "c"), ("c", END)])
    graph.add_conditional_edge("a", lambda state: "c")

    (mistake,) = mistakes_of(graph)
    assert "after 'a'" in mistake
    assert "declare what it may choose" in mistake


def test_in_a_branch_that_a_router_opens_a_router_has_to_say_so_too() -> None:
    graph = graph_with("a", "b", "c", "z", edges=[(START, "a"), ("c", "z"), ("z", END)])
    graph.add_conditional_edge("a", lambda state: ["b", "c"], ["b", "c"])
    graph.add_conditional_edge("b", lambda state: "z")

    assert any("after 'b'" in mistake and "declare what it may choose" in mistake for mistake in mistakes_of(graph))


def test_mistakes_in_a_graph_in_a_graph_are_told_with_its_path() -> None:
    innermost = graph_with("x", edges=[(START, "y")])
    inner = graph_with(edges=[(START, "deep"), ("deep", END)])
    inner.add_node("deep", innermost)
    graph = graph_with("a", edges=[(START, "inner"), ("inner", "b")])
    graph.add_node("inner", inner)

    told = mistakes_of(graph)

    assert any(mistake.startswith("the edge from 'inner' leads to 'b'") for mistake in told)
    assert any(mistake.startswith("in inner.deep: the edge from '__start__' leads to 'y'") for mistake in told)


def test_a_graph_in_itself_is_refused() -> None:
    graph = graph_with("a", edges=[(START, "a"), ("a", "me"), ("me", END)])
    graph.add_node("me", graph)

    assert any("itself" in mistake for mistake in mistakes_of(graph))


@pytest.mark.parametrize(
    "options",
    [{"retries": -1}, {"retries": "3"}, {"timeout": -1}, {"timeout": "10"}, {"retry_delay": -1}],
    ids=["negative retries", "retries as text", "negative timeout", "timeout as text", "negative delay"],
)
def test_options_that_make_no_sense_are_told_before_the_graph_runs(options: dict[str, Any]) -> None:
    graph = graph_with(edges=[(START, "a"), ("a", END)])
    graph.add_node("a", node, **options)

    (mistake,) = mistakes_of(graph)
    assert "node 'a'" in mistake


def test_a_router_that_cannot_be_called_is_refused() -> None:
    graph = graph_with("a", "b", edges=[(START, "a"), ("b", END)])
    graph.add_conditional_edge("a", "b", ["b"])  # type: ignore[arg-type]

    (mistake,) = mistakes_of(graph)
    assert "'a'" in mistake


def test_a_compiled_graph_does_not_change_when_its_definition_does() -> None:
    graph = graph_with("a", edges=[(START, "a"), ("a", END)])
    app = graph.compile()
    drawn = app.to_mermaid()

    graph.add_node("b", node)
    graph.add_edge("a", "b")

    assert [*app.plan.steps] == ["a"]
    assert app.to_mermaid() == drawn


def test_a_node_knows_where_its_function_is_written() -> None:
    source = graph_with("a", edges=[(START, "a"), ("a", END)]).compile().plan.steps["a"].source

    assert source is not None
    assert source.file == __file__
    assert source.line == node.__code__.co_firstlineno


# --- Drawn -----------------------------------------------------------------------------------------------------------


def renamed(chart: str) -> str:
    """The chart with its signs replaced by A, B, C: what they are is nobody's business."""
    signs = list(dict.fromkeys(re.findall(r"\bn_\w+", chart)))
    return re.sub(r"\bn_\w+", lambda match: chr(ord("A") + signs.index(match[0])), chart)


def test_a_graph_as_mermaid() -> None:
    inner = graph_with("x", edges=[(START, "x"), ("x", END)])
    graph = graph_with("plan-it", "b", "c", edges=[(START, "plan-it"), ("plan-it", ["b", "review"]), ("b", "c")])
    graph.add_node("review", inner)
    graph.add_edge("review", "c")
    graph.add_conditional_edge("c", lambda state: "again", {"again": "plan-it", "done": END})

    assert renamed(graph.compile().to_mermaid()) == textwrap.dedent(
        """\
        flowchart TD
            A([start])
            B([end])
            C["plan-it"]
            D["b"]
            E["c"]
            subgraph F["review"]
                G([start])
                H([end])
                I["x"]
                G --> I
                I --> H
            end
            A --> C
            C --> D
            C --> F
            D --> E
            F --> E
            E -.->|"again"| C
            E -.->|"done"| B"""
    )


def test_a_router_whose_targets_nobody_declared_is_drawn_with_a_question_mark() -> None:
    graph = graph_with("a", edges=[(START, "a")])
    graph.add_conditional_edge("a", lambda state: END)

    assert renamed(graph.compile().to_mermaid()).splitlines()[-1].strip() == 'C -.->|"?"| B'


def test_every_node_has_a_sign_of_its_own() -> None:
    names = ["start", "end", "_a", "a", "a_", "a-b", "a_2d_b", "é", "subgraph"]
    graph = graph_with(*names, edges=[(START, names), *((name, END) for name in names)])

    signs = re.findall(r"^ *(n_\S+?)[(\[]", graph.compile().to_mermaid(), re.MULTILINE)

    assert len(signs) == len(names) + 2
    assert len(set(signs)) == len(signs), sorted(signs)


def test_a_word_of_a_router_cannot_break_the_drawing() -> None:
    graph = graph_with("a", edges=[(START, "a")])
    graph.add_conditional_edge("a", lambda state: 'say "no"', {'say "no"': "a", "x|y": END})

    for line in graph.compile().to_mermaid().splitlines():
        assert line.count('"') in (0, 2), line
