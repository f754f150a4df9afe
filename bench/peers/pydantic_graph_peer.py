"""pydantic-graph: builder steps for the chain, a self-returning `BaseNode` for the loop, instrumentation off."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from pydantic_graph import BaseNode, End, GraphBuilder, GraphRunContext

from measure import Contender
from nodes import NODES, UPDATE, is_chained, is_looped, new_state

State = dict[str, Any]


async def noop(context: Any) -> None:
    context.state.update(UPDATE)


@dataclass
class TakeTurn(BaseNode[State, None, None]):
    """Measured here: a node that returns itself costs 122 us a turn, a step with a decision 231 (two tasks a turn)."""

    async def run(self, context: GraphRunContext[State, None]) -> TakeTurn | End[None]:
        context.state["turn"] += 1
        return self if context.state["turn"] < NODES else End(None)


async def _run(graph: Any, inputs: TakeTurn | None) -> State:
    """`iter`: no dearer here than `run`, which sends every event back in."""
    state = new_state()
    async with graph.iter(state=state, inputs=inputs, infer_name=False) as run:
        async for _ in run:
            pass
    return state


def chain() -> Contender:
    builder: Any = GraphBuilder(name="chain", state_type=State, auto_instrument=False)
    steps = [builder.step(noop, node_id=f"n{index}") for index in range(NODES)]
    builder.add(builder.edge_from(builder.start_node).to(steps[0]))
    for step, follower in itertools.pairwise(steps):
        builder.add(builder.edge_from(step).to(follower))
    builder.add(builder.edge_from(steps[-1]).to(builder.end_node))
    graph = builder.build()
    return Contender("pydantic-graph", lambda: _run(graph, None), check=is_chained)


def loop() -> Contender:
    builder: Any = GraphBuilder(name="loop", state_type=State, input_type=TakeTurn, auto_instrument=False)
    builder.add(builder.node(TakeTurn), builder.edge_from(builder.start_node).to(TakeTurn))
    graph = builder.build()
    return Contender("pydantic-graph", lambda: _run(graph, TakeTurn()), check=is_looped)
