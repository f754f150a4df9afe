"""How the nodes of a graph are joined: edges, routers, reducers, and where branches meet."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from pitstop.definition.values import Choose, Reducer, Router
from pitstop.plan.plan import NO_RETRY, Step

Routes = dict[Any, tuple[str, ...]]


class Node:
    """A node as the engine's innermost loop wants it: all that is fixed, looked up once."""

    __slots__ = (
        "choose",
        "following",
        "function",
        "in_thread",
        "is_async",
        "is_plain",
        "name",
        "path",
        "routes",
        "step",
    )

    def __init__(
        self, step: Step, following: str | None = None, choose: "Choose | None" = None, routes: "Routes | None" = None
    ) -> None:
        self.step = step
        self.name = step.local
        self.path = step.path
        self.function: Callable[[dict[str, Any]], Any] = step.config.get("function", _no_function)
        self.is_async = inspect.iscoroutinefunction(self.function)
        self.in_thread = bool(step.config.get("thread", False))
        self.is_plain = (
            step.kind == "node"
            and not self.in_thread
            and step.condition is None
            and step.timeout_seconds is None
            and step.retry is NO_RETRY
            and not step.continue_on_error
        )
        self.choose: Callable[[dict[str, Any]], Any] = choose or _no_function
        self.routes = routes  # by each of the router's own names for them, when they are known
        self.following = following  # the one node that always comes next; None when that has to be worked out


def _no_function(state: dict[str, Any]) -> None:
    """What a node does that is a graph: nothing of its own."""


class Wiring(Struct, eq=False):
    """The edges of one graph; a node without one is followed by END.

    Immutable by convention, with a memory of the nodes and meeting points it has worked out.
    """

    start: str  # the name under which the edges into the graph stand
    end: str  # what a router says to leave it
    edges: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    routers: Mapping[str, Router] = field(default_factory=dict)
    reducers: Mapping[str, Reducer] = field(default_factory=dict)
    recursion_limit: int = 10_000
    _meetings: dict[tuple[str, ...], frozenset[str]] = field(default_factory=dict)
    _nodes: dict[str, Node] = field(default_factory=dict)

    def nodes(self, steps: Iterable[Step]) -> dict[str, Node]:
        """The nodes by name, worked out once."""
        if not self._nodes:
            self._nodes.update((step.local, self._node(step)) for step in steps)
        return self._nodes

    def node_of(self, step: Step) -> Node:
        """The node of a step; one that was injected is known to nobody else."""
        known = self._nodes.get(step.local)
        return known if known is not None and known.step is step else Node(step)

    def _node(self, step: Step) -> Node:
        name = step.local
        router = self.routers.get(name)
        if router is None or router.targets is None:
            return Node(step, self._following(name))
        ways: Routes = {said: () if target == self.end else (target,) for said, target in router.targets.items()}
        return Node(step, choose=router.choose, routes={**ways, **{way[0]: way for way in ways.values() if way}})

    def _following(self, node: str) -> str | None:
        targets = self.edges.get(node, ())
        return targets[0] if len(targets) == 1 and node not in self.routers else None

    def successors(self, node: str) -> Iterable[str]:
        """Every node that may follow, as far as it is declared."""
        router = self.routers.get(node)
        if router is None:
            return self.edges.get(node, ())
        return () if router.targets is None else router.targets.values()

    def reachable(self, node: str) -> set[str]:
        """The node and all that may come after it."""
        found = {node}
        todo = [node]
        while todo:
            for target in self.successors(todo.pop()):
                if target != self.end and target not in found:
                    found.add(target)
                    todo.append(target)
        return found

    def meeting_points(self, targets: tuple[str, ...]) -> frozenset[str]:
        """The nodes at which branches that start at `targets` wait for each other.

        They are the nodes that more than one of the branches may reach, so a node never runs in two branches at once.
        When every target is such a node (branches in a circle), each branch still runs its own first node.
        """
        known = self._meetings.get(targets)
        if known is None:
            times_reached: dict[str, int] = {}
            for target in targets:
                for node in self.reachable(target):
                    times_reached[node] = times_reached.get(node, 0) + 1
            known = frozenset(node for node, times in times_reached.items() if times > 1)
            self._meetings[targets] = known
        return known
