"""What is told at the prompt: in the order in which it happened, however far the run is by then."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.application import Application, create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from rich.console import Console as Paper

from pitstop.doors.cli.debug.actions import carry_out
from pitstop.doors.cli.debug.console import Console
from pitstop.doors.cli.debug.prompt import Prompt
from pitstop.doors.cli.debug.screen import Screen
from pitstop.doors.cli.debug.script import ScriptLine
from pitstop.doors.cli.debug.steering import run_script
from pitstop.doors.cli.early_output import EarlyOutput
from pitstop.service.caller import Caller
from pitstop.service.debugging import Request, verbs
from pitstop.service.runs import ActiveRun, BreakpointRequest, DebugRequest, EventInfo, Output
from tests.contracts.service_desk import next_stop, wait_for
from tests.doors.cli.debug_bench import WAITING
from tests.patience import PATIENCE_SECONDS
from tests.service.desk import Desk

FLOW = """\
    steps:
      - {id: first, run: 'echo $(cat first)'}
      - id: checks
        parallel:
          - {id: lint, run: echo linted}
          - {id: tests, run: 'echo $(cat second); exit 3'}
    """
BRANCHES = """\
    steps:
      - id: checks
        parallel:
          - {id: lint, run: exit 3}
          - {id: tests, run: 'true'}
    """
BOTH = DebugRequest(breakpoints=(BreakpointRequest(step="lint"), BreakpointRequest(step="tests")))
ENTRY = DebugRequest(stop_at_entry=True, breakpoints=(BreakpointRequest(step="after"), BreakpointRequest(step="tidy")))


class Told:
    """What a person was told."""

    def __init__(self) -> None:
        self._paper = StringIO()
        self.screen = Screen(Paper(file=self._paper, highlight=False, markup=False))

    @property
    def lines(self) -> list[str]:
        return [line.partition("  ")[0] for line in self._paper.getvalue().splitlines()]

    @asynccontextmanager
    async def by(self, desk: Desk, run: ActiveRun, **known: Any) -> AsyncIterator[Console]:
        async with (
            asyncio.timeout(PATIENCE_SECONDS),
            Console(desk.opened, run, self.screen, **known) as console,
        ):
            yield console


async def test_a_stop_is_told_after_what_led_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk, told = Desk(tmp_path), Told()
    for fifo in ("first", "second"):
        os.mkfifo(desk.folder / fifo)

    async def fail() -> None:
        await asyncio.to_thread((desk.folder / "first").write_text, "begun")
        await wait_for(run, "frame.ended")
        await asyncio.to_thread((desk.folder / "second").write_text, "wrong")
        await next_stop(desk.opened, run)

    async with desk.start(desk.write(FLOW), debug=DebugRequest()) as run:
        tell_events_late(run, fail, monkeypatch)
        async with told.by(desk, run, told=run.carried_over) as console:
            await console.wait_settled()
            await console.end("seen")

    assert told.lines.index("first │ begun") < told.lines.index("✔ first") < told.lines.index("lint │ linted")
    assert told.lines.index("tests │ wrong") < told.lines.index("✘ checks.tests") < told.lines.index("● stop 1")


async def test_a_command_is_carried_out_when_all_was_told_that_had_happened_by_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, told = Desk(tmp_path), Told()

    async with desk.start(desk.write(BRANCHES), debug=BOTH) as run:
        tell_events_late(run, lambda: next_stop(desk.opened, run, after=1), monkeypatch)
        async with told.by(desk, run, told=run.carried_over) as console:
            await run_script(console, [ScriptLine("frames", "-c 1"), ScriptLine("q", "-c 2")])

    order = ("● stop 1", "● stop 2", "(checks.lint) frames", "(checks.tests) frames")
    assert [line for line in told.lines if line in order][:2] == ["● stop 1", "● stop 2"]


async def test_a_refused_command_leaves_a_run_of_another_process_paused(tmp_path: Path) -> None:
    desk, told = Desk(tmp_path), Told()

    async with desk.start(desk.write(BRANCHES), debug=BOTH) as run:
        stop = await next_stop(desk.opened, run)
        async with told.by(desk, run, elsewhere="") as console:
            script = [ScriptLine("b nowhere", "-c 1"), ScriptLine("c", "-c 2")]
            assert not await run_script(console, script, is_joined=True)
            assert console.has_left
            assert stop.id in [each.id for each in console.state.stops]
            await console.end("seen")

    assert "-c 1: b nowhere: the command failed" in told.lines


@pytest.mark.parametrize("told_before", [True, False])
async def test_of_a_run_that_begins_here_all_is_told(tmp_path: Path, told_before: bool) -> None:
    desk, told = Desk(tmp_path), Told()
    flow = desk.write("steps: [{id: first, run: echo begun}, {id: second, run: exit 3}]\n")

    async with desk.start(flow, debug=DebugRequest()) as run:
        stop = await next_stop(desk.opened, run)
        async with told.by(desk, run, told=stop.after_event if told_before else run.carried_over) as console:
            await console.wait_settled()
            await console.end("seen")

    assert ("✔ first" in told.lines) is not told_before
    assert "● stop 1" in told.lines


@pytest.mark.parametrize("chosen", ["checks.tests", "checks.lint"])
async def test_a_frame_that_is_selected_while_a_stop_is_looked_into_stays_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str
) -> None:
    desk, told = Desk(tmp_path), Told()

    async with desk.start(desk.write(BRANCHES), debug=BOTH) as run:
        await next_stop(desk.opened, run, after=1)
        async with told.by(desk, run) as console:
            await console.wait_settled()
            stops = {stop.frame: stop.id for stop in console.state.stops}
            await carry_out(console, "frame checks.lint")
            debugging = desk.opened.debugging
            say = debugging.say

            async def select(caller: Caller, name: str, request: Request[Any]) -> Any:
                if isinstance(request, verbs.Diff):
                    monkeypatch.undo()
                    await carry_out(console, f"frame {chosen}")
                return await say(caller, name, request)

            monkeypatch.setattr(debugging, "say", select)
            await carry_out(console, "c")
            await console.wait_settled()

            assert console.stop is not None
            assert (console.stop.frame, console.frame) == (chosen, chosen)
            assert console.stop.id == (3 if chosen == "checks.lint" else stops[chosen])
            assert told.lines.count("● stop 3") == 1
            await console.end("seen")


async def test_an_answer_that_is_late_does_not_take_back_a_later_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, told = Desk(tmp_path), Told()
    os.mkfifo(desk.folder / "fifo")

    async with desk.start(desk.write(WAITING), debug=ENTRY) as run, told.by(desk, run) as console:
        await console.wait_settled()
        debugging = desk.opened.debugging
        say = debugging.say

        async def late(caller: Caller, name: str, request: Request[Any]) -> Any:
            if not isinstance(request, verbs.State):
                return await say(caller, name, request)
            monkeypatch.undo()
            answer = await say(caller, name, request)
            await asyncio.to_thread((desk.folder / "fifo").write_text, "go on\n")
            await next_stop(desk.opened, run, after=1)
            await turns_of_others()
            return answer

        monkeypatch.setattr(debugging, "say", late)
        await carry_out(console, "c")
        await console.wait_settled()

        assert console.stop is not None
        assert console.stop.id == 2
        await console.end("seen")


async def test_who_quits_lets_nothing_go_on_that_stops_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, told = Desk(tmp_path), Told()
    os.mkfifo(desk.folder / "fifo")

    async with desk.start(desk.write(WAITING), debug=ENTRY) as run:
        async with told.by(desk, run) as console:
            await console.wait_settled()
            await carry_out(console, "c")
            runs = desk.opened.runs
            cancel = runs.cancel

            async def late(caller: Caller, name: str, reason: str) -> None:
                await asyncio.to_thread((desk.folder / "fifo").write_text, "go on\n")
                await next_stop(desk.opened, run, after=1)
                await turns_of_others()
                await cancel(caller, name, reason)

            monkeypatch.setattr(runs, "cancel", late)
            await carry_out(console, "q")
        assert (await run.wait()).status == "cancelled"
        begun = [event.fields["step"] async for event in run.events() if event.kind == "step.started"]

    assert begun == ["slow", "tidy"]


async def test_a_line_that_is_entered_as_the_run_ends_is_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, told = Desk(tmp_path), Told()
    leave_at_exit: list[Callable[[], None]] = []
    exit_ = Application.exit

    def exit_late(application: Application[Any], **how: Any) -> None:
        while leave_at_exit:
            leave_at_exit.pop()()
        exit_(application, **how)

    monkeypatch.setattr(Application, "exit", exit_late)
    async with desk.start(desk.write(WAITING), debug=ENTRY) as run:
        with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
            async with told.by(desk, run) as console:
                await console.wait_settled()
                leave_at_exit.append(console.leave)
                keys.send_text("frames\r")
                await Prompt(console, tmp_path / "history").converse()

    assert told.lines[-1] == "→"


def test_what_a_step_writes_is_held_until_its_start_is_told_each_time() -> None:
    shown: list[bytes] = []
    early = EarlyOutput(lambda output: shown.append(output.data))

    for word in (b"one", b"two"):
        early.hear(Output("step", "stdout", 0.0, word))
        assert word not in shown
        early.follow(EventInfo(1, "step.started", 0.0, {"occurrence": "step"}))
        assert shown[-1] == word
        early.follow(EventInfo(2, "step.finished", 0.0, {"occurrence": "step"}))


def tell_events_late(run: ActiveRun, happen: Callable[[], Awaitable[object]], patch: pytest.MonkeyPatch) -> None:
    """Whoever follows the run from now on hears nothing before this has happened; then the one, then the other."""
    events = run.events

    async def late(after: int = 0) -> AsyncIterator[EventInfo]:
        patch.undo()
        await happen()
        async for event in events(after):
            await turns_of_others()
            yield event

    patch.setattr(run, "events", late)


async def turns_of_others() -> None:
    """Enough of them for whoever waits for nothing else to come to its end."""
    for _ in range(100):
        await asyncio.sleep(0)
