"""Going back, starting again, and going ahead without running what is between."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pitstop.doors.dap.protocol import arguments as given
from pitstop.doors.dap.protocol.failures import RequestFailed, not_stopped
from pitstop.doors.dap.protocol.messages import Body, Target
from pitstop.doors.dap.session.adapter import Adapter
from pitstop.doors.dap.session.dispatcher import Route
from pitstop.service.debugging import Debugger, PointInfo, StopInfo, verbs


async def step_back(adapter: Adapter, arguments: given.MoveArguments) -> None:
    async with _travel(adapter, arguments.thread_id, "step") as (debugger, stop):
        if "step_back" not in stop.allowed:
            raise RequestFailed("cannot step back: this is the first step of its frame")
        await debugger.say(verbs.Step(stop.id, "back"))


async def reverse_continue(adapter: Adapter, arguments: given.MoveArguments) -> None:
    """Back to the breakpoint that was hit before, or to the first step."""
    async with _travel(adapter, arguments.thread_id, "breakpoint") as (debugger, stop):
        points = [point for point in await debugger.say(verbs.History()) if _is_before(point, stop)]
        hit = [point for point in points if point.stop is not None and point.stop in adapter.editor.breakpoint_stops]
        if not points:
            raise RequestFailed("this is the start of the run")
        await debugger.say(verbs.Rewind(stop.id, (hit[-1] if hit else points[0]).number))


async def restart_frame(adapter: Adapter, arguments: given.FrameArguments) -> None:
    """Back to before the step of a stack frame. Values that were set at the stop are set again there."""
    frame = adapter.editor.references.frame(arguments.frame_id)
    async with _travel(adapter, adapter.editor.threads.number(frame.branch), "restart") as (debugger, stop):
        point = _beginning(await debugger.say(verbs.History()), stop, frame.step)
        if point is None:
            raise RequestFailed(f"{frame.step or 'the run'} has not started, so it cannot be restarted")
        await debugger.say(verbs.Rewind(stop.id, point.number))
        adapter.session().conductor.carry_edits(stop, point)


def _is_before(point: PointInfo, stop: StopInfo) -> bool:
    """Whether it is another place than that of the stop, which may have been come to before."""
    is_same = (point.occurrence, point.position) == (stop.occurrence, stop.position)
    return point.number < stop.after_event and not is_same


def _beginning(points: tuple[PointInfo, ...], stop: StopInfo, step: str | None) -> PointInfo | None:
    """The last time that a step around the stop was about to begin; for the run, its first point."""
    past = [point for point in points if point.number < stop.after_event and point.position == "before"]
    if step is None:
        return past[0] if past else None
    return next((point for point in reversed(past) if point.step == step), None)


async def goto_targets(adapter: Adapter, arguments: given.GotoTargetsArguments) -> Body:
    """The step at a line, if a branch stands beside it."""
    session, client = adapter.session(), adapter.editor.client
    debugger, conductor = session.live()
    file = adapter.editor.sources.file_of(arguments.source, session.places, client)
    step = None if file is None else session.places.step_for(file, client.line_in(arguments.line))
    if step is None or not conductor.is_stopped:
        return {"targets": []}
    for stop in (await debugger.say(verbs.State())).stops:
        at = session.places.step(stop.step)
        for twin in session.places.twins(step):
            if at is not None and at.parent == twin.parent:
                line, column = client.line_out(twin.line or 1), client.column_out(twin.column or 1)
                number = adapter.number_target(twin.path)
                return {"targets": [Target(id=number, label=twin.path, line=line, column=column)]}
    return {"targets": []}


async def goto(adapter: Adapter, arguments: given.GotoArguments) -> None:
    step = adapter.targets.get(arguments.target_id)
    if step is None:
        raise RequestFailed("there is no such target", show_user=False)
    async with _travel(adapter, arguments.thread_id, "goto") as (debugger, stop):
        await debugger.say(verbs.Goto(stop.id, step))


@asynccontextmanager
async def _travel(adapter: Adapter, thread: int, expected: str) -> AsyncIterator[tuple[Debugger, StopInfo]]:
    """For a command to a thread: the stop that it leads to is reported with the word that the client expects."""
    debugger, conductor = adapter.session().live()
    stop = await adapter.session().stop_of(thread)
    if stop is None:
        raise not_stopped()
    with conductor.moving(stop, (stop.id,), is_step=True, expected=expected):
        yield debugger, stop


ROUTES = {
    "stepBack": Route(given.MoveArguments, step_back),
    "reverseContinue": Route(given.MoveArguments, reverse_continue),
    "restartFrame": Route(given.FrameArguments, restart_frame),
    "gotoTargets": Route(given.GotoTargetsArguments, goto_targets),
    "goto": Route(given.GotoArguments, goto),
}
