"""`node`: a function of a Python graph, called with the state in the thread that the graph's code has to itself."""

import asyncio
import inspect
import sys
from collections.abc import Callable, Mapping
from contextvars import copy_context
from typing import Any, ClassVar

from pitstop.engine.executor import LogChunk, Stream
from pitstop.engine.frame import Activation
from pitstop.plan.updates import update_of
from pitstop.steps import code_thread, python_debugger
from pitstop.steps.code_thread import CodeThread
from pitstop.steps.entering import tell_entered
from pitstop.steps.failures import BadCall
from pitstop.steps.fields import StepConfig
from pitstop.steps.workplace import Listener, Workplace

OUR_FILES = (__file__, code_thread.__file__)  # in which nobody wants to find themselves who steps out of a node


class NodeStep:
    """Calls the function of a node; what it returns is its update of the state, what it prints is in its log."""

    name: ClassVar[str] = "node"
    summary: ClassVar[str] = "Call a function of a graph."
    shorthand_field: ClassVar[str | None] = None
    Config: ClassVar[type[StepConfig]] = StepConfig

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace
        self._thread = CodeThread()

    async def act(self, activation: Activation, config: Mapping[str, Any]) -> dict[str, Any]:
        function: Callable[[dict[str, Any]], Any] = config["function"]
        state = activation.scope.own.values
        given = state.copy()
        call = _Call(activation.step.path, function, given, in_thread=bool(config.get("thread")))
        if activation.enters_code:
            call.tell = lambda told: tell_entered(self._workplace, activation, activation.step.path, told)
            activation.hold()
        listener = self._workplace.listener(activation)
        try:
            update = await self._thread.run(call.made, self._hear(activation, listener))
        finally:
            if listener is not None:
                listener.finish()
            if activation.enters_code:
                activation.release()
                call.give_up()
        return update_of(activation.step.local, update, given, state)

    async def close(self) -> None:
        await self._thread.close()

    def _hear(self, activation: Activation, listener: Listener | None) -> Callable[[Stream, bytes], None]:
        """What the thread says is told here, where everything else of the run happens."""
        here = _Here()
        offset = 0

        def hear(stream: Stream, data: bytes) -> None:
            nonlocal offset
            if listener is not None:
                here.call(listener.hear_now, LogChunk(stream, offset, activation.run.now(), data))
            offset += len(data)

        return hear


class _Here:
    """The loop of the run, for the thread of the code. What is called there is none of the code's own doings."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._context = copy_context()

    def call(self, act: Callable[..., None], *given: Any) -> None:
        if not self._loop.is_closed():  # code that could not be cancelled may say something yet
            self._loop.call_soon_threadsafe(act, *given, context=self._context)


class _Call:
    """One call of a node's function, in the thread of the code. With `tell`, somebody wants to step into it."""

    def __init__(self, name: str, function: Callable[..., Any], given: dict[str, Any], *, in_thread: bool) -> None:
        self.tell: Callable[[Mapping[str, Any]], None] | None = None
        self._name = name
        self._function = function
        self._given = given
        self._in_thread = in_thread
        self._here = _Here()

    async def made(self) -> Any:
        try:
            if self.tell is not None and await self._somebody_comes(self.tell):
                return await self._stepped_into()
            return await self._called()
        except (SystemExit, KeyboardInterrupt) as error:  # they would end the thread, and with it every other node
            raise BadCall(self._name, f"raised {type(error).__name__}: {error}") from error

    def give_up(self) -> None:
        """Wait for nobody any more: the step has ended, or is to."""
        if self.tell is not None and python_debugger.listens():
            python_debugger.stop_waiting()

    async def _called(self) -> Any:
        if self._in_thread:
            returned = await asyncio.to_thread(self._function, self._given)
        else:
            returned = self._function(self._given)
        return await returned if inspect.isawaitable(returned) else returned

    async def _stepped_into(self) -> Any:
        if self._in_thread:
            return await asyncio.to_thread(self._stepped_into_there)
        with python_debugger.stopping_in(self._function):
            return await self._called()

    def _stepped_into_there(self) -> Any:
        with python_debugger.stopping_in(self._function):
            return self._function(self._given)

    async def _somebody_comes(self, tell: Callable[[Mapping[str, Any]], None]) -> bool:
        try:
            host, port = python_debugger.listen(*OUR_FILES)
        except python_debugger.NoDebugger as problem:
            self._here.call(tell, {"problem": str(problem)})
            return False
        if python_debugger.is_attached():  # a second announcement would make an editor attach again
            return True
        file, line = python_debugger.place_of(self._function)
        self._here.call(tell, {"host": host, "port": port, "file": file, "line": line})
        if await asyncio.to_thread(python_debugger.wait_for_somebody):
            return True
        sys.stderr.write(f"{python_debugger.NOBODY_CAME}\n")
        return False
