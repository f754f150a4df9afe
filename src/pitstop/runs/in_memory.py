"""Runs of which nothing is stored, for Python code: they give their result."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from pitstop.definition.graph import GraphDefinition
from pitstop.engine.clock import SystemClock
from pitstop.engine.ports import Evaluator, Ports
from pitstop.engine.run import Run
from pitstop.errors import BadLog
from pitstop.events.log import EventLog, MemoryLog
from pitstop.events.outcome import Outcome, Status, StepError
from pitstop.events.types import AnyEvent, Event, RunStarted
from pitstop.events.view import interventions_in
from pitstop.plan.plan import Plan

if TYPE_CHECKING:  # a run that is not debugged need not load it
    from pitstop.debugger.session import Session


class RunResult(Struct, frozen=True):
    """How a run ended."""

    status: Status
    state: dict[str, Any]  # the last values of the scope
    error: StepError | None = None
    exception: BaseException | None = None  # the first one that was raised
    intervened: tuple[Event, ...] = ()  # what was changed in the debugger; empty for a clean run
    _done: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        shown = ("status", "state", "error", "intervened")
        return f"RunResult({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    @property
    def steps(self) -> dict[str, Outcome]:
        """The last outcome of each step, by path."""
        return {
            path: ended if isinstance(ended, Outcome) else Outcome(Status.PASSED, ended)
            for path, ended in self._done.items()
        }


async def run_in_memory(
    plan: Plan, values: dict[str, Any], ports: Ports, *, log: EventLog | None, debug: "Session | None"
) -> RunResult:
    """Run to the end, and close the evaluator."""
    try:
        intervened = interventions_in(log.read()) if log is not None else ()
        run = Run(plan, values, ports, log=log, hook=debug)
        outcome = await run.execute()
        intervened = tuple(debug.interventions) if debug is not None else intervened
    finally:
        await ports.evaluator.close()
    return RunResult(outcome.status, run.scope.own.values, outcome.error, run.exception, intervened, run.done)


class GraphApp:
    """A compiled graph. It can run any number of times, also concurrently."""

    def __init__(self, definition: GraphDefinition, plan: Plan, new_evaluator: Callable[[], Evaluator]) -> None:
        self.definition = definition
        self.plan = plan
        self._new_evaluator = new_evaluator

    async def invoke(
        self, state: Mapping[str, Any] | None, *, debug: "Session | None" = None, log: EventLog | None = None
    ) -> RunResult:
        """Run to the end. A failing node is reported in the result, not raised.

        With a log that has events, the run resumes where they end, and finished nodes do not run again. A `state` of
        None is then the state that the log starts with.
        """
        if debug is not None and log is None:
            log = MemoryLog()
        values = _first_state(log) if state is None else dict(state)
        return await run_in_memory(self.plan, values, Ports(self._new_evaluator(), SystemClock()), log=log, debug=debug)

    async def stream(
        self, state: Mapping[str, Any] | None, *, debug: "Session | None" = None, log: MemoryLog | None = None
    ) -> AsyncIterator[AnyEvent]:
        """Run, and yield every event as it happens. Leaving the loop early cancels the run."""
        log = MemoryLog() if log is None else log
        before = len(log)
        try:
            async with asyncio.TaskGroup() as group:
                run = group.create_task(self.invoke(state, debug=debug, log=log))
                try:
                    async for event in log.follow(before):
                        yield event
                except GeneratorExit:
                    run.cancel()
        except BaseExceptionGroup as group_of_one:  # ours alone: the caller knows of no group
            raise group_of_one.exceptions[0] from None

    def to_mermaid(self) -> str:
        """The graph as a Mermaid flowchart."""
        from pitstop.definition.mermaid import to_mermaid

        return to_mermaid(self.definition)


def _first_state(log: EventLog | None) -> dict[str, Any]:
    first = next(iter(log.read()), None) if log is not None else None
    if not isinstance(first, RunStarted):
        raise BadLog("no initial state: pass one, or a log that has one")
    return dict(first.inputs)
