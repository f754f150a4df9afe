"""A run with a debugger in it, for tests that stop, look and go on."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

from pitstop import Graph, GraphApp
from pitstop.debugger.session import Session
from pitstop.debugger.stops import Stop
from pitstop.definition.graph import END, START
from pitstop.engine.ports import Ports, Snapshots
from pitstop.engine.run import Run
from pitstop.events.log import MemoryLog
from pitstop.events.outcome import Outcome, Status, StepError
from pitstop.events.types import Event, StepStarted
from pitstop.events.view import interventions_in
from pitstop.executors.jq_worker import JqWorker
from pitstop.plan.plan import Plan
from tests.engine.flows import DoType, GiveType, LoopClock
from tests.engine.virtual_time import VirtualTimeLoop
from tests.patience import PATIENCE_SECONDS

T = TypeVar("T")
State = dict[str, Any]


# --- Graphs in one line ----------------------------------------------------------------------------------------------


def graph(
    wires: str,
    *,
    reducers: Mapping[str, Callable[[Any, Any], Any]] | None = None,
    routers: Mapping[str, tuple[Callable[[State], Any], list[str]]] | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    **nodes: Any,
) -> Graph:
    """A graph such as "a > b + c > d": b and c side by side. A node that nobody describes sets its own name to "done".

    Several chains are told apart by `;`; the first begins at START. `routers` has what follows a node by choice.
    """
    built = Graph(name="graph", reducers=reducers or {})
    chains = [[[name.strip() for name in group.split("+")] for group in chain.split(">")] for chain in wires.split(";")]
    routers = routers or {}
    for name in dict.fromkeys(name for chain in chains for group in chain for name in group):
        built.add_node(name, nodes.get(name, _done(name)), **(options or {}).get(name, {}))
    edges: dict[str, list[str]] = {START: chains[0][0]}
    for chain in chains:
        for sources, targets in pairwise(chain):
            for source in sources:
                edges.setdefault(source, []).extend(each for each in targets if each not in edges.get(source, []))
    for name in built.nodes:
        if name not in routers:
            edges.setdefault(name, [END])
    for source, targets in edges.items():
        built.add_edge(source, targets)
    for source, (choose, targets) in routers.items():
        built.add_conditional_edge(source, choose, [END if target == "END" else target for target in targets])
    return built


def _done(name: str) -> Callable[[State], State]:
    return lambda state: {name: "done"}


def raises(message: str = "no") -> Callable[[State], None]:
    def node(state: State) -> None:
        raise ValueError(message)

    return node


def counts(key: str = "n") -> Callable[[State], State]:
    return lambda state: {key: state.get(key, 0) + 1}


def loop(node: str, turns: int, on: str, key: str = "n") -> tuple[Callable[[State], str], list[str]]:
    """A router that goes back to the node until it has counted so many turns."""
    return (lambda state: node if state[key] < turns else on), [node, on if on != END else "END"]


# --- A run that is being debugged ------------------------------------------------------------------------------------


def at(stop: Stop) -> str:
    """Where a stop is: "before b", "after b@2", "error b#2"."""
    return f"{stop.position} {stop.occurrence}".strip()


@dataclass(frozen=True)
class Result:
    """How a run ended, be it of a graph or of a flow."""

    status: Status
    state: State
    error: StepError | None
    steps: dict[str, Outcome]
    intervened: tuple[Event, ...]


@dataclass
class Debugged:
    """A run under way. What takes a stop and moves it gives the next one; it fails if the run ends instead."""

    session: Session
    log: MemoryLog
    does: DoType
    task: asyncio.Task[Result]

    async def stop(self) -> Stop:
        stop = await patiently(self.session.next_stop())
        if stop is None:
            raise AssertionError(f"the run has ended, {(await self.task).status}: there is no stop")
        return stop

    async def stops(self, count: int) -> dict[str, Stop]:
        """The next stops, by where they are."""
        found = [await self.stop() for _ in range(count)]
        return {at(stop): stop for stop in sorted(found, key=at)}

    async def end(self) -> Result:
        stop = await patiently(self.session.next_stop())
        assert stop is None, f"the run did not end: it stopped {at(stop)} because of {stop.reasons}"
        return await patiently(self.task)

    async def on(self, stop: Stop) -> Stop:
        await self.session.continue_(stop)
        return await self.stop()

    async def into(self, stop: Stop) -> Stop:
        await self.session.step_into(stop)
        return await self.stop()

    async def over(self, stop: Stop) -> Stop:
        await self.session.step_over(stop)
        return await self.stop()

    async def out(self, stop: Stop) -> Stop:
        await self.session.step_out(stop)
        return await self.stop()

    async def to(self, stop: Stop, step: str) -> Stop:
        await self.session.run_to(stop, step)
        return await self.stop()

    async def back(self, stop: Stop) -> Stop:
        await self.session.step_back(stop)
        return await self.stop()

    async def trail(self, verb: str) -> list[str]:
        """Every stop to the end of the run, going on with the same verb each time."""
        trail: list[str] = []
        while (stop := await patiently(self.session.next_stop())) is not None:
            trail.append(at(stop))
            await getattr(self.session, verb)(stop)
        return trail

    @property
    def ran(self) -> list[str]:
        """The occurrences that began to run, in their order."""
        return [event.occurrence for event in self.told(StepStarted)]

    def told(self, kind: type[T]) -> list[T]:
        """The events of a kind that the log has."""
        return [event for event in self.log.read() if isinstance(event, kind)]

    async def event(self, kind: type[T], **fields: object) -> T:
        """The first event of a kind, with these values in it, as soon as it is there."""

        async def follow() -> T:
            async for event in self.log.follow():
                if isinstance(event, kind) and all(getattr(event, name) == fields[name] for name in fields):
                    return event
            raise AssertionError(f"the run ended without a {kind.__name__}")

        return await patiently(follow())

    @property
    def frame_states(self) -> dict[str, str]:
        return {frame.id: frame.state for frame in self.session.frames}


@contextlib.asynccontextmanager
async def debugging(
    what: Graph | GraphApp | Plan,
    values: Mapping[str, Any] | None = None,
    session: Session | None = None,
    *,
    log: MemoryLog | None = None,
    snapshots: Snapshots | None = None,
) -> AsyncIterator[Debugged]:
    """Start a graph or a flow under a session. A run that has not ended when the test leaves is cancelled."""
    session = Session() if session is None else session
    log = MemoryLog() if log is None else log
    does = DoType()
    if isinstance(what, Plan):
        running = _run_plan(what, {"steps": {}, **(values or {})}, session, log, does, snapshots)
    else:
        app = what.compile() if isinstance(what, Graph) else what
        running = _run_app(app, {} if values is None and not len(log) else values, session, log)
    failure: AssertionError | None = None
    async with asyncio.TaskGroup() as group:
        task = group.create_task(running, name="the debugged run")
        try:
            yield Debugged(session, log, does, task)
        except AssertionError as failed:  # told as it is, not as one of a group
            failure = failed
        finally:
            task.cancel()
    if failure is not None:
        raise failure


async def _run_app(app: GraphApp, values: Mapping[str, Any] | None, session: Session, log: MemoryLog) -> Result:
    ended = await app.invoke(values, debug=session, log=log)
    return Result(ended.status, ended.state, ended.error, ended.steps, ended.intervened)


async def _run_plan(
    plan: Plan,
    values: State,
    session: Session | None,
    log: MemoryLog,
    does: DoType,
    snapshots: Snapshots | None = None,
) -> Result:
    evaluator = JqWorker()
    try:
        ports = Ports(evaluator, LoopClock(), {"do": does, "give": GiveType()}, snapshots)
        run = Run(plan, values, ports, log=log, hook=session)
        outcome = await run.execute()
        done = {path: ended for path, ended in run.done.items() if isinstance(ended, Outcome)}
        return Result(outcome.status, run.scope.own.values, outcome.error, done, interventions_in(log.read()))
    finally:
        await evaluator.close()


async def undebugged(plan: Plan, values: Mapping[str, Any] | None = None, *, log: MemoryLog | None = None) -> Result:
    """The same flow with nobody watching."""
    log = MemoryLog() if log is None else log
    return await _run_plan(plan, {"steps": {}, **(values or {})}, None, log, DoType())


async def patiently(awaitable: Awaitable[T]) -> T:
    """Its result; a failure, not a hang, when it does not come. Virtual time tells of a hang by itself."""
    if isinstance(asyncio.get_running_loop(), VirtualTimeLoop):
        return await awaitable
    async with asyncio.timeout(PATIENCE_SECONDS):
        return await awaitable
