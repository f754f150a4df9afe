"""Flows, in files of this machine or in texts: read, checked and planned."""

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from errno import ENOENT
from pathlib import Path
from posixpath import normpath
from typing import Any

from msgspec import Struct

from pitstop.definition.flow import Flow, StepSpec
from pitstop.definition.mistakes import in_order
from pitstop.definition.yaml_reader import read_flow
from pitstop.engine.ports import Evaluator
from pitstop.errors import BadEdit, BadExpression, BadFlow, Mistake
from pitstop.plan.expressions import parse_template
from pitstop.plan.plan import Step
from pitstop.plan.planner import call_mistakes, plan_flow
from pitstop.plan.planner import plan_added_step as plan_step
from pitstop.runs.graph_targets import GraphTarget, read_target
from pitstop.runs.jq_checks import wrong_expressions
from pitstop.runs.planned_flow import PlannedFlow
from pitstop.steps.described import DescribedStepType
from pitstop.steps.registry import StepTypes, find_step_types

MOST_BYTES = 64 * 1024 * 1024  # more than the reader takes, so that it can say what its limit is
KNOWN_PLANS = 64
LONGEST_KNOWN = 256 * 1024  # characters of a flow with all its files

_NOT_ASCII = re.compile(r"[^\x20-\x7e]")  # which YAML has other escapes for than JSON

CheckExpression = Callable[[str], str | None]
ReadFile = Callable[[str], bytes]


PlanGraph = Callable[[str, GraphTarget], PlannedFlow]  # what was written, and the graph that it names


class FlowFiles:
    """Reads flows. The types of other packages are looked for only where a flow does not do without.

    A flow whose every file was read before, word for word and for the same inputs, is not planned again. A graph is
    planned by `plan_graph`; without it only flows are read.
    """

    def __init__(self, plan_graph: PlanGraph | None = None) -> None:
        self._known = KnownPlans()
        self._import_graph = plan_graph

    def plan(self, path: str, inputs: Mapping[str, Any] | None, text: str | None = None) -> PlannedFlow:
        """The plan of the flow in a file, or in a text; None asks for no inputs. BadFlow, BadInputs."""
        if text is None:
            return self._plan_graph(path) or self._read(path, _first(path, read_file), inputs)
        texts = {normpath(path): text}
        return self._plan_once(path, texts, inputs, read_from(texts, read_file))

    def plan_again(self, path: str, texts: Mapping[str, str], inputs: Mapping[str, Any] | None) -> PlannedFlow:
        """The plan of a flow as its files were once, whatever is in them now; BadFlow, BadInputs.

        Code that was imported is gone: a graph is planned as it is now.
        """
        return self._plan_graph(path) or self._plan_once(path, texts, inputs, read_from(texts))

    def _plan_graph(self, path: str) -> PlannedFlow | None:
        """The plan of a graph, if the path names one."""
        if self._import_graph is None:
            return None
        target = read_target(path)
        return None if target is None else self._import_graph(path, target)

    def _plan_once(
        self, path: str, texts: Mapping[str, str], inputs: Mapping[str, Any] | None, read: ReadFile
    ) -> PlannedFlow:
        planned = self._known.find(path, texts, inputs)
        if planned is None:
            planned = self._read(path, _first(path, read), inputs)
            self._known.keep(path, inputs, planned)
        return planned

    async def check(self, path: str, evaluator: Evaluator, text: str | None = None) -> PlannedFlow:
        """The plan with every jq expression tried, and no inputs asked for; BadFlow."""
        graph = self._plan_graph(path) if text is None else None
        if graph is not None:
            return graph
        source = _first(path, read_file if text is None else read_from({normpath(path): text}, read_file))
        expressions: dict[str, None] = {}
        async with asyncio.TaskGroup() as group:
            group.create_task(_get_up(evaluator))  # in a process of its own, while we read
            await asyncio.sleep(0)
            planned: PlannedFlow | BadFlow
            try:
                planned = self._read(path, source, None, expressions.setdefault)
            except BadFlow as error:
                planned = error
        wrong = await wrong_expressions(list(expressions), evaluator)
        if wrong:
            self._read(path, source, None, wrong.get)  # which tells them in their places
        if isinstance(planned, BadFlow):
            raise planned
        return planned

    def _read(
        self,
        path: str,
        source: "_Source",
        inputs: Mapping[str, Any] | None,
        check_expression: CheckExpression | None = None,
    ) -> PlannedFlow:
        types = StepTypes()
        try:
            usable = types_named_in(source.text, types)
            return _Reading(source, types, usable, check_expression).plan(path, inputs)
        except BadFlow:  # which may be because of a type that was not looked for
            types = find_step_types()
            return _Reading(source, types, types.usable(), check_expression).plan(path, inputs)


class KnownPlans:
    """The last few plans, by all that was read for them. A plan is never changed, so many runs can share it."""

    def __init__(self) -> None:
        self._plans: dict[_Read, PlannedFlow] = {}  # those that were used last at the end

    def find(self, path: str, texts: Mapping[str, str], inputs: Mapping[str, Any] | None) -> PlannedFlow | None:
        key = _key_of(path, texts, inputs)
        planned = self._plans.pop(key, None)
        if planned is not None:
            self._plans[key] = planned
        return planned

    def keep(self, path: str, inputs: Mapping[str, Any] | None, planned: PlannedFlow) -> None:
        if sum(map(len, planned.texts.values())) <= LONGEST_KNOWN:
            self._plans[_key_of(path, planned.texts, inputs)] = planned
        if len(self._plans) > KNOWN_PLANS:
            del self._plans[next(iter(self._plans))]


_Read = tuple[str, frozenset[tuple[str, str]], str | None]


def _key_of(path: str, texts: Mapping[str, str], inputs: Mapping[str, Any] | None) -> _Read:
    # `repr`, for the order and the types of values make a difference to a plan
    return normpath(path), frozenset(texts.items()), None if inputs is None else repr(dict(inputs))


class _Source(Struct, frozen=True):
    """The file that a flow begins in, and what reads the others."""

    text: bytes
    read_file: ReadFile


class _Reading:
    """One flow and those it calls, all read with the same step types."""

    def __init__(
        self,
        source: _Source,
        types: StepTypes,
        usable: Mapping[str, type[DescribedStepType]],
        check_expression: CheckExpression | None = None,
    ) -> None:
        self._source = source
        self._types = types
        self._usable = usable
        self._check_expression = check_expression
        self._texts: dict[str, str] = {}

    def read(self, path: str) -> Flow:
        """The flow that it begins with; BadFlow."""
        return self._read(normpath(path), self._source.text)

    def plan(self, path: str, inputs: Mapping[str, Any] | None) -> PlannedFlow:
        calls: list[StepSpec] = []
        try:
            flow = self._read(normpath(path), self._source.text, calls.append)
        except BadFlow as error:  # its calls are right or wrong whatever else is in the file
            found = call_mistakes(calls, normpath(path), self._source.text.decode(errors="replace"), self.load)
            raise BadFlow(in_order([*error.found, *found])) from None
        if inputs is None:
            inputs = {name: spec.default for name, spec in flow.inputs.items()}
        return PlannedFlow(flow, plan_flow(flow, inputs, self.load), self._types, self._texts)

    def load(self, file: str) -> Flow:
        return self._read(file, self._source.read_file(file))

    def _read(self, file: str, text: bytes, on_call: Callable[[StepSpec], None] | None = None) -> Flow:
        flow = read_flow(
            text,
            file,
            self._usable,
            read_file=self._source.read_file,
            parse_template=parse_template,
            check_expression=self._check_expression,
            on_call=on_call,
        )
        self._texts.update(flow.texts)
        return flow


def plan_added_step(planned: PlannedFlow, given: Mapping[str, Any], path: str, host: Step) -> Step:
    """A step that is added to a run of the flow, read and planned like those in its file; BadEdit."""
    try:
        text = json.dumps({"steps": [given]}, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadEdit(f"cannot inject this step: it is not JSON: {error}") from error
    text = _NOT_ASCII.sub(lambda found: f"\\U{ord(found[0]):08x}", text)
    source = _Source(text.encode(), read_from(planned.texts, read_file))
    types = find_step_types()
    reading = _Reading(source, types, types.usable())
    try:
        flow = reading.read(planned.flow.source.file)
        if len(flow.steps) != 1:
            raise BadEdit("cannot inject an `include`: inject a step, or a group with `steps`")
        return plan_step(flow, path, host, reading.load)
    except BadFlow as error:
        mistakes = (f"{each.message}; {each.hint}" if each.hint else each.message for each in error.found)
        raise BadEdit(f"cannot inject this step: {'; '.join(mistakes)}") from error


def read_file(path: str) -> bytes:
    """The bytes of a file; OSError. Of one without an end only the beginning, which is too large all the same."""
    with Path(path).open("rb") as file:
        return file.read(MOST_BYTES)


def types_named_in(text: bytes, types: StepTypes) -> dict[str, type[DescribedStepType]]:
    """The types whose names are somewhere in the text: a flow cannot have steps of any others in it."""
    return {name: types.find(name) for name in types.names if name.encode() in text}


def read_from(texts: Mapping[str, str], otherwise: ReadFile | None = None) -> ReadFile:
    """What reads a file from texts; one that is not among them from elsewhere, if that may be."""

    def read(path: str) -> bytes:
        if path in texts:
            return texts[path].encode("utf-8", "surrogatepass")
        if otherwise is None:
            raise FileNotFoundError(ENOENT, "it was not part of the flow", path)
        return otherwise(path)

    return read


def _first(path: str, read: ReadFile) -> _Source:
    try:
        return _Source(read(normpath(path)), read)
    except OSError as error:
        raise BadFlow([Mistake(path, 1, 1, f"cannot read the file: {error.strerror or error}")]) from error


async def _get_up(evaluator: Evaluator) -> None:
    with suppress(BadExpression):  # what keeps it from that is told where it is needed
        await evaluator.evaluate("1 + 1", {})
