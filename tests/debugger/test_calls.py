"""Stops at the calls inside a step: where they are, what can be done there, and what they leave alone."""

import asyncio
from typing import Any

import pytest

from pitstop.debugger.session import Session
from pitstop.engine.calls import Call, Calls
from pitstop.engine.frame import Activation
from pitstop.errors import BadBreakpoint, NotAllowed
from pitstop.events.log import MemoryLog
from pitstop.events.outcome import Outcome, Status, StepError
from pitstop.events.types import StopEnded
from pitstop.plan.plan import Plan
from tests.debugger.bench import at, debugging, undebugged
from tests.engine.flows import Do, flow, leaf


def shell(number: str, command: str, paths: tuple[str, ...] = (), tool: str = "shell") -> Call:
    told = {"call": number, "name": tool.title(), "tool": tool, "command": command, "paths": list(paths)}
    return Call(number, f"{tool}: {command}", {**told, "input": {"command": command}})


def calling(*calls: Call, fails_at: str | None = None) -> Do:
    """A step that makes these calls one after the other; its output is what became of each."""

    async def do(activation: Activation) -> list[Any]:
        asked, became = Calls(activation), []
        for call in calls:
            decided = await asked.before(call)
            if isinstance(decided, Outcome):
                became.append(decided.error.message if decided.error else decided.outputs)
                continue
            error = StepError("Failed", "no") if call.number == fails_at else None
            status = Status.PASSED if error is None else Status.FAILED
            ended = await asked.after(call, Outcome(status, {"output": "done"}, error))
            became.append({**decided, **ended.outputs})
        return became

    return do


def agent(*calls: Call, fails_at: str | None = None) -> Plan:
    return flow(leaf("a"), leaf("fix", calling(*calls, fails_at=fails_at)), leaf("z"))


TWO = (shell("1", "ls"), shell("2", "rm -rf build"))


async def test_calls_that_are_not_watched_are_made_as_they_are() -> None:
    result = await undebugged(agent(*TWO))

    became = result.steps["fix"].outputs
    assert became == [{"command": "ls", "output": "done"}, {"command": "rm -rf build", "output": "done"}]


async def test_a_breakpoint_for_a_class_of_tools_stops_before_the_call_and_shows_it() -> None:
    session = Session()
    session.add_breakpoint("fix", tool="shell", condition='.tool.command | test("rm")')

    async with debugging(agent(*TWO), session=session) as run:
        stop = await run.stop()
        assert at(stop) == "before fix/2"
        assert stop.reasons == ("breakpoint",)
        assert stop.scope["tool"]["input"] == {"command": "rm -rf build"}
        await session.override_config(stop, {"command": "ls build"})
        await session.continue_(stop)
        result = await run.end()

    assert result.steps["fix"].outputs[1] == {"command": "ls build", "output": "done"}
    assert len(result.intervened) == 1


async def test_an_edit_of_the_input_in_the_scope_changes_the_call() -> None:
    session = Session()
    session.add_breakpoint(tool="any", hits="== 2")

    async with debugging(agent(*TWO), session=session) as run:
        stop = await run.stop()
        await session.set(stop, ".tool.input.command", "echo")
        await session.continue_(stop)
        result = await run.end()

    assert result.steps["fix"].outputs[1]["command"] == "echo"


async def test_a_refused_call_is_told_the_reason_and_the_step_goes_on() -> None:
    session = Session()
    session.add_breakpoint(tool="shell")

    async with debugging(agent(*TWO), session=session) as run:
        stop = await run.stop()
        await session.skip(stop, message="use make clean")
        await session.force(await run.stop(), "passed", {"output": "nothing to remove"})
        result = await run.end()

    assert result.steps["fix"].outputs == ["use make clean", {"output": "nothing to remove"}]
    assert set(result.steps) == {"a", "fix", "z"}


async def test_step_commands_move_from_call_to_call_and_out_of_the_step() -> None:
    calls = (shell("1", "task", tool="task"), shell("1/1", "ls"), shell("1/2", "cat"), shell("2", "make"))
    session = Session(stop_at_entry=True)

    async with debugging(agent(*calls), session=session) as run:
        first = await run.over(await run.stop())
        assert at(first) == "before fix"
        task = await run.into(first)
        assert at(task) == "before fix/1"
        inner = await run.into(task)
        assert at(inner) == "before fix/1/1"
        assert at(await run.over(inner)) == "before fix/1/2"
        make = await run.out(session.stops[0])
        assert at(make) == "before fix/2"
        assert at(await run.out(make)) == "before z"


async def test_stepping_over_the_step_or_over_a_call_passes_by_what_is_inside() -> None:
    calls = (shell("1", "task", tool="task"), shell("1/1", "ls"), shell("2", "make"))
    session = Session(stop_at_entry=True)

    async with debugging(agent(*calls), session=session) as run:
        fix = await run.over(await run.stop())
        assert at(await run.over(fix)) == "before z"

    session = Session()
    session.add_breakpoint(tool="task")
    async with debugging(agent(*calls), session=session) as run:
        assert at(await run.over(await run.stop())) == "before fix/2"


async def test_a_pause_that_is_asked_for_stops_at_the_next_point_of_a_call() -> None:
    session = Session()
    session.add_breakpoint(tool="shell", once=True)

    async with debugging(agent(*TWO), session=session) as run:
        stop = await run.stop()
        await session.continue_(stop)
        await session.pause()
        ended = await run.stop()
        assert at(ended) == "after fix/1"
        assert at(await run.over(ended)) == "before fix/2"


@pytest.mark.parametrize(
    ("pattern", "stops"),
    [
        ("migrations/**", ["before fix/2"]),
        ("*.py", ["before fix/1"]),
        ("**", ["before fix/1", "before fix/2"]),
    ],
)
async def test_a_breakpoint_for_files_stops_at_calls_about_them(pattern: str, stops: list[str]) -> None:
    calls = (shell("1", "", ("a.py",), "edit"), shell("2", "", ("migrations/1/up.sql",), "edit"), shell("3", "ls"))
    session = Session()
    session.add_breakpoint(path=pattern)

    async with debugging(agent(*calls), session=session) as run:
        assert await run.trail("continue_") == stops


async def test_stops_after_a_call_and_at_its_failure_can_change_the_result() -> None:
    session = Session()
    session.add_breakpoint("fix", "after", tool="shell", hits="== 1")
    session.add_breakpoint("fix", "error", tool="shell")

    async with debugging(agent(*TWO, fails_at="2"), session=session) as run:
        first = await run.stop()
        assert at(first) == "after fix/1"
        await session.force(first, "passed", {"output": "another result"})
        failed = await run.stop()
        assert at(failed) == "error fix/2"
        await session.continue_(failed)
        result = await run.end()

    assert [each["output"] for each in result.steps["fix"].outputs] == ["another result", "done"]


async def test_a_failing_call_does_not_stop_a_session_that_stops_at_failures() -> None:
    async with debugging(agent(*TWO, fails_at="1")) as run:
        assert (await run.end()).status is Status.PASSED


async def test_breakpoints_of_steps_do_not_stop_at_their_calls_and_the_reverse() -> None:
    session = Session()
    session.add_breakpoint("fix")
    session.add_breakpoint(kind="do", position="after", condition='.steps.fix.status == "passed"')
    session.add_breakpoint("z", tool="any")

    async with debugging(agent(*TWO), session=session) as run:
        assert await run.trail("continue_") == ["before fix", "after fix", "after z"]


async def test_muted_and_disabled_breakpoints_for_calls_do_not_stop() -> None:
    session = Session()
    breakpoint = session.add_breakpoint(tool="any")
    session.enable_breakpoint(breakpoint, enabled=False)

    async with debugging(agent(*TWO), session=session) as run:
        await run.end()
    session = Session()
    session.add_breakpoint(tool="any")
    session.mute()
    async with debugging(agent(*TWO), session=session) as run:
        await run.end()


async def test_a_step_can_be_injected_before_a_call_and_not_after_it() -> None:
    session = Session()
    session.add_breakpoint(tool="any", hits="== 2")

    async with debugging(agent(*TWO), session=session) as run:
        stop = await run.stop()
        assert stop.positions == ("before",)
        path = await session.inject(stop, leaf("check"))
        with pytest.raises(NotAllowed, match="before a tool call"):
            await session.inject(stop, leaf("check"), "after")
        await session.continue_(stop)
        result = await run.end()

    assert path == "fix/2+1"
    assert run.ran == ["a", "fix", "fix/2+1", "z"]
    assert result.status is Status.PASSED


async def test_what_a_call_does_not_allow_is_refused() -> None:
    session = Session()
    session.add_breakpoint(tool="any", hits="== 1")

    async with debugging(agent(*TWO), session=session) as run:
        stop = await run.stop()
        for refused in (session.retry(stop), session.goto(stop, "z")):
            with pytest.raises(NotAllowed):
                await refused
        assert "step_back" in stop.allowed


async def test_stepping_back_from_a_call_goes_to_before_the_step() -> None:
    session = Session()
    session.add_breakpoint(tool="any", hits="== 2")

    async with debugging(agent(*TWO), session=session) as run:
        stop = await run.stop()
        assert at(await run.back(stop)) == "before fix"
        assert [point.occurrence for point in session.history()] == ["a", "a", "fix"]
        await session.continue_(session.stops[0])
        result = await run.end()

    assert result.status is Status.PASSED
    assert len(result.steps["fix"].outputs) == 2


async def test_two_calls_at_once_are_asked_about_one_after_the_other() -> None:
    async def do(activation: Activation) -> list[Any]:
        asked = Calls(activation)
        return list(await asyncio.gather(*(asked.before(call) for call in TWO)))

    session = Session()
    session.add_breakpoint(tool="any")
    async with debugging(flow(leaf("fix", do)), session=session) as run:
        first = await run.stop()
        assert [at(stop) for stop in session.stops] == ["before fix/1"]
        second = await run.on(first)
        assert at(second) == "before fix/2"
        await session.continue_(second)
        assert (await run.end()).status is Status.PASSED


async def test_a_held_call_ends_with_its_agent() -> None:
    gave_up = asyncio.Event()

    async def do(activation: Activation) -> None:
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(Calls(activation).before(TWO[0]))
            await gave_up.wait()
            asking.cancel()

    session = Session()
    session.add_breakpoint(tool="any")
    async with debugging(flow(leaf("fix", do)), session=session) as run:
        await run.stop()
        gave_up.set()
        await run.end()

    assert [event.reason for event in run.told(StopEnded)] == ["the agent ended while the call was held"]


async def test_a_stop_at_a_call_comes_back_if_the_step_is_repeated_after_a_restart() -> None:
    session = Session()
    session.add_breakpoint(tool="any", hits="== 1")
    log = MemoryLog()
    async with debugging(agent(*TWO), session=session, log=log) as run:
        await run.stop()
        events = list(log.read())

    async with debugging(agent(*TWO), session=Session(), log=MemoryLog(events)) as run:
        stop = await run.stop()
        assert (at(stop), stop.id) == ("before fix/1", 1)
        await run.session.continue_(stop)
        assert (await run.end()).status is Status.PASSED


def test_a_breakpoint_for_calls_that_makes_no_sense_is_refused() -> None:
    session = Session()
    with pytest.raises(BadBreakpoint, match=r"the path pattern 'src/\[a' has a `\[` without"):
        session.add_breakpoint(path="src/[a")
    with pytest.raises(BadBreakpoint, match="cannot watch a value"):
        session.add_breakpoint(tool="shell", state=".x")


class StoredFiles:
    """Snapshots that are numbers, and those that were restored."""

    def __init__(self) -> None:
        self.taken = 0
        self.restored: list[str] = []

    async def take(self, frame: str, occurrence: str) -> str:
        self.taken += 1
        return f"{occurrence}:{self.taken}"

    async def restore(self, snapshot: str) -> None:
        self.restored.append(snapshot)


def storing(*calls: Call) -> Plan:
    """A step that stores its files before each call, as an agent does."""

    async def do(activation: Activation) -> list[Any]:
        asked, became = Calls(activation), list[Any]()
        for call in calls:
            await asked.keep_workspace(call)
            decided = await asked.before(call)
            became.append("refused" if isinstance(decided, Outcome) else decided["command"])
        return became

    return flow(leaf("a"), leaf("fix", do), leaf("z"))


THREE = (*TWO, shell("3", "make"))


async def test_stepping_back_over_a_call_starts_the_step_again_and_stops_at_the_call_before() -> None:
    session, files = Session(snapshots=True), StoredFiles()
    session.add_breakpoint(tool="any", hits="== 3")

    async with debugging(storing(*THREE), session=session, snapshots=files) as run:
        third = await run.stop()
        assert at(third) == "before fix/3"
        second = await run.back(third)
        assert (at(second), second.reasons) == ("before fix/2", ("step",))
        await session.skip(second, message="no")
        result = await run.end()

    assert [each.partition(":")[0] for each in files.restored] == ["fix"]
    assert result.steps["fix"].outputs == ["ls", "refused", "make"]
    assert run.ran == ["a", "fix", "fix", "z"]


async def test_any_call_of_the_history_can_be_gone_back_to_and_the_first_leads_to_the_step() -> None:
    session, files = Session(snapshots=True), StoredFiles()
    session.add_breakpoint(tool="any", hits="== 3")

    async with debugging(storing(*THREE), session=session, snapshots=files) as run:
        third = await run.stop()
        first = next(point for point in session.history() if point.occurrence == "fix/1")
        await session.rewind(third, first)
        again = await run.stop()
        assert at(again) == "before fix/1"
        assert at(await run.back(again)) == "before fix"
        await session.continue_all()
        session.clear_breakpoints()
        assert (await run.end()).status is Status.PASSED
