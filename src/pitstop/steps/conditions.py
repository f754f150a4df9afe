"""jq that is to hold, and what to tell when it does not."""

from collections.abc import Mapping
from typing import Any

from pitstop.engine.ports import Evaluator
from pitstop.errors import BadExpression, ExpressionTimeout
from pitstop.plan.expressions import Expression, only_value, parse_template, shown, what_was_there
from pitstop.steps.polling import NotYet


async def holds(expression: str, values: Mapping[str, Any], evaluator: Evaluator) -> bool | NotYet:
    """True, or what was there; BadExpression for one that cannot hold, since it does not compile or does not end."""
    try:
        answer = await only_value(expression, values, evaluator)
    except ExpressionTimeout:
        raise
    except BadExpression as error:
        if not await _compiles(expression, evaluator):
            raise
        return NotYet(error.reason)
    if answer is None or answer is False:
        return NotYet(f"it is {shown(answer)}{what_was_there(expression, values)}")
    return True


def only_expression(value: object) -> str | None:
    """The jq of a text that is one `${{ }}` and nothing else."""
    parts = parse_template(value).parts if isinstance(value, str) else ()
    return parts[0].text if len(parts) == 1 and isinstance(parts[0], Expression) else None


async def _compiles(expression: str, evaluator: Evaluator) -> bool:
    """Whether jq understands it; given no input it cannot fail in any other way."""
    try:
        await evaluator.evaluate(f"empty | (\n{expression}\n\n)", {})
    except BadExpression:
        return False
    return True
