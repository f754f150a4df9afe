"""Whether jq understands an expression, before anything is evaluated with it."""

from collections.abc import Callable, Iterator, Sequence

from pitstop.engine.ports import Evaluator
from pitstop.errors import BadBreakpoint, BadExpression
from pitstop.plan.expressions import condition_text, parse_template
from pitstop.plan.paths import plain_path
from pitstop.runs.run_request import BreakpointRequest

CHECKED_TOGETHER = 200

Problem = str | None


async def wrong_expressions(expressions: Sequence[str], evaluator: Evaluator) -> dict[str, str]:
    """What is wrong with which. Compiling is what takes time, so many are tried together: most often all are right."""
    unsure = [each for each in expressions if plain_path(each) is None]
    wrong: dict[str, str] = {}
    for begin in range(0, len(unsure), CHECKED_TOGETHER):
        together = unsure[begin : begin + CHECKED_TOGETHER]
        if await _why_not_compiled(together, evaluator) is not None:
            reasons = {each: await _why_wrong(each, evaluator) for each in together}
            wrong |= {each: reason for each, reason in reasons.items() if reason is not None}
    return wrong


async def breakpoint_problems(
    breakpoints: Sequence[BreakpointRequest], new_evaluator: Callable[[], Evaluator]
) -> tuple[Problem, ...]:
    """What is wrong with the jq of each breakpoint; None for one that is valid."""
    problems: list[Problem] = []
    evaluator: Evaluator | None = None
    try:
        for each in breakpoints:
            try:
                found = [(what, jq) for what, jq in _jq_of(each) if plain_path(jq) is None]
                evaluator = evaluator or (new_evaluator() if found else None)
                problems.append(await _problem(found, evaluator) if evaluator is not None else None)
            except BadExpression as error:  # of a template
                problems.append(f"invalid template: {error.reason}")
    finally:
        if evaluator is not None:
            await evaluator.close()
    return tuple(problems)


async def check_breakpoints(breakpoints: Sequence[BreakpointRequest], new_evaluator: Callable[[], Evaluator]) -> None:
    """BadBreakpoint for the first one with jq that does not compile."""
    for problem in await breakpoint_problems(breakpoints, new_evaluator):
        if problem is not None:
            raise BadBreakpoint(problem)


def _jq_of(request: BreakpointRequest) -> Iterator[tuple[str, str]]:
    if request.condition is not None:
        yield "condition", condition_text(request.condition)
    if request.state is not None:
        yield "path", request.state
    if request.log is not None:
        for expression in parse_template(request.log).expressions:
            yield "log message", expression


async def _problem(found: Sequence[tuple[str, str]], evaluator: Evaluator) -> Problem:
    wrong = await wrong_expressions([jq for _, jq in found], evaluator)
    return next((f"invalid {what} {jq!r}: {wrong[jq]}" for what, jq in found if jq in wrong), None)


async def _why_wrong(expression: str, evaluator: Evaluator) -> Problem:
    """Why jq does not understand it, with places in what was written and not in what we put around it."""
    reason = await _why_not_compiled([expression], evaluator)
    if reason is None:
        return None
    try:
        await evaluator.evaluate(expression, {})
    except BadExpression as error:
        return error.reason
    return reason


async def _why_not_compiled(expressions: Sequence[str], evaluator: Evaluator) -> Problem:
    """Why jq does not understand them; given no input, they cannot fail in any other way."""
    program = ", ".join(f"(\n{each}\n\n)" for each in expressions)
    try:
        await evaluator.evaluate(f"empty | {program}", {}, timeout_seconds=10.0)
    except BadExpression as error:
        return error.reason
    return None
