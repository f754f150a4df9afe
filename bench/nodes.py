"""The work that every contender does: the same state, the same no-op nodes, the same result."""

from collections.abc import Mapping
from typing import Any

NODES = 1000
BRANCHES = 100

UPDATE = {"text": "y"}
BRANCH_UPDATE = {"items": 1}


def new_state() -> dict[str, Any]:
    """The state of every row: three keys."""
    return {"turn": 0, "text": "x", "items": 0}


async def noop(state: Mapping[str, Any]) -> dict[str, Any]:
    """A node of the chain: nothing but the same small update."""
    return UPDATE


async def take_turn(state: Mapping[str, Any]) -> dict[str, Any]:
    """The node of the loop: the smallest update that lets a loop end."""
    return {"turn": state["turn"] + 1}


async def branch(state: Mapping[str, Any]) -> dict[str, Any]:
    """A branch of the fan-out: its update meets those of its siblings in a sum."""
    return BRANCH_UPDATE


def is_chained(state: Mapping[str, Any]) -> bool:
    return {key: state[key] for key in ("turn", "text", "items")} == {"turn": 0, "text": "y", "items": 0}


def is_looped(state: Mapping[str, Any]) -> bool:
    return {key: state[key] for key in ("turn", "text", "items")} == {"turn": NODES, "text": "x", "items": 0}


def is_joined(state: Mapping[str, Any], branches: int = BRANCHES) -> bool:
    return {key: state[key] for key in ("turn", "text", "items")} == {"turn": 0, "text": "y", "items": branches}
