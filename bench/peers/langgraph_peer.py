"""LangGraph: `StateGraph` over a TypedDict, `ainvoke`, no checkpointer but where single-stepping needs one."""

import itertools
import operator
import os
from typing import Annotated, Any, TypedDict

os.environ["LANGSMITH_TRACING"] = "false"  # before the import: no tracing is asked for, so none may be paid for

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send

from measure import Contender
from nodes import BRANCHES, NODES, branch, is_chained, is_joined, is_looped, new_state, noop

LIMIT: RunnableConfig = {"recursion_limit": NODES + 10}


class State(TypedDict):
    turn: int
    text: str
    items: int


class SummedState(TypedDict):
    turn: int
    text: str
    items: Annotated[int, operator.add]


async def take_turn(state: State) -> Command[Any]:
    """Measured here: `Command(goto=...)` costs 0.28 ms a turn, a conditional edge 0.39 (async) or 0.61 (plain)."""
    turn = state["turn"] + 1
    return Command(update={"turn": turn}, goto="node" if turn < NODES else END)


def _looped_graph() -> Any:
    graph: Any = StateGraph(State)
    graph.add_node("node", take_turn, destinations=("node", END))
    graph.add_edge(START, "node")
    return graph


def chain() -> Contender:
    """Plain edges: `add_sequence` compiles to the same, `Command` is no faster in a chain."""
    graph: Any = StateGraph(State)
    for index in range(NODES):
        graph.add_node(f"n{index}", noop)
        graph.add_edge(f"n{index - 1}" if index else START, f"n{index}")
    graph.add_edge(f"n{NODES - 1}", END)
    app = graph.compile()
    return Contender("LangGraph", lambda: app.ainvoke(new_state(), LIMIT), check=is_chained)


def loop() -> Contender:
    app = _looped_graph().compile()
    return Contender("LangGraph", lambda: app.ainvoke(new_state(), LIMIT), check=is_looped)


def fan_out() -> Contender:
    """`Send`: 20.4 ms here, where a hundred edges take 23.8 and a waiting edge 23.3."""
    graph: Any = StateGraph(SummedState)
    graph.add_node("fork", noop)
    graph.add_node("branch", branch)
    graph.add_node("join", noop)
    graph.add_edge(START, "fork")
    graph.add_conditional_edges("fork", lambda state: [Send("branch", state) for _ in range(BRANCHES)], ["branch"])
    graph.add_edge("branch", "join")
    graph.add_edge("join", END)
    app = graph.compile()
    return Contender("LangGraph", lambda: app.ainvoke(new_state(), LIMIT), check=is_joined)


def step_through() -> Contender:
    """`interrupt_before="*"` on the loop, its best case: stepping through a chain costs twice as much per node.

    `durability` makes no difference, as every step ends in an interrupt and is saved. Each sample gets an empty
    checkpointer, so that none pays for the history of those before it.
    """
    app = _looped_graph().compile(checkpointer=InMemorySaver())
    threads = itertools.count()

    def forget() -> None:
        app.checkpointer = InMemorySaver()

    async def run() -> Any:
        config: RunnableConfig = {**LIMIT, "configurable": {"thread_id": str(next(threads))}}
        state = await app.ainvoke(new_state(), config, interrupt_before="*")
        for _ in range(NODES):
            state = await app.ainvoke(None, config, interrupt_before="*")
        return state

    return Contender("LangGraph", run, prepare=forget, check=is_looped)
