"""From what a client sends with `launch` and `attach` to what is debugged; every mistake of a flow is shown."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pitstop.doors.dap.protocol.arguments import AttachArguments, LaunchArguments
from pitstop.doors.dap.protocol.failures import RequestFailed
from pitstop.doors.dap.session.adapter import Adapter
from pitstop.doors.dap.session.debuggee import Attachment, Debuggee, Launch
from pitstop.doors.dap.session.path_mappings import PathMappings
from pitstop.errors import BadFlow
from pitstop.service.attaching import newest_attachable
from pitstop.service.caller import LOCAL
from pitstop.service.desks import Service
from pitstop.service.flows import read_target
from pitstop.service.runs import RunRequest
from pitstop.settings import read_settings

FRESH = "fresh"


async def prepare_launch(adapter: Adapter, arguments: LaunchArguments) -> Debuggee:
    """Nothing has run yet; RequestFailed, BadFlow, BadInputs say why nothing can."""
    request = _request(arguments, adapter.environment)
    _set_environment(adapter, arguments)
    service = await _service(adapter, arguments.server, arguments.token)
    try:
        flow = await service.flows.check(LOCAL, request.flow, request.text)
        await service.flows.resolve(LOCAL, request)
    except BadFlow as error:
        _show_mistakes(adapter, error)
        raise
    launch = Launch(
        service=service,
        request=request,
        flow=flow,
        is_local=arguments.server is None,
        debugs=not arguments.no_debug,
        stops_at_entry=bool(arguments.stop_on_entry),
        stops_at_end=bool(arguments.stop_at_end),
    )
    return Debuggee(adapter.editor, launch, arguments)


async def prepare_attach(adapter: Adapter, arguments: AttachArguments) -> Debuggee:
    name = arguments.run or (newest_attachable(read_settings()) if arguments.server is None else None)
    if name is None:
        here = ": no run on this machine was started with --attachable" if arguments.server is None else ""
        raise RequestFailed(f"attach needs `run` (the run ID){here}")
    if arguments.server is None:
        service = await adapter.services.attached(name)
    else:
        service = await adapter.services.remote(arguments.server, arguments.token or "")
    run = await service.runs.get(LOCAL, name)
    adapter.editor.sources.mappings = PathMappings(arguments.path_mappings or ())
    return Debuggee(adapter.editor, Attachment(service=service, run=run, flow=run.flow), arguments)


async def _service(adapter: Adapter, server: str | None, token: str | None) -> Service:
    return await adapter.services.local() if server is None else await adapter.services.remote(server, token or "")


def _request(arguments: LaunchArguments, environment: Mapping[str, str]) -> RunRequest:
    if not arguments.program:
        raise RequestFailed("launch needs `program`: a flow file, or a graph as file.py:app or module:app")
    cwd = Path(arguments.cwd or ".").absolute()
    program = str(cwd / arguments.program)
    if arguments.server is not None and read_target(program) is not None:
        raise RequestFailed("a graph cannot run on a server: launch it without `server`")
    folder = str(cwd) if arguments.folder is None else str(cwd / arguments.folder)
    return RunRequest(
        flow=program,
        text=_text(program) if arguments.server is not None else None,
        inputs=_inputs(arguments.inputs, of_graph=read_target(program) is not None),
        secrets=_secrets(arguments.secrets, environment),
        folder=None if arguments.folder == FRESH or arguments.server is not None else folder,
        from_step=arguments.from_step,
        can_ask=not arguments.no_debug,  # the console can answer
    )


def _set_environment(adapter: Adapter, arguments: LaunchArguments) -> None:
    """What is run here has the environment of this process, which has one client, without what is named as a secret."""
    if arguments.server is not None:
        if arguments.env:
            raise RequestFailed("`env` cannot be set on a server: use inputs instead")
        return
    given = arguments.env or {}
    secrets = arguments.secrets if isinstance(arguments.secrets, list) else ()
    kept = {name: value for name, value in adapter.environment.items() if name not in (*given, *secrets)}
    os.environ.clear()
    os.environ.update(kept | {name: value for name, value in given.items() if value is not None})


def _text(program: str) -> str:
    """What a server is sent, for it does not have our files."""
    try:
        return Path(program).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise RequestFailed(f"cannot read {program}: {getattr(error, 'strerror', None) or error}") from error


def _inputs(given: dict[str, Any] | list[str] | None, *, of_graph: bool) -> dict[str, Any]:
    """By name, or as `name=value`. A flow reads its texts itself; JSON in those of a graph is read here."""
    if not isinstance(given, list):
        return given or {}
    inputs: dict[str, Any] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not name or not equals:
            raise RequestFailed(f"invalid input {each!r}: use name=value")
        inputs[name] = _json_or_text(value) if of_graph else value
    return inputs


def _json_or_text(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return value


def _secrets(given: dict[str, str] | list[str] | None, environment: Mapping[str, str]) -> dict[str, str]:
    """By name and value, or names alone: those are taken from the environment."""
    if not isinstance(given, list):
        return given or {}
    missing = [name for name in given if name not in environment]
    if missing:
        raise RequestFailed(f"secrets missing from the environment: {', '.join(missing)}")
    return {name: environment[name] for name in given}


def _show_mistakes(adapter: Adapter, error: BadFlow) -> None:
    for mistake in error.found:
        adapter.editor.say(str(mistake), "stderr", mistake.file, mistake.line)
