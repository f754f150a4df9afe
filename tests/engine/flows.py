"""Flows built by hand, for tests of the engine: steps, what they do, and a run with everything worth looking at."""

import asyncio
import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jq
from msgspec.structs import replace

from pitstop.engine.clock import SystemClock
from pitstop.engine.frame import Activation
from pitstop.engine.ports import Ports
from pitstop.engine.run import Run
from pitstop.errors import BadExpression
from pitstop.events.log import MemoryLog
from pitstop.events.outcome import Outcome, Status
from pitstop.events.types import AnyEvent, FrameEnded, StepFinished, StepStarted
from pitstop.plan.plan import Plan, Retry, Step

Do = Callable[[Activation], Any]


# --- What a leaf does ------------------------------------------------------------------------------------------------


def passes(outputs: Any = None) -> Do:
    return lambda activation: outputs


def fails(message: str = "no") -> Do:
    def do(activation: Activation) -> None:
        raise ValueError(message)

    return do


def takes(seconds: float, outputs: Any = None) -> Do:
    async def do(activation: Activation) -> Any:
        await asyncio.sleep(seconds)
        return outputs

    return do


def takes_then_fails(seconds: float, message: str = "no") -> Do:
    async def do(activation: Activation) -> None:
        await asyncio.sleep(seconds)
        raise ValueError(message)

    return do


def flaky(failures: int, outputs: Any = None) -> Do:
    """Fails in its first attempts: the attempt decides, so that it does the same in every run."""

    def do(activation: Activation) -> Any:
        if activation.attempt <= failures:
            raise ValueError(f"attempt {activation.attempt}")
        return outputs

    return do


def stubborn(seconds: float, outputs: Any = None) -> Do:
    """Takes its time and does not let itself be cancelled."""

    async def do(activation: Activation) -> Any:
        ends = asyncio.get_running_loop().time() + seconds
        while (left := ends - asyncio.get_running_loop().time()) > 0:
            try:
                await asyncio.sleep(left)
            except asyncio.CancelledError:
                return "took the cancel for its own"
        return outputs

    return do


# --- Steps, named by their last part; `flow` gives them their paths ---------------------------------------------------


def leaf(name: str, do: Do | None = None, **options: Any) -> Step:
    return Step(name, "do", {"do": do or passes()}, id=options.pop("id", name), **options)


def give(name: str, outputs: Any, **options: Any) -> Step:
    """A leaf whose outputs are its config, rendered."""
    return Step(name, "give", {"outputs": outputs}, id=name, **options)


def combine(kind: str, name: str, children: Iterable[Step], config: Mapping[str, Any] = {}, **options: Any) -> Step:
    return Step(name, kind, config, tuple(children), id=options.pop("id", name), **options)


def sequence(name: str, *children: Step, **options: Any) -> Step:
    return combine("sequence", name, children, **options)


def parallel(name: str, *children: Step, config: Mapping[str, Any] = {}, **options: Any) -> Step:
    return combine("parallel", name, children, config, **options)


def matrix(
    name: str, axes: Mapping[str, Any] | str, *children: Step, config: Mapping[str, Any] = {}, **options: Any
) -> Step:
    return combine("matrix", name, children, {"matrix": axes, **config}, **options)


def background(name: str, beside: Step, *foreground: Step, **options: Any) -> Step:
    return combine("background", name, (beside, *foreground), **options)


def repeat(name: str, *children: Step, config: Mapping[str, Any] = {}, **options: Any) -> Step:
    return combine("repeat", name, children, config, **options)


def call(name: str, *children: Step, config: Mapping[str, Any] = {}, **options: Any) -> Step:
    return combine("call", name, children, config, **options)


def conditional(name: str, *children: Step, **options: Any) -> Step:
    return combine("conditional", name, children, **options)


def retry(times: int, delay: float = 0.0, backoff: float = 1.0) -> Retry:
    return Retry(times, delay, backoff)


def flow(*steps: Step, cleanup: Sequence[Step] = (), timeout: float | None = None, kind: str = "sequence") -> Plan:
    root = Step("", kind, children=tuple(steps), cleanup=tuple(cleanup), timeout_seconds=timeout)
    return Plan(_placed(root, ""), "flow")


def flow_of(root: Step) -> Plan:
    """A flow whose root is this step, whatever its kind."""
    return Plan(_placed(replace(root, path=""), ""), "flow")


def _placed(step: Step, path: str, *, is_cleanup: bool = False) -> Step:
    prefix = f"{path}." if path else ""
    return replace(
        step,
        path=path,
        is_cleanup=is_cleanup,
        children=tuple(_placed(child, prefix + child.path, is_cleanup=is_cleanup) for child in step.children),
        cleanup=tuple(_placed(child, prefix + child.path, is_cleanup=True) for child in step.cleanup),
    )


# --- Running ---------------------------------------------------------------------------------------------------------


class DoType:
    """Runs the Python of a leaf, and remembers that it did."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    async def act(self, activation: Activation, config: Mapping[str, Any]) -> Any:
        self.ran.append(activation.occurrence)
        result = activation.step.config["do"](activation)
        return await result if inspect.isawaitable(result) else result


class GiveType:
    async def act(self, activation: Activation, config: Mapping[str, Any]) -> Any:
        return config["outputs"]


class LoopClock(SystemClock):
    """The loop's own time, so that events in virtual time carry it."""

    @staticmethod
    def now() -> float:
        return asyncio.get_running_loop().time()


class InProcessJq:
    """An Evaluator without a process."""

    async def evaluate(
        self, expression: str, values: Mapping[str, object], *, timeout_seconds: float = 1.0
    ) -> list[object]:
        try:
            results: list[object] = jq.compile(expression).input_text(json.dumps(dict(values))).all()
        except ValueError as error:
            raise BadExpression(expression, str(error)) from error
        return results

    async def close(self) -> None:
        pass


@dataclass(slots=True)
class Bench:
    """A run and what can be asked of it, also while it is on its way."""

    plan: Plan
    values: dict[str, Any] = field(default_factory=dict)
    log: MemoryLog = field(default_factory=MemoryLog)
    does: DoType = field(default_factory=DoType)
    left_at: float | None = None
    run: Run = field(init=False)

    def __post_init__(self) -> None:
        ports = Ports(InProcessJq(), LoopClock(), {"do": self.does, "give": GiveType()})
        self.run = Run(self.plan, {"steps": {}, **self.values}, ports, log=self.log, left_at=self.left_at)

    async def execute(self) -> Outcome:
        return await self.run.execute()

    @property
    def ran(self) -> list[str]:
        """The leaves that ran, in the order in which they began."""
        return self.does.ran

    @property
    def scope(self) -> dict[str, Any]:
        return self.run.scope.values()

    @property
    def steps(self) -> dict[str, Any]:
        """What stands under `.steps`."""
        known: dict[str, Any] = self.scope["steps"]
        return known

    @property
    def statuses(self) -> dict[str, str]:
        return {name: known["status"] for name, known in self.steps.items()}

    @property
    def events(self) -> list[AnyEvent]:
        return list(self.log.read())

    @property
    def outcomes(self) -> dict[str, Outcome]:
        """How each occurrence ended, as the log has it."""
        return {event.occurrence: event.outcome for event in self.events if isinstance(event, StepFinished)}

    @property
    def finished(self) -> dict[str, Status]:
        return {occurrence: outcome.status for occurrence, outcome in self.outcomes.items()}

    @property
    def started(self) -> list[str]:
        return [event.occurrence for event in self.events if isinstance(event, StepStarted)]

    @property
    def frame_ends(self) -> dict[str, str | None]:
        """Why each frame was cancelled; None for one that came to its end."""
        return {event.frame: event.reason for event in self.events if isinstance(event, FrameEnded)}


async def run_flow(plan: Plan, **values: Any) -> tuple[Outcome, Bench]:
    bench = Bench(plan, values)
    return await bench.execute(), bench


def living_tasks() -> set[str]:
    """The names of all tasks but the one that asks."""
    return {task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()}
