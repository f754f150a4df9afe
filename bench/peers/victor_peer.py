"""victor-ai: the StateGraph of `victor.framework.graph`, with its events and its copy-on-write switched off."""

from typing import Any

from victor.framework.graph import END, StateGraph

from measure import Contender
from nodes import NODES, is_chained, is_looped, new_state

# Both switches are options of `compile`. Measured here per node: 31 us as it comes, 11.4 without events, 4.1 without
# copy-on-write too. Nodes change the state in place: a new dict from every node costs 4.4 (25 as it comes).
FAST = {"emit_events": False, "use_copy_on_write": False}
LIMITS = {"max_iterations": NODES + 10, "recursion_limit": NODES + 10}

State = dict[str, Any]


async def noop(state: State) -> State:
    state["text"] = "y"
    return state


async def take_turn(state: State) -> State:
    state["turn"] += 1
    return state


def _contender(name: str, app: Any, **rest: Any) -> Contender:
    async def run() -> Any:
        return (await app.invoke(new_state())).state

    return Contender(name, run, **rest)


def _chained_graph() -> Any:
    graph: Any = StateGraph()
    for index in range(NODES):
        graph.add_node(f"n{index}", noop)
        graph.add_edge(f"n{index}", f"n{index + 1}" if index < NODES - 1 else END)
    return graph.set_entry_point("n0")


def _looped_graph() -> Any:
    graph: Any = StateGraph()
    graph.add_node("node", take_turn)
    routes = {"more": "node", "done": END}
    graph.add_conditional_edge("node", lambda state: "more" if state["turn"] < NODES else "done", routes)
    return graph.set_entry_point("node")


def chain() -> Contender:
    return _contender("victor-ai", _chained_graph().compile(**LIMITS, **FAST), check=is_chained)


def loop() -> Contender:
    return _contender("victor-ai", _looped_graph().compile(**LIMITS, **FAST), check=is_looped)


def chain_as_it_comes() -> Contender:
    return _contender("victor-ai (defaults)", _chained_graph().compile(**LIMITS), check=is_chained)


def loop_as_it_comes() -> Contender:
    return _contender("victor-ai (defaults)", _looped_graph().compile(**LIMITS), check=is_looped)
