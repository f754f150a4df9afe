"""Flows, in files of this machine or in texts: read, checked and planned."""

import asyncio
import json
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from errno import EFBIG
from functools import partial
from posixpath import normpath
from typing import Any, TypeVar

from msgspec import Struct

from pitstop.definition.flow import Flow, StepSpec
from pitstop.definition.mistakes import in_order
from pitstop.definition.yaml_reader import read_flow
from pitstop.engine.ports import Evaluator
from pitstop.engine.threads import in_thread
from pitstop.errors import BadEdit, BadExpression, BadFlow, FlowTooLarge, Mistake
from pitstop.limits import DEFAULTS, FLOW_BYTES, Limits, too_large
from pitstop.plan.expressions import parse_template
from pitstop.plan.plan import Step
from pitstop.plan.planner import call_mistakes, plan_flow
from pitstop.plan.planner import plan_added_step as plan_step
from pitstop.runs.file_texts import ReadFile, read_file, read_from, without_quotes
from pitstop.runs.graph_targets import GraphTarget, read_target
from pitstop.runs.planned_flow import PlannedFlow
from pitstop.steps.described import DescribedStepType
from pitstop.steps.registry import StepTypes, find_step_types

KNOWN_PLANS = 64
LONGEST_KNOWN = 256 * 1024  # characters of a flow with all its files

_NOT_ASCII = r"[^\x20-\x7e]"  # which YAML has other escapes for than JSON

T = TypeVar("T")
CheckExpression = Callable[[str], str | None]
PlanGraph = Callable[[str, GraphTarget], PlannedFlow]  # what was written, and the graph that it names


class FlowFiles:
    """Reads flows. The types of other packages are looked for only where a flow does not do without.

    A flow whose every file was read before, word for word and for the same inputs, is not planned again. A graph is
    planned by `plan_graph`; without it only flows are read. `may_quote` says of which files errors may show the text:
    of all without it. With `in_threads`, flows are read one after the other and not on the loop.
    """

    def __init__(
        self,
        plan_graph: PlanGraph | None = None,
        *,
        limits: Limits = DEFAULTS,
        may_quote: Callable[[str], bool] | None = None,
        in_threads: bool = False,
    ) -> None:
        self._known = KnownPlans()
        self._import_graph = plan_graph
        self._limits = limits
        self._may_quote = may_quote
        self._thread = asyncio.Lock() if in_threads else None

    async def plan(self, path: str, inputs: Mapping[str, Any] | None, text: str | None = None) -> PlannedFlow:
        """The plan of the flow in a file, or in a text; None asks for no inputs. BadFlow, BadInputs."""
        if text is None:
            return await self._off_loop(lambda: self._plan_graph(path) or self._read_file(path, inputs))
        texts = {normpath(path): text}
        return await self._plan_once(path, texts, inputs, read_from(texts, read_file))

    async def plan_again(self, path: str, texts: Mapping[str, str], inputs: Mapping[str, Any] | None) -> PlannedFlow:
        """The plan of a flow as its files were once, whatever is in them now; BadFlow, BadInputs.

        Code that was imported is gone: a graph is planned as it is now.
        """
        return self._plan_graph(path) or await self._plan_once(path, texts, inputs, read_from(texts))

    async def _off_loop(self, work: Callable[[], T]) -> T:
        if self._thread is None:
            return work()
        async with self._thread:
            return await in_thread(work)

    def _read_file(self, path: str, inputs: Mapping[str, Any] | None) -> PlannedFlow:
        return self._read(path, _first(path, read_file), inputs)

    async def plan_at(self, path: str, inputs: Mapping[str, Any] | None, read: ReadFile) -> PlannedFlow:
        """The same, off the loop. Errors may show every text that is read; BadFlow, BadInputs."""
        source = await self._off_loop(lambda: _first(path, read))
        first = {normpath(path): source.text.decode(errors="replace")}
        planned = self._known.find(path, first, inputs)
        if planned is None:
            planned = await self._off_loop(lambda: _read_flow(path, source, inputs, self._limits, None))
            self._known.keep(path, inputs, planned)
        return planned

    def plan_from(self, path: str, inputs: Mapping[str, Any] | None, read: ReadFile) -> PlannedFlow:
        """The plan of the flow in a file that `read` reads, like all that it calls; BadFlow, BadInputs."""
        return self._read(path, _first(path, read), inputs)

    def _plan_graph(self, path: str) -> PlannedFlow | None:
        """The plan of a graph, if the path names one."""
        if self._import_graph is None:
            return None
        target = read_target(path)
        return None if target is None else self._import_graph(path, target)

    async def _plan_once(
        self, path: str, texts: Mapping[str, str], inputs: Mapping[str, Any] | None, read: ReadFile
    ) -> PlannedFlow:
        planned = self._known.find(path, texts, inputs)
        if planned is None:
            given = frozenset(texts)
            planned = await self._off_loop(lambda: self._read(path, _first(path, read), inputs, given=given))
            self._known.keep(path, inputs, planned)
        return planned

    async def check(self, path: str, evaluator: Evaluator, text: str | None = None) -> PlannedFlow:
        """The plan with every jq expression tried, and no inputs asked for; BadFlow."""
        graph = self._plan_graph(path) if text is None else None
        if graph is not None:
            return graph
        texts = {} if text is None else {normpath(path): text}
        source = await self._off_loop(lambda: _first(path, read_from(texts, read_file)))
        return await self._check(partial(self._read, path, source, None, given=frozenset(texts)), evaluator)

    async def check_at(self, path: str, evaluator: Evaluator, read: ReadFile) -> PlannedFlow:
        """The same for a file that `read` reads, off the loop. Errors may show every text that is read."""
        source = await self._off_loop(lambda: _first(path, read))
        return await self._check(partial(_read_flow, path, source, None, self._limits), evaluator)

    async def _check(self, read: Callable[[CheckExpression], PlannedFlow], evaluator: Evaluator) -> PlannedFlow:
        from pitstop.runs.jq_checks import wrong_expressions

        expressions: dict[str, None] = {}
        async with asyncio.TaskGroup() as group:
            group.create_task(_get_up(evaluator))  # in a process of its own, while we read
            await asyncio.sleep(0)
            planned: PlannedFlow | BadFlow
            try:
                planned = await self._off_loop(lambda: read(expressions.setdefault))
            except BadFlow as error:
                planned = error
        wrong = await wrong_expressions(list(expressions), evaluator)
        if wrong:
            await self._off_loop(lambda: read(wrong.get))  # which tells them in their places
        if isinstance(planned, BadFlow):
            raise planned
        return planned

    def _read(
        self,
        path: str,
        source: "_Source",
        inputs: Mapping[str, Any] | None,
        check_expression: CheckExpression | None = None,
        *,
        given: Collection[str] = (),
    ) -> PlannedFlow:
        """Errors may show the text of the files that are `given`."""
        try:
            return _read_flow(path, source, inputs, self._limits, check_expression)
        except BadFlow as error:
            if self._may_quote is None:
                raise
            may_quote, kind = self._may_quote, type(error)
            found = without_quotes(error.found, lambda file: file in given or may_quote(file))
        raise kind(found)


def _read_flow(
    path: str,
    source: "_Source",
    inputs: Mapping[str, Any] | None,
    limits: Limits,
    check_expression: CheckExpression | None,
) -> PlannedFlow:
    types = StepTypes()
    try:
        usable = types_named_in(source.text, types)
        return _Reading(source, types, usable, limits, check_expression).plan(path, inputs)
    except FlowTooLarge:
        raise
    except BadFlow:  # which may be because of a type that was not looked for
        types = find_step_types()
    return _Reading(source, types, types.usable(), limits, check_expression).plan(path, inputs)


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
        limits: Limits,
        check_expression: CheckExpression | None = None,
    ) -> None:
        self._limits = limits
        self._source = source
        self._types = types
        self._usable = usable
        self._check_expression = check_expression
        self._texts: dict[str, str] = {}
        self._bytes = len(source.text)

    def read(self, path: str) -> Flow:
        """The flow that it begins with; BadFlow."""
        return self._read(normpath(path), self._source.text)

    def plan(self, path: str, inputs: Mapping[str, Any] | None) -> PlannedFlow:
        calls: list[StepSpec] = []
        try:
            flow = self._read(normpath(path), self._source.text, calls.append)
        except FlowTooLarge:
            raise
        except BadFlow as error:  # its calls are right or wrong whatever else is in the file
            text = self._source.text.decode(errors="replace")
            found = call_mistakes(calls, normpath(path), text, self.load, self._limits)
            raise BadFlow(in_order([*error.found, *found])) from None
        if inputs is None:
            inputs = {name: spec.default for name, spec in flow.inputs.items()}
        return PlannedFlow(flow, plan_flow(flow, inputs, self.load, self._limits), self._types, self._texts)

    def load(self, file: str) -> Flow:
        return self._read(file, self._read_file(file))

    def _read_file(self, file: str) -> bytes:
        """Another file of the flow; OSError when the flow is too large with it."""
        text = self._source.read_file(file)
        self._bytes += len(text)
        if self._bytes > FLOW_BYTES:
            raise OSError(EFBIG, too_large(self._bytes), file)
        return text

    def _read(self, file: str, text: bytes, on_call: Callable[[StepSpec], None] | None = None) -> Flow:
        flow = read_flow(
            text,
            file,
            self._usable,
            read_file=self._read_file,
            parse_template=parse_template,
            check_expression=self._check_expression,
            on_call=on_call,
            limits=self._limits,
        )
        self._texts.update(flow.texts)
        return flow


def plan_added_step(planned: PlannedFlow, given: Mapping[str, Any], path: str, host: Step) -> Step:
    """A step that is added to a run of the flow, read and planned like those in its file; BadEdit."""
    try:
        text = json.dumps({"steps": [given]}, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadEdit(f"cannot inject this step: it is not JSON: {error}") from error
    text = re.sub(_NOT_ASCII, lambda found: f"\\U{ord(found[0]):08x}", text)
    source = _Source(text.encode(), read_from(planned.texts, read_file))
    types, limits = find_step_types(), planned.plan.limits
    reading = _Reading(source, types, types.usable(), limits)
    try:
        flow = reading.read(planned.flow.source.file)
        if len(flow.steps) != 1:
            raise BadEdit("cannot inject an `include`: inject a step, or a group with `steps`")
        return plan_step(flow, path, host, reading.load, limits)
    except BadFlow as error:
        mistakes = (f"{each.message}; {each.hint}" if each.hint else each.message for each in error.found)
        raise BadEdit(f"cannot inject this step: {'; '.join(mistakes)}") from error


def types_named_in(text: bytes, types: StepTypes) -> dict[str, type[DescribedStepType]]:
    """The types whose names are somewhere in the text: a flow cannot have steps of any others in it."""
    return {name: types.find(name) for name in types.names if name.encode() in text}


def _first(path: str, read: ReadFile) -> _Source:
    try:
        return _Source(read(normpath(path)), read)
    except OSError as error:
        raise BadFlow([Mistake(path, 1, 1, f"cannot read the file: {error.strerror or error}")]) from error


async def _get_up(evaluator: Evaluator) -> None:
    with suppress(BadExpression):  # what keeps it from that is told where it is needed
        await evaluator.evaluate("1 + 1", {})
