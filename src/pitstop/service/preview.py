"""The configs of a plan before anything has run: what the inputs decide is filled in, the rest is as it is written."""

from collections.abc import Mapping
from typing import Any

from pitstop.engine.ports import Evaluator
from pitstop.errors import BadExpression
from pitstop.plan.expressions import expressions_in, render
from pitstop.plan.jq_text import top_keys
from pitstop.plan.plan import Plan, Step

NOT_SHOWN = frozenset(("steps", "matrix", "repeat", "secrets"))  # known later, or not to be known


async def resolved_configs(plan: Plan, values: Mapping[str, Any], evaluator: Evaluator) -> dict[str, Mapping[str, Any]]:
    """The config of every step, by path."""
    configs: dict[str, Mapping[str, Any]] = {}
    todo: list[tuple[Step, Mapping[str, Any]]] = [(plan.root, values)]
    while todo:
        step, seen = todo.pop()
        config = configs[step.path] = await _resolved(step.config, seen, evaluator)
        if step.kind == "call":  # a flow that is called sees what it is given, and nothing of the caller's
            own = config.get("values", {})
            seen = {**own, "inputs": {**own.get("inputs", {}), **config.get("with", {})}, "run": seen.get("run")}
        todo += [(child, seen) for child in (*step.children, *step.cleanup)]
    return configs


async def _resolved(value: Any, values: Mapping[str, Any], evaluator: Evaluator) -> Any:
    match value:
        case Mapping():
            return {key: await _resolved(child, values, evaluator) for key, child in value.items()}
        case list() | tuple():
            return [await _resolved(child, values, evaluator) for child in value]
        case str() if all(map(_is_known, expressions_in(value))):
            try:
                return await render(value, values, evaluator)
            except BadExpression:
                return value
    return value


def _is_known(expression: str) -> bool:
    keys = top_keys(expression)
    return keys is not None and not keys & NOT_SHOWN
