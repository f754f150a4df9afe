"""Flow files on this machine: read, checked and planned."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from posixpath import normpath
from typing import Any

from pitstop.definition.flow import Flow
from pitstop.definition.yaml_reader import read_flow
from pitstop.engine.ports import Evaluator
from pitstop.engine.run import COMBINING
from pitstop.errors import BadExpression, BadFlow, Mistake
from pitstop.plan.expressions import parse_template
from pitstop.plan.paths import plain_path
from pitstop.plan.plan import Plan
from pitstop.plan.planner import plan_flow
from pitstop.service.parts import Parts
from pitstop.steps.registry import DescribedStepType, StepTypes

MOST_BYTES = 64 * 1024 * 1024  # more than the reader takes, so that it can say what its limit is
CHECKED_TOGETHER = 200

CheckExpression = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class PlannedFlow:
    """A flow, its plan, and the step types that it was read with."""

    flow: Flow
    plan: Plan
    types: StepTypes
    texts: Mapping[str, str]

    @property
    def kinds(self) -> set[str]:
        """The step types that a run of it needs."""
        return {step.kind for step in self.plan.steps.values()} - set(COMBINING)


class FlowFiles:
    """Reads flows. The types of other packages are looked for only where a flow does not do without."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def plan(self, path: str, inputs: Mapping[str, Any]) -> PlannedFlow:
        """The plan of the flow in a file; BadFlow, BadInputs."""
        return self._read(path, _read_first(path), inputs)

    async def check(self, path: str, evaluator: Evaluator) -> PlannedFlow:
        """The same with every jq expression tried, and no inputs asked for; BadFlow."""
        text = _read_first(path)
        expressions: dict[str, None] = {}
        async with asyncio.TaskGroup() as group:
            group.create_task(_get_up(evaluator))  # in a process of its own, while we read
            await asyncio.sleep(0)
            planned: PlannedFlow | BadFlow
            try:
                planned = self._read(path, text, None, expressions.setdefault)
            except BadFlow as error:
                planned = error
        wrong = await _wrong_expressions(list(expressions), evaluator)
        if wrong:
            self._read(path, text, None, wrong.get)  # which tells them in their places
        if isinstance(planned, BadFlow):
            raise planned
        return planned

    def _read(
        self,
        path: str,
        text: bytes,
        inputs: Mapping[str, Any] | None,
        check_expression: CheckExpression | None = None,
    ) -> PlannedFlow:
        types = self._parts.built_in_types()
        try:
            return _Reading(types, types_named_in(text, types), check_expression).plan(path, text, inputs)
        except BadFlow:  # which may be because of a type that was not looked for
            types = self._parts.all_types()
            return _Reading(types, types.usable(), check_expression).plan(path, text, inputs)


class _Reading:
    """One flow and those it calls, all read with the same step types."""

    def __init__(
        self,
        types: StepTypes,
        usable: Mapping[str, type[DescribedStepType]],
        check_expression: CheckExpression | None = None,
    ) -> None:
        self._types = types
        self._usable = usable
        self._check_expression = check_expression
        self._texts: dict[str, str] = {}

    def plan(self, path: str, text: bytes, inputs: Mapping[str, Any] | None) -> PlannedFlow:
        flow = self._read(normpath(path), text)
        if inputs is None:
            inputs = {name: spec.default for name, spec in flow.inputs.items()}
        plan = plan_flow(flow, inputs, lambda file: self._read(file, read_file(file)))
        return PlannedFlow(flow, plan, self._types, self._texts)

    def _read(self, file: str, text: bytes) -> Flow:
        flow = read_flow(
            text,
            file,
            self._usable,
            read_file=read_file,
            parse_template=parse_template,
            check_expression=self._check_expression,
        )
        self._texts.update(flow.texts)
        return flow


def read_file(path: str) -> bytes:
    """The bytes of a file; OSError. Of one without an end only the beginning, which is too large all the same."""
    with Path(path).open("rb") as file:
        return file.read(MOST_BYTES)


def types_named_in(text: bytes, types: StepTypes) -> dict[str, type[DescribedStepType]]:
    """The types whose names are somewhere in the text: a flow cannot have steps of any others in it."""
    return {name: types.find(name) for name in types.names if name.encode() in text}


def _read_first(path: str) -> bytes:
    try:
        return read_file(path)
    except OSError as error:
        raise BadFlow([Mistake(path, 1, 1, f"the file cannot be read: {error.strerror or error}")]) from error


async def _get_up(evaluator: Evaluator) -> None:
    with suppress(BadExpression):  # what keeps it from that is told where it is needed
        await evaluator.evaluate("1 + 1", {})


async def _wrong_expressions(expressions: list[str], evaluator: Evaluator) -> dict[str, str]:
    """What is wrong with which. Compiling is what takes time, so many are tried together: most often all are right."""
    unsure = [each for each in expressions if plain_path(each) is None]
    wrong: dict[str, str] = {}
    for begin in range(0, len(unsure), CHECKED_TOGETHER):
        together = unsure[begin : begin + CHECKED_TOGETHER]
        if await _why_not_compiled(together, evaluator) is not None:
            reasons = {each: await _why_not_compiled([each], evaluator) for each in together}
            wrong |= {each: reason for each, reason in reasons.items() if reason is not None}
    return wrong


async def _why_not_compiled(expressions: list[str], evaluator: Evaluator) -> str | None:
    """Why jq does not understand them; given no input, they cannot fail in any other way."""
    program = ", ".join(f"(\n{each}\n\n)" for each in expressions)
    try:
        await evaluator.evaluate(f"empty | {program}", {}, timeout_seconds=10.0)
    except BadExpression as error:
        return error.reason
    return None
