"""From a graph built in Python to a plan that can run."""

from typing import Any

from pitstop.definition.graph import END, START, GraphDefinition, NodeSpec
from pitstop.errors import BadGraph
from pitstop.plan.plan import Plan, Step
from pitstop.plan.wiring import Wiring


def plan_graph(definition: GraphDefinition, recursion_limit: int = 10_000) -> Plan:
    """The plan of a graph; BadGraph with every mistake when it has any."""
    mistakes = definition.mistakes()
    if mistakes:
        raise BadGraph(mistakes)
    return Plan(_graph_step(definition, "", recursion_limit), definition.name)


def _graph_step(definition: GraphDefinition, path: str, recursion_limit: int, node: NodeSpec | None = None) -> Step:
    prefix = f"{path}." if path else ""
    wiring = Wiring(
        start=START,
        end=END,
        edges={
            source: tuple(target for target in targets if target != END) for source, targets in definition.edges.items()
        },
        routers=dict(definition.routers),
        reducers=dict(definition.reducers),
        recursion_limit=recursion_limit,
    )
    children = tuple(_node_step(each, f"{prefix}{each.name}", recursion_limit) for each in definition.nodes.values())
    return Step(path, "graph", {"wiring": wiring}, children, **_options(node))


def _node_step(node: NodeSpec, path: str, recursion_limit: int) -> Step:
    if isinstance(node.does, GraphDefinition):
        return _graph_step(node.does, path, recursion_limit, node)
    config = {"function": node.does, "thread": True} if node.thread else {"function": node.does}
    return Step(path, "node", config, **_options(node))


def _options(node: NodeSpec | None) -> dict[str, Any]:
    if node is None:
        return {}
    return {
        "id": node.name,
        "retry": node.retry,
        "timeout_seconds": node.timeout_seconds,
        "effects": node.effects,
        "on_interrupt": node.on_interrupt,
        "source": node.source,
    }
