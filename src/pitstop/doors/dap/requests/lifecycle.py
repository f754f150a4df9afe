"""The life of a session: from `initialize` to `disconnect`."""

import msgspec

from pitstop.doors.dap.protocol.arguments import (
    AttachArguments,
    CancelArguments,
    DisconnectArguments,
    InitializeArguments,
    LaunchArguments,
    NoArguments,
    RestartArguments,
)
from pitstop.doors.dap.protocol.failures import RequestFailed
from pitstop.doors.dap.protocol.messages import Body
from pitstop.doors.dap.requests.breakpoints import look_up_again, set_default_filters
from pitstop.doors.dap.requests.launching import prepare_attach, prepare_launch
from pitstop.doors.dap.session.adapter import Adapter
from pitstop.doors.dap.session.capabilities import capabilities_for
from pitstop.doors.dap.session.client import read_client
from pitstop.doors.dap.session.debuggee import Debuggee, Launch
from pitstop.doors.dap.session.dispatcher import Route
from pitstop.errors import PitstopError


async def initialize(adapter: Adapter, arguments: InitializeArguments) -> Body:
    if adapter.is_initialized:
        raise RequestFailed("already initialized", show_user=False)
    adapter.editor.client = read_client(arguments)
    adapter.is_initialized = True
    return capabilities_for(adapter.editor.client)


async def launch(adapter: Adapter, arguments: LaunchArguments) -> None:
    _check_free(adapter)
    await _take(adapter, await prepare_launch(adapter, arguments))


async def attach(adapter: Adapter, arguments: AttachArguments) -> None:
    _check_free(adapter)
    await _take(adapter, await prepare_attach(adapter, arguments))


def _check_free(adapter: Adapter) -> None:
    if adapter.debuggee is not None:
        raise RequestFailed("this session is already debugging: restart it, or start another one")


async def _take(adapter: Adapter, debuggee: Debuggee) -> None:
    _check_free(adapter)  # once more: it took a while to prepare
    adapter.debuggee = debuggee
    adapter.editor.tell("initialized")
    async with adapter.editor.turn:
        await look_up_again(adapter)
    _begin_if_ready(adapter)
    if adapter.is_launch_answered_late:
        await debuggee.begun


async def configuration_done(adapter: Adapter, arguments: NoArguments) -> None:
    await set_default_filters(adapter)
    adapter.is_configured = True
    _begin_if_ready(adapter)


def _begin_if_ready(adapter: Adapter) -> None:
    """A run needs both, and clients send them in either order."""
    if adapter.debuggee is not None and adapter.is_configured:
        adapter.debuggee.begin()


async def restart(adapter: Adapter, arguments: RestartArguments) -> None:
    """A new run in the same session, with the arguments that the client has now."""
    async with adapter.restarting:
        old = adapter.session()
        if not isinstance(old.origin, Launch) or not isinstance(old.options, LaunchArguments):
            raise RequestFailed("cannot restart an attached run: launch it instead")
        options = old.options
        if arguments.arguments is not None:
            options = msgspec.convert(arguments.arguments, LaunchArguments)
        new = await prepare_launch(adapter, options)
        await old.kill_for_restart()
        async with adapter.editor.turn:
            old.give_way()
            adapter.debuggee = new
            await look_up_again(adapter)
        _begin_if_ready(adapter)


async def terminate(adapter: Adapter, arguments: NoArguments) -> None:
    if adapter.debuggee is not None:
        await adapter.debuggee.cancel()
    elif not adapter.is_terminated:
        adapter.is_terminated = True
        adapter.editor.tell("terminated", {})


async def disconnect(adapter: Adapter, arguments: DisconnectArguments) -> None:
    try:
        await leave(adapter, terminates=arguments.terminate_debuggee, suspends=bool(arguments.suspend_debuggee))
    except PitstopError as error:  # a server that is gone is left, too
        adapter.editor.say(str(error), "stderr")
    adapter.leave()


async def leave(adapter: Adapter, *, terminates: bool | None, suspends: bool) -> None:
    """End what was launched, and let go on what was attached to, unless the client wants it the other way."""
    debuggee = adapter.debuggee
    if debuggee is None:
        return
    ends = isinstance(debuggee.origin, Launch) if terminates is None else terminates
    if ends and not suspends:
        await debuggee.kill()
    else:
        await debuggee.leave(suspended=suspends)


async def cancel(adapter: Adapter, arguments: CancelArguments) -> None:
    """Give a request up. One that is answered already is no mistake."""
    task = None if arguments.request_id is None else adapter.open_requests.get(arguments.request_id)
    if task is not None:
        task.cancel()


ROUTES = {
    "initialize": Route(InitializeArguments, initialize),
    "launch": Route(LaunchArguments, launch, is_aside=True),
    "attach": Route(AttachArguments, attach, is_aside=True),
    "configurationDone": Route(NoArguments, configuration_done),
    "restart": Route(RestartArguments, restart, is_aside=True),
    "terminate": Route(NoArguments, terminate),
    "disconnect": Route(DisconnectArguments, disconnect, is_aside=True),
    "cancel": Route(CancelArguments, cancel, is_aside=True),
}
