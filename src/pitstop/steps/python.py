"""`python`: a function called in this process."""

import asyncio
import contextlib
import contextvars
import importlib
import inspect
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from pydantic import Field

from pitstop.engine.frame import Activation
from pitstop.plan.values import as_json
from pitstop.steps.config import read_config
from pitstop.steps.failures import BadCall
from pitstop.steps.fields import StepConfig
from pitstop.steps.workplace import Workplace


class PythonConfig(StepConfig):
    call: str = Field(
        description="`module:function`; the module is installed, or in the workspace.",
        pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$",
    )
    arguments: dict[str, Any] = Field({}, alias="with", description="Its keyword arguments.")


class PythonStep:
    """Calls a function: an async one in the event loop, a plain one in a thread of its own.

    The mapping that it returns is the step's outputs. A plain function cannot be ended from outside: when the step is
    cancelled or times out, nobody waits for it any more, but it goes on until it returns.
    """

    name: ClassVar[str] = "python"
    summary: ClassVar[str] = "Call a Python function."
    shorthand_field: ClassVar[str | None] = "call"
    Config: ClassVar[type[PythonConfig]] = PythonConfig

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    async def act(self, activation: Activation, config: Mapping[str, Any]) -> dict[str, Any]:
        form = read_config(self.name, PythonConfig, config, self._workplace.masker.mask_text)
        function, error = await _in_thread(lambda: self._find(form.call))
        if error is not None:
            raise error
        try:
            inspect.signature(function).bind(**form.arguments)
        except TypeError as mismatch:
            raise BadCall(form.call, f"cannot be called with these arguments: {mismatch}") from mismatch
        except ValueError:  # one written in C may not tell its parameters
            pass
        returned, error = await _call(lambda: function(**form.arguments), inspect.iscoroutinefunction(function))
        if error is not None:
            raise BadCall(form.call, f"raised {self._told(error)}") from error
        return self._outputs(form.call, returned)

    def _find(self, call: str) -> Callable[..., Any]:
        module_name, _, function_name = call.partition(":")
        if self._workplace.workspace.repo not in sys.path:
            sys.path.append(self._workplace.workspace.repo)  # last, so that it hides nothing that is installed
        importlib.invalidate_caches()  # a step before this one may have written the module
        try:
            found: Any = importlib.import_module(module_name)
            for part in function_name.split("."):
                found = getattr(found, part)
        except ModuleNotFoundError as error:
            raise BadCall(call, f"cannot be imported: there is no module {error.name!r}") from error
        except AttributeError as error:
            raise BadCall(call, f"is not there: {error}") from error
        except (Exception, SystemExit) as error:
            raise BadCall(call, f"cannot be imported: {self._told(error)}") from error
        if not callable(found):
            raise BadCall(call, f"is no function, but {type(found).__name__}")
        function: Callable[..., Any] = found
        return function

    def _told(self, error: BaseException) -> str:
        places = [place for place in traceback.extract_tb(error.__traceback__) if not place.filename.startswith("<")]
        at = f" ({places[-1].filename}:{places[-1].lineno})"  # our own call of it, if there is no other
        return self._workplace.masker.mask_text(f"{type(error).__name__}: {error}{at}")

    def _outputs(self, call: str, returned: object) -> dict[str, Any]:
        if returned is None:
            return {}
        if not isinstance(returned, Mapping):
            raise BadCall(call, f"returned {type(returned).__name__}: return a mapping with the outputs, or None")
        outputs: dict[str, Any] = self._workplace.masked(as_json(dict(returned)))
        return outputs


async def _call(function: Callable[[], Any], is_coroutine_function: bool) -> tuple[Any, BaseException | None]:
    """What the function returns, or what it raises."""
    error = None
    if is_coroutine_function:
        returned = function()
    else:
        returned, error = await _in_thread(function)
    if error is not None or not inspect.isawaitable(returned):
        return returned, error
    try:
        return await returned, None
    except (Exception, SystemExit) as raised:  # noqa: BLE001 - the user's code, and SystemExit would end the loop
        return None, raised


async def _in_thread(function: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    """The same for a plain function, in a thread that nobody waits for when this is cancelled.

    The loop's own pool would be waited for at the end of the program, and is small.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
    context = contextvars.copy_context()

    def end(returned: Any, error: BaseException | None) -> None:
        if not ended.done():
            ended.set_result((returned, error))

    def call() -> None:
        returned, error = None, None
        try:
            returned = context.run(function)
        except BaseException as raised:  # noqa: BLE001 - the user's code, and SystemExit would only end this thread
            error = raised
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(end, returned, error)

    threading.Thread(target=call, name="pitstop python step", daemon=True).start()
    return await ended
