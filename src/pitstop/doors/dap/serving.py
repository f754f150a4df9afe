"""One client from its first byte to its last, over whatever carries it."""

import asyncio
import contextlib
from collections.abc import Callable

from pitstop.doors.dap.requests import (
    breakpoints,
    completions,
    evaluate,
    lifecycle,
    stack,
    stepping,
    time_travel,
    variables,
)
from pitstop.doors.dap.requests.lifecycle import leave
from pitstop.doors.dap.session.adapter import Adapter
from pitstop.doors.dap.session.dispatcher import Dispatcher
from pitstop.doors.dap.session.services import OpenService
from pitstop.errors import PitstopError

ROUTES = {
    **lifecycle.ROUTES,
    **breakpoints.ROUTES,
    **stack.ROUTES,
    **variables.ROUTES,
    **evaluate.ROUTES,
    **completions.ROUTES,
    **stepping.ROUTES,
    **time_travel.ROUTES,
}


async def serve_client(
    reader: asyncio.StreamReader,
    send: Callable[[bytes], None],
    open_service: OpenService,
    *,
    token: str | None = None,
    is_launch_answered_late: bool = False,
) -> bool:
    """Serve until the client has left; whether it came to debug anything. A client that is just gone has left, too."""
    async with asyncio.TaskGroup() as tasks:
        adapter = Adapter(send, tasks, open_service, token=token, is_launch_answered_late=is_launch_answered_late)
        adapter.on_left = reader.feed_eof
        try:
            await Dispatcher(adapter, ROUTES).serve(reader)
        finally:
            await _end(adapter)
    return adapter.debuggee is not None


async def _end(adapter: Adapter) -> None:
    leaving = [task for task in adapter.open_requests.values() if task.get_name() == "disconnect"]
    if leaving:  # a client that says how it leaves need not wait for the answer
        await asyncio.wait(leaving)
    if not adapter.is_left:
        with contextlib.suppress(PitstopError):
            await leave(adapter, terminates=None, suspends=False)
    for task in [*adapter.open_requests.values()]:
        task.cancel()
    if adapter.debuggee is not None:
        await adapter.debuggee.outlive()
    await adapter.services.close()
    adapter.editor.cancel_work()
