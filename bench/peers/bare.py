"""No library at all: the plain `await` loop and `asyncio.gather` that every engine is measured against."""

import asyncio
from typing import Any

from measure import Contender
from nodes import BRANCHES, NODES, branch, is_chained, is_joined, is_looped, new_state, noop, take_turn


def chain() -> Contender:
    nodes = [noop] * NODES

    async def run() -> dict[str, Any]:
        state = new_state()
        for node in nodes:
            state.update(await node(state))
        return state

    return Contender("bare loop", run, check=is_chained)


def loop() -> Contender:
    def is_more(state: dict[str, Any]) -> bool:
        return bool(state["turn"] < NODES)

    async def run() -> dict[str, Any]:
        state = new_state()
        while True:
            state.update(await take_turn(state))
            if not is_more(state):  # a call, as every library calls its router
                return state

    return Contender("bare loop", run, check=is_looped)


def fan_out() -> Contender:
    branches = [branch] * BRANCHES

    async def run() -> dict[str, Any]:
        state = new_state()
        state.update(await noop(state))
        for update in await asyncio.gather(*[node(state) for node in branches]):
            state["items"] += update["items"]
        state.update(await noop(state))
        return state

    return Contender("asyncio.gather", run, check=is_joined)
