"""Calls inside a step, such as the tool calls of an agent: the hook may be asked about each of them."""

import asyncio
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from pitstop.engine.frame import Activation, FrameRewound, Point
from pitstop.engine.step import record_in_steps, run_injected
from pitstop.engine.verdict import PROCEED, Force, GoBack, Position, Proceed, Verdict
from pitstop.events.outcome import Outcome
from pitstop.plan.addresses import TOOL_CALL
from pitstop.plan.plan import Step


class Call(Struct, frozen=True):
    """A call that a step makes. `number` counts the calls of the step; `3/1` is the first one that call 3 makes."""

    number: str
    title: str
    tool: Mapping[str, Any]  # what the scope has as `.tool`; a user may change its `input`


class Calls:
    """The calls of one attempt of a step. They share its frame, so the hook is asked about one at a time."""

    def __init__(self, host: Activation) -> None:
        self._host = host
        self._turn = asyncio.Lock()

    @property
    def are_watched(self) -> bool:
        """Whether the hook wants to be asked about them."""
        hook = self._host.run.hook
        return hook is not None and self._host.step.path in hook.gate.calls

    async def keep_workspace(self, call: Call) -> None:
        """Take a snapshot of the workspace before the call, if the run stores its files."""
        async with self._turn:
            await self._host.run.keep_workspace(self._activation(call))

    async def before(self, call: Call) -> dict[str, Any] | Outcome:
        """Returns the input to make the call with, or the outcome that takes the place of the call."""
        activation = self._activation(call)
        is_repeated = False
        async with self._turn:
            while True:
                verdict = await self._ask(activation, "before", is_repeated=is_repeated)
                if not isinstance(verdict, Proceed | Force):
                    return _input(activation)
                for injected in verdict.inject:
                    await run_injected(activation, injected, record_in_steps)
                if isinstance(verdict, Force):
                    return verdict.outcome
                if verdict.config is not None:
                    activation.config = verdict.config
                if not verdict.inject:
                    return _input(activation)
                is_repeated = True

    async def after(self, call: Call, outcome: Outcome) -> Outcome:
        """Returns the outcome of the call that counts: the given one, unless a user decided otherwise."""
        position: Position = "error" if outcome.is_failure else "after"
        async with self._turn:
            verdict = await self._ask(self._activation(call), position, outcome)
        return verdict.outcome if isinstance(verdict, Force) else outcome

    async def _ask(
        self, activation: Activation, position: Position, outcome: Outcome | None = None, *, is_repeated: bool = False
    ) -> Verdict:
        frame, hook = self._host.frame, self._host.run.hook
        if hook is None or not self.are_watched:
            return PROCEED
        outer, frame.activation = frame.activation, activation
        try:
            verdict = await hook.at(Point(activation, position, outcome, is_repeated=is_repeated))
        finally:
            frame.activation = outer
        if isinstance(verdict, GoBack):
            raise FrameRewound(verdict)
        return verdict

    def _activation(self, call: Call) -> Activation:
        """The call as an activation under its step, or under the call that makes it."""
        parent = self._host
        numbers = call.number.split("/")
        for depth in range(1, len(numbers)):
            parent = self._open(parent, "/".join(numbers[:depth]), "", {})
        return self._open(parent, call.number, call.title, {"tool": dict(call.tool)})

    def _open(self, parent: Activation, number: str, title: str, values: dict[str, Any]) -> Activation:
        host = self._host
        tool = values.get("tool", {})
        step = Step(
            f"{host.step.path}/{number}",
            TOOL_CALL,
            dict(tool.get("input", {})),
            name=title or None,
            secrets=host.step.secrets,
            source=host.step.source,
            is_cleanup=host.step.is_cleanup,
        )
        address = f"{host.occurrence}/{number}"
        return Activation(host.run, host.frame, step, host.scope.child(address, values), address, parent)


def host_of(activation: Activation) -> Activation:
    """The step that makes a call, or the activation itself if it is not a call."""
    while activation.step.kind == TOOL_CALL and activation.parent is not None:
        activation = activation.parent
    return activation


def _input(activation: Activation) -> dict[str, Any]:
    """The input of a call, as a user may have edited it."""
    return {**activation.scope.own.values["tool"].get("input", {}), **(activation.config or {})}
