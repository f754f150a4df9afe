"""Threads and stacks: where each branch is, and the steps around it."""

import os

from pitstop.doors.dap.protocol import arguments as given
from pitstop.doors.dap.protocol.failures import RequestFailed, not_stopped
from pitstop.doors.dap.protocol.messages import Body, ExceptionDetails, ExceptionInfo, StackFrame
from pitstop.doors.dap.session.adapter import Adapter
from pitstop.doors.dap.session.debuggee import Debuggee
from pitstop.doors.dap.session.dispatcher import Route
from pitstop.doors.dap.session.exceptions import is_handled
from pitstop.doors.dap.session.references import FrameRef
from pitstop.service.debugging import FrameInfo, StopInfo, verbs
from pitstop.service.flows import StepInfo

TAIL_LINES = 20
NAME_CHARACTERS = 80


async def threads(adapter: Adapter, arguments: given.NoArguments) -> Body:
    """Whatever the run does: clients ask at any time."""
    debuggee, current = adapter.debuggee, None
    if debuggee is not None and debuggee.run is not None and not debuggee.is_over:
        current = debuggee.conductor.current
    return {"threads": adapter.editor.threads.tell(None if current is None else current.frame)}


async def stack_trace(adapter: Adapter, arguments: given.StackTraceArguments) -> Body:
    debuggee = adapter.session()
    debugger, conductor = debuggee.live()
    branch = adapter.editor.threads.frame(arguments.thread_id)
    if not conductor.may_stand or branch is None:
        raise not_stopped()
    state = await debugger.say(verbs.State())
    stop = next((each for each in state.stops if each.frame == branch), None)
    frame = next((each for each in state.frames if each.id == branch), None)
    if stop is None and (frame is None or not conductor.stops_all):
        raise not_stopped(f"frame {branch} is not paused")
    if stop is not None:
        conductor.has_shown(stop.id)
    shown = _steps(debuggee, stop, frame)
    first = max(0, arguments.start_frame or 0)
    last = first + arguments.levels if arguments.levels else len(shown)
    told = [_tell(adapter, stop, branch, depth, shown[depth]) for depth in range(first, min(last, len(shown)))]
    return {"stackFrames": told, "totalFrames": len(shown)}


def _steps(debuggee: Debuggee, stop: StopInfo | None, frame: FrameInfo | None) -> list[StepInfo | None]:
    """The step that the branch is at and those around it; None stands for the run."""
    path = stop.step if stop is not None else (frame.step if frame is not None else None) or ""
    step = debuggee.places.step(path)
    if step is None:
        return [None]
    calls = [step] if stop is not None and stop.call is not None else []  # the call itself, where its agent is
    return [*calls, step, *debuggee.places.around(step), None]


def _tell(adapter: Adapter, stop: StopInfo | None, branch: str, depth: int, step: StepInfo | None) -> StackFrame:
    client, flow = adapter.editor.client, adapter.session().places.flow
    path = None if step is None else step.path
    number = adapter.editor.references.number_frame(FrameRef(None if stop is None else stop.id, branch, path, depth))
    file, line, column = flow.file, 1, 1
    if step is not None and step.file is not None and step.line is not None:
        file, line, column = step.file, step.line, step.column or 1
    is_on_disk = bool(file)
    return StackFrame(
        id=number,
        name=_name(stop, depth, step, flow.name),
        source=adapter.editor.sources.tell(file, client) if is_on_disk else None,
        line=client.line_out(line),
        column=client.column_out(column),
        end_line=client.line_out(line),  # some clients select a frame, and put the cursor at its end
        end_column=client.column_out(adapter.editor.sources.end_column(file, line)),
        can_restart=stop is not None and "rewind" in stop.allowed and (depth > 0 or stop.position != "before"),
        presentation_hint="subtle" if step is None else None,
    )


def _name(stop: StopInfo | None, depth: int, step: StepInfo | None, flow: str) -> str:
    if depth:
        return flow if step is None else step.path
    if stop is None:
        return flow if step is None else f"{step.path} (running)"
    where = stop.occurrence or flow
    if stop.call is not None:
        about = stop.call.command or ", ".join(stop.call.paths) or stop.call.name
        where = f"{where} {stop.call.tool}: {' '.join(about.split())[:NAME_CHARACTERS]}"
    return where if stop.position == "before" else f"{where} ({stop.position})"


async def exception_info(adapter: Adapter, arguments: given.ThreadArguments) -> ExceptionInfo:
    debuggee = adapter.session()
    stop = await debuggee.stop_of(arguments.thread_id)
    outcome = None if stop is None else stop.outcome
    if stop is None or outcome is None or outcome.error_type is None or debuggee.run is None:
        raise RequestFailed("this thread is not paused at a failure", show_user=False)
    tail = await debuggee.run.log_tail(stop.occurrence, TAIL_LINES)
    return ExceptionInfo(
        exception_id=outcome.error_type,
        description=outcome.error or outcome.error_type,
        break_mode="always" if is_handled(stop, debuggee.places) else "unhandled",
        details=ExceptionDetails(
            message=outcome.error or "",
            type_name=outcome.error_type,
            full_type_name=outcome.error_type,
            stack_trace="\n".join([*tail, debuggee.trace_of(stop.occurrence) or ""]).strip() or None,
        ),
    )


async def source(adapter: Adapter, arguments: given.SourceArguments) -> Body:
    reference = arguments.source_reference
    if not reference and arguments.source is not None:
        reference = arguments.source.source_reference
    text = adapter.editor.sources.text(reference or 0)
    if text is None:
        raise RequestFailed("there is no such source", show_user=False)
    return {"content": text, "mimeType": "text/x-yaml"}


async def loaded_sources(adapter: Adapter, arguments: given.NoArguments) -> Body:
    files = adapter.debuggee.places.files if adapter.debuggee is not None else ()
    told = [adapter.editor.sources.tell(os.fspath(file), adapter.editor.client) for file in files if file]
    return {"sources": told}


ROUTES = {
    "threads": Route(given.NoArguments, threads),
    "stackTrace": Route(given.StackTraceArguments, stack_trace),
    "exceptionInfo": Route(given.ThreadArguments, exception_info),
    "source": Route(given.SourceArguments, source),
    "loadedSources": Route(given.NoArguments, loaded_sources),
}
