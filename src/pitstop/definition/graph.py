"""A graph as its author builds it: nodes, edges, and every mistake in them."""

import difflib
import inspect
import typing
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct

from pitstop.definition.values import NO_RETRY, Choose, Effects, OnInterrupt, Reducer, Retry, Router, Source

START = "__start__"
END = "__end__"

State = dict[str, Any]
NodeFunction = Callable[[State], Any]


class NodeSpec(Struct, frozen=True):
    """A node: a function, or another graph."""

    name: str
    does: "NodeFunction | GraphDefinition"
    retry: Retry
    timeout_seconds: float | None
    thread: bool
    effects: Effects
    on_interrupt: OnInterrupt
    source: Source | None


class GraphDefinition:
    """A graph under construction. Building never raises: `mistakes` reports everything at once."""

    __slots__ = ("_pairs", "_refused", "edges", "name", "nodes", "reducers", "routers")

    name: str
    reducers: Mapping[str, Reducer]  # how two values of a key become one
    nodes: dict[str, NodeSpec]
    edges: dict[str, list[str]]
    routers: dict[str, Router]  # the conditional edges, by source

    def __init__(self, name: str = "graph", reducers: Mapping[str, Reducer] | None = None) -> None:
        self.name = name
        self.reducers = {} if reducers is None else reducers
        self.nodes, self.edges, self.routers = {}, {}, {}
        self._refused: list[str] = []
        self._pairs: set[tuple[str, str]] = set()  # the edges, for a fan-out may be wide

    def add_node(
        self,
        name: str,
        does: "NodeFunction | GraphDefinition | Any",
        *,
        retries: int = 0,
        retry_delay: float = 0.0,
        retry_backoff: float = 1.0,
        timeout: float | None = None,
        thread: bool = False,
        external: bool = False,
        on_interrupt: OnInterrupt = "repeat",
    ) -> None:
        """Add a node: an async or plain function from state to update, or another graph.

        A plain function runs on the event loop, or with `thread=True` in a thread, where it may block. `external` marks
        effects that cannot be undone, so the debugger asks before going back over it. `on_interrupt` ("repeat", "fail"
        or "pause") applies when the process died while the node ran. Times are in seconds.
        """
        if name in self.nodes:
            self._refused.append(f"node {name!r} is added twice: use unique names")
            return
        if not name or name in (START, END) or any(char in name for char in ".[]#@+/ "):
            self._refused.append(f"invalid node name {name!r}: use letters, digits, '_' and '-'")
            return
        definition = getattr(does, "definition", None)
        does = definition if isinstance(definition, GraphDefinition) else does
        if not callable(does) and not isinstance(does, GraphDefinition):
            self._refused.append(f"node {name!r} must be a function or a graph, not a {type(does).__name__}")
            return
        options: dict[str, Any] = {"retries": retries, "retry_delay": retry_delay, "timeout": timeout}
        for option, value in options.items():
            if value is not None and (not isinstance(value, int | float) or isinstance(value, bool) or value < 0):
                self._refused.append(f"node {name!r} has {option}={value!r}: use a non-negative number")
        if on_interrupt not in ("repeat", "fail", "pause"):
            self._refused.append(f"node {name!r} has on_interrupt={on_interrupt!r}: use 'repeat', 'fail' or 'pause'")
        retry = Retry(retries, retry_delay, retry_backoff) if retries else NO_RETRY
        effects: Effects = "external" if external else "workspace"
        self.nodes[name] = NodeSpec(name, does, retry, timeout, thread, effects, on_interrupt, _source_of(does))

    def add_edge(self, source: str, targets: str | Iterable[str]) -> None:
        """Run the target after `source`. Several targets run in parallel and join where they meet."""
        known = self.edges.setdefault(source, [])
        for target in [targets] if isinstance(targets, str) else targets:
            if (source, target) in self._pairs:
                self._refused.append(f"the edge from {source!r} to {target!r} is added twice")
            else:
                known.append(target)
                self._pairs.add((source, target))

    def add_conditional_edge(
        self, source: str, choose: Choose, targets: Iterable[str] | Mapping[Any, str] | None = None
    ) -> None:
        """After `source`, run what `choose(state)` returns: a node, END, or a list of nodes.

        `targets` lists what it may return, or maps what it returns to nodes; a `Literal` return type does the same.
        """
        if not callable(choose):
            self._refused.append(f"the router after {source!r} must be a function, not a {type(choose).__name__}")
        if source in self.routers:
            self._refused.append(f"node {source!r} has two conditional edges: use a single router function")
        declared = _literal_of(choose) if targets is None else targets
        if declared is not None and not isinstance(declared, Mapping):
            declared = {target: target for target in declared}
        self.routers[source] = Router(choose, declared)

    def copy(self) -> "GraphDefinition":
        """A copy, which later changes to this graph do not affect."""
        copied = GraphDefinition(self.name, dict(self.reducers))
        copied.nodes, copied.routers = dict(self.nodes), dict(self.routers)
        copied.edges = {source: list(targets) for source, targets in self.edges.items()}
        return copied

    def mistakes(self, where: str = "", around: tuple["GraphDefinition", ...] = ()) -> list[str]:
        """Every reason why this graph, or a graph inside it, cannot run."""
        found = [*self._refused, *self._bad_ends(), *self._bad_sources()]
        if not self.edges.get(START) and START not in self.routers:
            found.append(f"nothing follows START: add_edge(START, {next(iter(self.nodes), 'node')!r})")
        else:
            found += self._unreachable() + self._endless() + self._unclear_joins()
        found = [f"in {where}: {mistake}" if where else mistake for mistake in found]
        for node in self.nodes.values():
            inner = f"{where}.{node.name}" if where else node.name
            if isinstance(node.does, GraphDefinition):
                if node.does is self or node.does in around:
                    found.append(f"graph {inner} contains itself, so it would never end")
                else:
                    found += node.does.mistakes(inner, (*around, self))
        return found

    def successors(self, node: str) -> list[str]:
        """The nodes that may follow a node, as far as they are declared."""
        router = self.routers.get(node)
        declared = list(router.targets.values()) if router is not None and router.targets is not None else []
        return self.edges.get(node, []) + declared

    def _bad_ends(self) -> list[str]:
        return [
            f"the edge from {source!r} leads to {target!r}, which is not a node{self._hint(target)}"
            for source in {**self.edges, **self.routers}
            for target in dict.fromkeys(self.successors(source))
            if target != END and target not in self.nodes
        ]

    def _bad_sources(self) -> list[str]:
        found = []
        for source in {**self.edges, **self.routers}:
            if source != START and source not in self.nodes:
                found.append(f"an edge starts at {source!r}, which is not a node{self._hint(source)}")
            if source in self.routers and self.edges.get(source):
                found.append(f"node {source!r} has edges and a conditional edge: let its router choose all targets")
        return found

    def _unreachable(self) -> list[str]:
        if any(router.targets is None for router in self.routers.values()):
            return []  # a router that may choose anything reaches everything
        seen = self._closure([START], self.successors)
        return [f"node {name!r} cannot be reached from START" for name in self.nodes if name not in seen]

    def _endless(self) -> list[str]:
        before: dict[str, list[str]] = {}
        for source in [*self.nodes, START]:
            ends = self.successors(source)
            if source in self.routers and self.routers[source].targets is None:
                ends = [*ends, END]
            for target in ends:
                before.setdefault(target, []).append(source)
        seen = self._closure([END], lambda node: before.get(node, []))
        return [f"no path leads from node {name!r} to END" for name in self.nodes if name not in seen]

    def _unclear_joins(self) -> list[str]:
        open_routers = {node for node, router in self.routers.items() if router.targets is None}
        found: list[str] = []
        sources = {**self.edges, **self.routers} if open_routers else {}
        for source in sources:
            targets = [target for target in self.successors(source) if target != END]
            if len(targets) < 2:
                continue
            times_reached = Counter(node for target in targets for node in self._closure([target], self.successors))
            for node, times in times_reached.items():
                if times == 1 and node in open_routers:
                    found.append(
                        f"the conditional edge after {node!r} is in a branch that starts at {source!r}: declare what "
                        f"it may choose (targets=[...] or a Literal return type), so that the branches can join"
                    )
        return list(dict.fromkeys(found))

    def _closure(self, first: list[str], step: Callable[[str], Iterable[str]]) -> set[str]:
        seen = set(first)
        todo = list(first)
        while todo:
            for node in step(todo.pop()):
                if node not in seen:
                    seen.add(node)
                    todo.append(node)
        return seen

    def _hint(self, name: object) -> str:
        near = difflib.get_close_matches(str(name), self.nodes, n=1)
        return f"; did you mean {near[0]!r}?" if near else ""


def _source_of(does: Any) -> Source | None:
    code = getattr(inspect.unwrap(does), "__code__", None) if callable(does) else None
    if code is None:
        return None
    last = max((line for _, _, line in code.co_lines() if line is not None), default=code.co_firstlineno)
    return Source(code.co_filename, code.co_firstlineno, end_line=last)


def _literal_of(choose: Choose) -> list[Any] | None:
    try:
        returned = typing.get_type_hints(choose).get("return")
    except (NameError, TypeError, AttributeError):
        return None
    return list(typing.get_args(returned)) if typing.get_origin(returned) is typing.Literal else None
