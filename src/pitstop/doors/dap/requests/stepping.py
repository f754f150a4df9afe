"""Moving: continue, next, into, out, pause. A step moves its own branch; the others stay where they are."""

import contextlib
from functools import partial
from typing import Literal

from pitstop.doors.dap.protocol import arguments as given
from pitstop.doors.dap.protocol.failures import RequestFailed, not_stopped
from pitstop.doors.dap.protocol.messages import Body, Target
from pitstop.doors.dap.session.adapter import Adapter
from pitstop.doors.dap.session.dispatcher import Route
from pitstop.doors.dap.session.threads import MAIN
from pitstop.errors import CommandRefused
from pitstop.service.debugging import verbs


async def continue_(adapter: Adapter, arguments: given.MoveArguments) -> Body:
    """One branch, if the client says so or each is on its own; else all of them, whichever thread it names."""
    debugger, conductor = adapter.session().live()
    is_single = bool(arguments.single_thread) or not conductor.stops_all
    stop = await adapter.session().stop_of(arguments.thread_id) if is_single else None
    if stop is None:
        await conductor.continue_all()
        return {"allThreadsContinued": True}
    with conductor.moving(stop, (stop.id,), is_step=True):
        await debugger.say(verbs.Continue(stop.id))
    return {"allThreadsContinued": False}


async def step_in(adapter: Adapter, arguments: given.StepInArguments) -> None:
    target = None if arguments.target_id is None else adapter.targets.get(arguments.target_id)
    if arguments.target_id is not None and target is None:
        raise RequestFailed("this target belongs to a stop that has ended", show_user=False)
    await step(adapter, arguments, "into" if target is None else "to", target)


async def step(
    adapter: Adapter,
    arguments: given.MoveArguments,
    kind: Literal["over", "out", "into", "to"],
    target: str | None = None,
) -> None:
    """Step the branch that is named, or the one that was told of last when that one is no more."""
    session = adapter.session()
    debugger, conductor = session.live()
    stop = await session.stop_of(arguments.thread_id)
    branch = adapter.editor.threads.frame(arguments.thread_id)
    if stop is None and branch is None:
        stop = conductor.current
    if stop is None:
        await _step_over_what_moves(adapter, branch)
        return
    state = await debugger.say(verbs.State())
    others = [each.id for each in state.stops if each.id != stop.id]
    moves_others = bool(session.options.stepping_resumes_all_branches) and not arguments.single_thread
    moved = (stop.id, *others) if moves_others else (stop.id,)
    with conductor.moving(stop, moved, is_step=not moves_others):
        await debugger.say(verbs.Step(stop.id, kind, target, code=kind == "into"))
    for each in others if moves_others and conductor.stops_all else ():
        with contextlib.suppress(CommandRefused):
            await debugger.say(verbs.Continue(each))


async def _step_over_what_moves(adapter: Adapter, branch: str | None) -> None:
    """A branch that is at a long step, or waits for those that it has opened, stops at the next step it comes to."""
    debugger, conductor = adapter.session().live()
    if branch is None or not conductor.is_stopped:
        raise not_stopped()
    await debugger.say(verbs.Pause(branch))
    state = await debugger.say(verbs.State())
    parents = {each.id: each.parent for each in state.frames}
    under = {each for each in parents if branch in _lineage(each, parents)}
    stops = [stop.id for stop in state.stops if stop.frame in under]
    conductor.move_on(stops, is_step=True)
    conductor.want_pause()
    conductor.let_through(under)
    for number in stops:
        with contextlib.suppress(CommandRefused):  # somebody else was quicker
            await debugger.say(verbs.Continue(number))


def _lineage(frame: str, parents: dict[str, str | None]) -> list[str]:
    line, at = [], parents.get(frame)
    while at is not None:
        line.append(at)
        at = parents.get(at)
    return line


async def pause(adapter: Adapter, arguments: given.ThreadArguments) -> None:
    """Every branch at its next point. A long step is not interrupted: where it is at work is told in its place."""
    debugger, conductor = adapter.session().live()
    if conductor.is_stopped and conductor.stops_all:
        return
    conductor.want_pause()
    await debugger.say(verbs.Pause(None if conductor.stops_all else adapter.editor.threads.frame(arguments.thread_id)))
    adapter.editor.spawn(conductor.tell_pause_later(arguments.thread_id), name="pause")


async def terminate_threads(adapter: Adapter, arguments: given.TerminateThreadsArguments) -> None:
    """End branches, wherever they are. The main one is the run."""
    session = adapter.session()
    debugger, conductor = session.live()
    for thread in arguments.thread_ids or ():
        branch = adapter.editor.threads.frame(thread)
        if branch == MAIN:
            await session.cancel()
        elif branch is not None:
            stop = await session.stop_of(thread)
            if stop is not None:
                conductor.end_branch(stop)
            await debugger.say(verbs.CancelFrame(branch, "cancelled in the editor"))


async def step_in_targets(adapter: Adapter, arguments: given.FrameArguments) -> Body:
    """The steps directly inside the one that is stopped before: for a parallel step its branches."""
    frame = adapter.editor.references.frame(arguments.frame_id)
    stop = await adapter.session().stop(frame.stop)
    if stop is None or frame.depth or stop.position != "before":
        return {"targets": []}
    places, client = adapter.session().places, adapter.editor.client
    children = [each for each in places.flow.steps if each.parent == stop.step and not each.is_cleanup]
    targets = [
        Target(
            id=adapter.number_target(each.path),
            label=each.id or each.title,
            line=None if each.line is None else client.line_out(each.line),
            column=None if each.column is None else client.column_out(each.column),
        )
        for each in children
    ]
    return {"targets": targets}


ROUTES = {
    "continue": Route(given.MoveArguments, continue_),
    "next": Route(given.MoveArguments, partial(step, kind="over")),
    "stepIn": Route(given.StepInArguments, step_in),
    "stepOut": Route(given.MoveArguments, partial(step, kind="out")),
    "stepInTargets": Route(given.FrameArguments, step_in_targets),
    "terminateThreads": Route(given.TerminateThreadsArguments, terminate_threads),
    "pause": Route(given.ThreadArguments, pause),
}
