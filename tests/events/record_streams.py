"""Record the event streams that the Python fold and the web's fold are both tested on.

    python -m tests.events.record_streams
    python -m tests.events.record_streams --views     only the views, from the events that were recorded

Each run is a real one, with a scripted debugger; the views are what `fold` gave when the stream was recorded.
"""

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import msgspec

import pitstop
from pitstop import MemoryLog, Session, run_flow
from pitstop.app import open_service
from pitstop.engine.executor import LogChunk
from pitstop.events.durations import Clock, Durations
from pitstop.events.log import events_from_json, events_to_json
from pitstop.events.types import AnyEvent, StepStarted, Stopped
from pitstop.events.view import RunView
from pitstop.service.caller import LOCAL

PACKAGE = str(Path(pitstop.__file__).parent)
STREAMS = Path(__file__).parent / "streams"
FLOWS = Path(__file__).parent / "flows"
Script = Callable[[Session], Coroutine[Any, Any, None]]


def durations_as_json(clock: Clock | None, now: float) -> list[float]:
    """Ran, paused and total, in microseconds."""
    told = Durations(0.0, 0.0, 0.0) if clock is None else clock.durations(now)
    return [round(1e6 * seconds) for seconds in (told.ran, told.paused, told.total)]


def view_as_json(view: RunView) -> dict[str, Any]:
    """What both folds must agree on."""
    return {
        "durations": durations_as_json(view.clock, view.last_at),
        "last_event": view.last_event,
        "plan": view.plan,
        "status": view.status,
        "steps": [
            {
                "occurrence": step.occurrence,
                "step": step.step,
                "frame": step.frame,
                "status": step.status,
                "started_at": step.started_at,
                "ended_at": step.ended_at,
                "is_retried": step.is_retried,
                "started_event": step.started_event,
                "ended_event": step.ended_event,
                "durations": durations_as_json(step.clock, view.last_at),
            }
            for step in view.steps.values()
        ],
        "frames": [
            {
                "id": frame.id,
                "name": frame.name,
                "parent": frame.parent,
                "state": frame.state,
                "ended_because": frame.ended_because,
                "durations": durations_as_json(frame.clock, view.last_at),
            }
            for frame in view.frames.values()
        ],
        "stops": list(view.stops),
        "breakpoints": [{"id": number, "hit_count": told["hit_count"]} for number, told in view.breakpoints.items()],
        "watches": list(view.watches),
        "interventions": [type(event).__struct_config__.tag for event in view.interventions],
        "is_detached": view.is_detached,
        **({"is_muted": True} if view.is_muted else {}),  # which older streams do not have
    }


async def watch_only(session: Session) -> None:
    """Nobody stops anything."""


async def step_two_branches(session: Session) -> None:
    """Stop in two branches, step one, change a value, skip a step and let all go."""
    session.add_breakpoint(step="checks.unit")
    session.add_breakpoint(step="checks.lint")
    session.watch(".steps.build.outputs")
    stops = {stop.step: stop for stop in [await _next(session), await _next(session)]}
    await session.set(stops["checks.unit"], ".vars.region", "north")
    await session.step_over(stops["checks.lint"])
    await session.skip(stops["checks.unit"])
    session.remove_breakpoint(1)
    await session.continue_all()


async def repair_and_retry(session: Session) -> None:
    """A step fails; it is given another value, a step is put in before it, and it runs again."""
    stop = await _next(session)
    await session.set(stop, ".vars.region", "south")
    await session.retry(stop)


async def go_back(session: Session) -> None:
    """Step to the third step, go back over two of them, and go on."""
    session.add_breakpoint(step="build", log="building ${{ .vars.region }}")
    session.add_breakpoint(step="package")
    stop = await _next(session)
    await session.step_over(stop)
    stop = await _next(session)
    await session.step_back(stop)
    stop = await _next(session)
    await session.inject(stop, {"id": "look", "uses": "run", "with": {"script": "ls"}})
    await session.step_over(stop)
    stop = await _next(session)
    await session.detach()


async def open_shell(session: Session) -> None:
    """A file is repaired in a shell, a step is put in and taken out again, and breakpoints are muted."""
    session.add_breakpoint(step="package", note="look at the files")
    session.add_breakpoint(step="smoke")
    stop = await _next(session)
    close = session.shell_opened(session.activation_at(stop), stop.id, "alice")
    close(["repo/app.txt"])
    path = await session.inject(stop, {"run": "ls", "timeout": "1m"})
    await session.uninject(stop, path)
    session.mute()
    await session.continue_(stop)


async def abort(session: Session) -> None:
    """Stop in a branch and end everything."""
    session.add_breakpoint(step="build", once=True)
    session.add_breakpoint(step="checks.lint.types")
    stop = await _next(session)
    await session.continue_(stop)
    await _next(session)
    await session.pause()
    await session.abort("seen enough")


async def stop_and_unpause(session: Session) -> None:
    """Take back a pause, stop a step that hangs, and go on without it."""
    session.add_breakpoint(step="checks.quick")
    stop = await _next(session)
    await session.pause("checks.slow")
    await session.cancel_pause("checks.slow")
    await session.stop_step("checks.slow")
    slow = await _next(session)
    await session.continue_(stop)
    await session.force(slow, "passed")


async def go_back_and_return(session: Session) -> None:
    """Go back over the branches, return to where it was, and go on."""
    session.add_breakpoint(step="package")
    stop = await _next(session)
    await session.step_back(stop)
    stop = await _next(session)
    await session.set(stop, ".vars.region", "west")
    await session.forward(stop)
    stop = await _next(session)
    await session.continue_(stop)


async def return_to_branches(session: Session) -> None:
    """Go back to before two branches, let one of them begin, and return to where none had."""
    session.add_breakpoint(step="checks.quick")
    session.add_breakpoint(step="checks.slow")
    stops = {stop.step: stop for stop in [await _next(session), await _next(session)]}
    before = next(point for point in session.history() if point.step == "checks")
    await session.rewind(stops["checks.quick"], before)
    await session.continue_(await _next(session))
    stops = {stop.step: stop for stop in [await _next(session), await _next(session)]}
    await session.continue_(stops["checks.slow"])
    assert isinstance(session.log, MemoryLog)
    async for event in session.log.follow():
        if isinstance(event, StepStarted) and event.step == "checks.slow":
            break
    await session.forward(stops["checks.quick"])
    stops = {stop.step: stop for stop in [await _next(session), await _next(session)]}
    await session.skip(stops["checks.slow"])
    await session.continue_(stops["checks.quick"])


async def go_on_after_restart(session: Session) -> None:
    """The process ended at two stops; a new one takes the run up where it was."""
    stop = await _next(session)
    await session.step_over(stop)
    await _next(session)
    await session.continue_all()


async def _next(session: Session) -> Any:
    stop = await session.next_stop()
    assert stop is not None
    return stop


RECORDINGS: dict[str, tuple[str, Script]] = {
    "passed": ("shop.yaml", watch_only),
    "two-branches": ("shop.yaml", step_two_branches),
    "repaired": ("shop-broken.yaml", repair_and_retry),
    "rewound": ("shop.yaml", go_back),  # by an engine that started the whole frame again: not to be recorded anew
    "rewound-a-step": ("shop.yaml", go_back),
    "shell": ("shop.yaml", open_shell),
    "aborted": ("shop.yaml", abort),
    "stopped-step": ("hanging.yaml", stop_and_unpause),
    "returned": ("shop.yaml", go_back_and_return),
    "returned-to-branches": ("hanging.yaml", return_to_branches),
    "restarted": ("shop.yaml", go_on_after_restart),
    "combinations": ("combinations.yaml", watch_only),
}


async def interrupted_log(file: str) -> MemoryLog:
    """The log of a run whose process ended while two of its branches stood still."""
    log, session = MemoryLog(), Session(stop_on_error=True)
    session.add_breakpoint(step="checks.unit")
    session.add_breakpoint(step="checks.lint.types")
    async with asyncio.TaskGroup() as group:
        running = group.create_task(run_flow(FLOWS / file, folder=None, debug=session, log=log))
        await _next(session)
        await _next(session)
        left = list(log.read())
        running.cancel()
    return MemoryLog(left)


async def record(name: str, file: str, script: Script, folder: Path) -> None:
    log = await interrupted_log(file) if script is go_on_after_restart else MemoryLog()
    session = Session(stop_on_error=True)
    logs: dict[str, str] = {}

    def hear(occurrence: str, chunk: LogChunk) -> None:
        logs[occurrence] = logs.get(occurrence, "") + chunk.data.decode()

    async with asyncio.TaskGroup() as group:
        group.create_task(script(session))
        group.create_task(
            run_flow(
                FLOWS / file, folder=None, debug=None if script is watch_only else session, log=log, on_output=hear
            )
        )
    events = log.read()
    shown = [{"schema": 1, "number": number, **event} for number, event in enumerate(events_to_json(events), 1)]
    views = views_of(events)
    async with open_service() as service:
        info = msgspec.to_builtins(await service.flows.check(LOCAL, str(FLOWS / file)))
    info["file"] = file
    info["steps"] = [{**step, "file": file} for step in info["steps"]]
    texts = {file: (FLOWS / file).read_text()}
    told = {"name": name, "flow_info": info, "texts": texts, "logs": logs, "events": shown, "views": views}
    text = json.dumps(told, indent=1).replace(PACKAGE, "pitstop")  # in traces: the same wherever it is recorded
    (folder / f"{name}.json").write_text(text + "\n")


def views_of(events: Sequence[AnyEvent]) -> dict[int, Any]:
    """The state at each stop, in the middle and at the end."""
    view, views = RunView(), {}
    for event in events:
        view.apply(event)
        if isinstance(event, Stopped) or view.last_event in (len(events) // 2, len(events)):
            views[view.last_event] = view_as_json(view)
    return views


def record_views(file: Path) -> None:
    """The views of a recorded stream anew, from its events."""
    recorded = json.loads(file.read_text())
    plain = [{name: each[name] for name in each if name not in ("schema", "number")} for each in recorded["events"]]
    recorded["views"] = views_of(events_from_json(plain))
    file.write_text(json.dumps(recorded, indent=1) + "\n")


async def main() -> None:
    if sys.argv[1:] == ["--views"]:
        for file in STREAMS.glob("*.json"):
            record_views(file)
        return
    wanted = sys.argv[1:] or [name for name in RECORDINGS if name != "rewound"]
    for name in wanted:
        await record(name, *RECORDINGS[name], STREAMS)


if __name__ == "__main__":
    asyncio.run(main())
