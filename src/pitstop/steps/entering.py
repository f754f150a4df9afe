"""Stepping into the function of a step: where its debugger waits becomes an event of the run."""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from pitstop.engine.frame import Activation
from pitstop.events.types import PythonWaited
from pitstop.steps.workplace import Workplace

LOOPBACK = "127.0.0.1"


@asynccontextmanager
async def entrance(workplace: Workplace, activation: Activation, call: str) -> AsyncIterator[dict[str, Any]]:
    """What the process of a function needs to report where it waits. Until this is left, the step's clock is paused."""
    token = secrets.token_urlsafe(16)
    hearing: set[asyncio.Task[Any]] = set()
    is_left = False

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if task := asyncio.current_task():
            hearing.add(task)
        try:
            told = {} if is_left else json.loads(await reader.readline() or b"{}")
            if secrets.compare_digest(str(told.pop("token", "")), token) and not is_left:
                tell_entered(workplace, activation, call, told)
        except (ValueError, TypeError, AttributeError, OSError):
            pass  # somebody else has found the port, or the process was ended
        except asyncio.CancelledError:
            if not is_left:
                raise
        finally:
            writer.close()

    server = await asyncio.start_server(hear, LOOPBACK, 0)
    activation.hold()
    try:
        async with server:
            try:
                yield {"port": server.sockets[0].getsockname()[1], "token": token}
            finally:
                is_left = True  # what is heard later would be told of a step that has ended
                for task in hearing:  # and who says nothing would keep it from its end
                    task.cancel()
                if hearing:
                    await asyncio.wait(hearing)
    finally:
        activation.release()


def tell_entered(workplace: Workplace, activation: Activation, call: str, told: Mapping[str, Any]) -> None:
    """Where the debugger waits, or why there is none, which is a line of the step's log."""
    if "problem" in told:
        workplace.tell(activation, f"{call} {told['problem']}")
        return
    run = activation.run
    if run.log is not None:
        run.log.append(
            PythonWaited(
                run.now(),
                activation.frame.id,
                activation.step.path,
                activation.occurrence,
                told["host"],
                told["port"],
                told.get("file"),
                told.get("line"),
            )
        )
