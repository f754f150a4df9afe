"""Burr: function-based async actions and `arun`, no tracker, no persister, no hooks of ours."""

from collections.abc import Callable
from typing import Any

from burr.core import ApplicationBuilder, Condition, State, action

from measure import Contender
from nodes import NODES, is_chained, is_looped, new_state

# Measured here per node: `@action` functions 55.8 us, `Action` classes 56.9; `arun` 55.9, an `astep` loop 55.7,
# `aiterate` 61.6; a condition by `Condition.lmda` 55, by `expr` 79.


@action(reads=[], writes=["text"])
async def noop(state: Any) -> Any:
    return state.update(text="y")


@action(reads=["turn"], writes=["turn"])
async def take_turn(state: Any) -> Any:
    return state.update(turn=state["turn"] + 1)


@action(reads=[], writes=[])
async def finish(state: Any) -> Any:
    return state


def _contender(builder: Any, check: Callable[[Any], bool], **halt: list[str]) -> Contender:
    app = builder.with_state(**new_state()).build()

    async def run() -> Any:
        _, _, state = await app.arun(**halt)
        return state

    def rewind() -> None:
        app.update_state(State(new_state()))
        app.reset_to_entrypoint()

    return Contender("Burr", run, prepare=rewind, check=check)


def chain() -> Contender:
    builder: Any = (
        ApplicationBuilder()  # type: ignore[no-untyped-call]
        .with_actions(**{f"n{index}": noop for index in range(NODES)})
        .with_transitions(*[(f"n{index}", f"n{index + 1}") for index in range(NODES - 1)])
        .with_entrypoint("n0")
    )
    return _contender(builder, is_chained, halt_after=[f"n{NODES - 1}"])


def loop() -> Contender:
    is_more = Condition.lmda(lambda state: state["turn"] < NODES, ["turn"])
    builder: Any = (
        ApplicationBuilder()  # type: ignore[no-untyped-call]
        .with_actions(node=take_turn, finish=finish)
        .with_transitions(("node", "node", is_more), ("node", "finish"))
        .with_entrypoint("node")
    )
    return _contender(builder, is_looped, halt_before=["finish"])
