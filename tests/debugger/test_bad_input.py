"""Every command in every wrong state, and values that no JSON can say: a named error, and nothing is changed."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pitstop.debugger.session import Session
from pitstop.debugger.stops import Stop
from pitstop.errors import (
    BadExpression,
    CommandRefused,
    NotAllowed,
    NotRunning,
    PitstopError,
    StaleStop,
    UnknownFrame,
    UnknownStep,
)
from pitstop.events.outcome import Status
from tests.debugger.bench import Debugged, State, at, debugging, graph
from tests.engine.flows import flow, leaf, parallel

Command = Callable[[Session, Stop | int], Awaitable[object]]

AT_A_STOP: dict[str, Command] = {
    "continue": lambda session, stop: session.continue_(stop),
    "step_into": lambda session, stop: session.step_into(stop),
    "step_over": lambda session, stop: session.step_over(stop),
    "step_out": lambda session, stop: session.step_out(stop),
    "run_to": lambda session, stop: session.run_to(stop, "a"),
    "step_back": lambda session, stop: session.step_back(stop),
    "rewind": lambda session, stop: session.rewind(stop, 3),
    "restart": lambda session, stop: session.restart_frame(stop),
    "skip": lambda session, stop: session.skip(stop),
    "force": lambda session, stop: session.force(stop, "passed"),
    "retry": lambda session, stop: session.retry(stop),
    "inject": lambda session, stop: session.inject(stop, lambda state: None),
    "set": lambda session, stop: session.set(stop, ".n", 1),
    "unset": lambda session, stop: session.unset(stop, ".n"),
    "undo": lambda session, stop: session.undo(stop),
    "config": lambda session, stop: session.override_config(stop, {"a": 1}),
    "evaluate": lambda session, stop: session.evaluate(stop, ".n"),
    "evaluate_all": lambda session, stop: session.evaluate_all(stop, ".n"),
    "preview": lambda session, stop: session.config(stop),
}
AT_ANY_TIME: dict[str, Callable[[Session], Awaitable[object]]] = {
    "pause": lambda session: session.pause(),
    "pause a frame": lambda session: session.pause("main"),
    "continue_all": lambda session: session.continue_all(),
    "detach": lambda session: session.detach(),
    "abort": lambda session: session.abort(),
    "extend": lambda session: session.extend(60),
}


def breaking(*steps: str, **options: Any) -> Session:
    session = Session(**{"stop_on_error": False, **options})
    for step in steps:
        session.add_breakpoint(step)
    return session


def state_of(run: Debugged) -> Any:
    """All that a command could have changed."""
    session = run.session
    return (
        len(run.log),
        [(stop.id, stop.scope.as_dict()) for stop in session.stops],
        run.frame_states,
        [each.as_dict() for each in session.breakpoints],
        session.interventions[:],
        session.watches,
    )


# --- Commands in wrong states ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", AT_A_STOP)
async def test_without_a_run_a_command_is_refused(command: str) -> None:
    session = Session()
    with pytest.raises(NotRunning):
        await AT_A_STOP[command](session, 1)
    with pytest.raises(NotRunning):
        session.variables(1)
    assert len(session.log) == 0


@pytest.mark.parametrize("command", AT_ANY_TIME)
async def test_without_a_run_there_is_nothing_to_steer(command: str) -> None:
    session = Session()
    with pytest.raises(NotRunning):
        await AT_ANY_TIME[command](session)
    assert (len(session.log), session.frames, session.stops) == (0, [], [])


async def test_without_a_run_there_is_no_past() -> None:
    session = Session()
    assert session.history() == []
    with pytest.raises(CommandRefused):
        await session.scope_at(1)
    assert session.export()["events"] == []


@pytest.mark.parametrize("command", AT_A_STOP)
async def test_when_the_run_has_ended_a_command_is_refused(command: str) -> None:
    async with debugging(graph("a > b"), {"n": 1}, breaking("a")) as run:
        stop = await run.stop()
        await run.session.continue_(stop)
        await run.end()
        before = state_of(run)
        with pytest.raises(NotRunning):
            await AT_A_STOP[command](run.session, stop)
        assert state_of(run) == before


@pytest.mark.parametrize("command", AT_ANY_TIME)
async def test_when_the_run_has_ended_there_is_nothing_to_steer(command: str) -> None:
    async with debugging(graph("a > b"), {"n": 1}, Session()) as run:
        await run.end()
        before = state_of(run)
        with pytest.raises(NotRunning):
            await AT_ANY_TIME[command](run.session)
        assert state_of(run) == before


@pytest.mark.parametrize("command", AT_A_STOP)
@pytest.mark.parametrize("number", [1, 0, -1, 10**9])
async def test_a_command_for_a_stop_that_is_over_or_never_was_is_refused(command: str, number: int) -> None:
    async with debugging(graph("a > b > c"), {"n": 1}, breaking("a", "b")) as run:
        await run.on(await run.stop())
        before = state_of(run)
        with pytest.raises(StaleStop) as told:
            await AT_A_STOP[command](run.session, number)
        assert told.value.stop == number
        assert state_of(run) == before


@pytest.mark.parametrize("command", AT_A_STOP)
async def test_after_detach_a_stop_is_over(command: str) -> None:
    gate = asyncio.Event()

    async def wait(state: State) -> None:
        await gate.wait()

    async with debugging(graph("a > b", b=wait), {"n": 1}, breaking("a")) as run:
        stop = await run.stop()
        await run.session.detach()
        before = state_of(run)
        with pytest.raises(StaleStop):
            await AT_A_STOP[command](run.session, stop)
        assert state_of(run) == before
        gate.set()
        await run.end()


async def test_after_detach_a_run_can_be_aborted_and_nothing_can_be_paused() -> None:
    started = asyncio.Event()

    async def wait(state: State) -> None:
        started.set()
        await asyncio.get_running_loop().create_future()

    async with debugging(graph("a > b", b=wait), {}, breaking("a")) as run:
        await run.stop()
        await run.session.detach()
        await started.wait()
        before = state_of(run)
        with pytest.raises(CommandRefused):
            await run.session.pause()
        assert state_of(run) == before
        await run.session.abort()
        assert (await run.end()).status is Status.CANCELLED


@pytest.mark.parametrize(
    ("place", "refused"),
    [
        ("before", {"retry", "step_back", "undo"}),
        ("after", {"skip", "undo", "inject"}),
        ("error", {"skip", "undo", "inject"}),
        (
            "completed",
            set(AT_A_STOP) - {"continue", "step_back", "rewind", "restart", "evaluate", "evaluate_all", "preview"},
        ),
    ],
)
async def test_a_command_at_the_wrong_position_is_refused(place: str, refused: set[str]) -> None:
    def fail(state: State) -> None:
        raise ValueError("no")

    for command in sorted(refused):
        session = Session(stop_on_error=False, stop_at_end=place == "completed")
        if place != "completed":
            session.add_breakpoint("a", place)  # type: ignore[arg-type]
        app = graph("a", a=fail) if place == "error" else graph("a")
        async with debugging(app, {"n": 1}, session) as run:
            stop = await run.stop()
            before = state_of(run)
            with pytest.raises(CommandRefused):
                await AT_A_STOP[command](session, stop)
            assert state_of(run) == before, command
            if command not in ("undo", "inject"):
                with pytest.raises(NotAllowed):
                    await AT_A_STOP[command](session, stop)


WRONG: dict[str, tuple[type[PitstopError], Command]] = {
    "a frame that is not there": (UnknownFrame, lambda session, stop: session.pause("nobody")),
    "a step that is not there": (UnknownStep, lambda session, stop: session.run_to(stop, "bb")),
    "an expression that is none": (BadExpression, lambda session, stop: session.evaluate(stop, ".n +")),
    "an expression with several values": (BadExpression, lambda session, stop: session.evaluate(stop, ".n, .n")),
    "an expression with no value": (BadExpression, lambda session, stop: session.evaluate(stop, "empty")),
    "an expression that is empty": (BadExpression, lambda session, stop: session.evaluate(stop, "")),
    "an expression that never ends": (BadExpression, lambda session, stop: session.evaluate(stop, "[repeat(1)]")),
    "a config that is none": (CommandRefused, lambda session, stop: session.override_config(stop, 5)),  # type: ignore[arg-type]
    "a lease that ends at once": (CommandRefused, lambda session, stop: session.extend(-1)),
    "a lease of no length": (CommandRefused, lambda session, stop: session.extend(float("nan"))),
    "outputs that are none": (CommandRefused, lambda session, stop: session.skip(stop, [1])),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("what", WRONG)
async def test_what_makes_no_sense_is_refused_by_name_and_changes_nothing(what: str) -> None:
    error, command = WRONG[what]
    async with debugging(graph("a > b"), {"n": 1}, breaking("a")) as run:
        stop = await run.stop()
        before = state_of(run)
        with pytest.raises(error):
            await command(run.session, stop)
        assert state_of(run) == before
        await run.session.continue_(stop)
        assert (await run.end()).status is Status.PASSED


async def test_a_step_that_is_not_there_is_told_with_the_nearest_that_is() -> None:
    async with debugging(graph("analyze > review"), {}, breaking("analyze")) as run:
        stop = await run.stop()
        with pytest.raises(UnknownStep, match="did you mean 'review'"):
            await run.session.run_to(stop, "revew")


async def test_a_name_that_two_steps_share_is_run_to_whichever_comes_first() -> None:
    app = graph("g > h > z", g=graph("a > x"), h=graph("b > x"))
    async with debugging(app, {}, breaking("h.b")) as run:
        assert at(await run.to(await run.stop(), "x")) == "before h.x"


@pytest.mark.parametrize("policy", ["explode", "", None])
def test_a_policy_that_is_none_is_refused(policy: Any) -> None:
    with pytest.raises((PitstopError, ValueError)):
        Session(on_lease_end=policy)


async def test_a_condition_that_is_a_coroutine_function_is_refused_or_awaited() -> None:
    async def never(scope: State) -> bool:
        return False

    session = Session(stop_on_error=False)
    try:
        session.add_breakpoint("a", condition=never)
    except PitstopError:
        return
    async with debugging(graph("a"), {}, session) as run:
        await run.end()


async def test_watches_that_fail_leave_the_others_alone() -> None:
    session = breaking("a")
    for expression in (".n + 1", ".n +", ".missing", "[repeat(1)]"):
        session.watch(expression)
    session.watch(".n + 1")
    session.watch(".gone")
    session.unwatch(".gone")
    async with debugging(graph("a"), {"n": 1}, session) as run:
        values = await session.watch_values(await run.stop())

    assert list(values) == [".n + 1", ".n +", ".missing", "[repeat(1)]"]
    assert (values[".n + 1"], values[".missing"]) == (2, None)
    assert isinstance(values[".n +"], BadExpression)
    assert isinstance(values["[repeat(1)]"], BadExpression)


# --- Values that are hard to look at ---------------------------------------------------------------------------------


class Unfriendly:
    """Cannot be copied, compared, hashed or shown."""

    def __copy__(self) -> None:
        raise TypeError("no copies")

    def __deepcopy__(self, memo: object) -> None:
        raise TypeError("no copies")

    def __eq__(self, other: object) -> bool:
        raise TypeError("no comparing")

    def __hash__(self) -> int:
        raise TypeError("no hashing")

    def __repr__(self) -> str:
        raise TypeError("no showing")

    def __bool__(self) -> bool:
        raise TypeError("neither true nor false")


def cyclic() -> Any:
    values: dict[str, Any] = {"name": "loop"}
    values["self"] = values
    values["list"] = [values]
    return values


def deep() -> Any:
    nested: Any = "bottom"
    for _ in range(5000):
        nested = [nested]
    return nested


ODD: dict[str, Callable[[], Any]] = {
    "a cycle": cyclic,
    "deep nesting": deep,
    "not a number": lambda: float("nan"),
    "bytes": lambda: b"\x00\xff" * 1000,
    "a lock": threading.Lock,
    "an object that answers nothing": Unfriendly,
    "a function": lambda: print,
    "a set": lambda: {1, "a", (2, 3)},
    "keys that are no text": lambda: {1: "a", (2, 3): "b", None: "c"},
    "a huge number": lambda: 10**5000,
    "half a surrogate pair": lambda: "\ud800",
    "an exception": lambda: ValueError("x"),
}


@pytest.mark.parametrize("what", ODD)
async def test_whatever_is_in_the_state_a_stop_can_be_looked_at_and_left(what: str) -> None:
    value = ODD[what]()
    session = breaking("b", "c", stop_at_end=True)
    async with debugging(graph("a > b > c", a=lambda state: {"odd": value}), {"n": 1}, session) as run:
        stop = await run.stop()

        assert await session.evaluate(stop, ".n + 1") == 2
        await session.evaluate(stop, ".odd")
        await session.evaluate(stop, ".odd | type")
        await session.evaluate(stop, "[.. | scalars] | length")
        assert {each.name for each in session.variables(stop)} == {"n", "odd"}
        await session.config(stop)
        await session.set(stop, ".also", value)
        json.dumps(session.export(), allow_nan=False)
        stop = await run.on(stop)
        assert [change.path for change in session.diff(stop) if change.path in (".b", ".n")] == [".b"]
        assert (await session.scope_at(stop.after_event))["n"] == 1
        stop = await run.back(stop)
        assert stop.scope["odd"] is value
        await session.detach()
        assert (await run.end()).status is Status.PASSED


@pytest.mark.parametrize("what", ODD)
async def test_whatever_is_in_the_state_can_be_watched_and_asked_about(what: str) -> None:
    value = ODD[what]()
    session = Session()
    session.add_breakpoint("b", condition=".odd != 1")
    session.add_breakpoint(state=".odd")
    session.add_breakpoint(state=".n", equals=value)
    session.add_breakpoint("b", log="it is ${{ .odd }}")
    session.watch(".odd")
    async with debugging(graph("a > b > c", a=lambda state: {"odd": value}), {"n": 1}, session) as run:
        stop = await run.stop()
        assert (at(stop), stop.problems) == ("after a", ())
        stop = await run.on(stop)
        assert (at(stop), stop.problems) == ("before b", ())
        await session.watch_values(stop)
        await session.continue_(stop)
        assert (await run.end()).status is Status.PASSED


async def test_a_scope_of_fifty_megabytes_can_be_looked_at() -> None:
    big = ["x" * 1000] * 50_000
    session = breaking("b")
    async with debugging(graph("a > b", a=lambda state: {"big": big}), {"n": 1}, session) as run:
        stop = await run.stop()

        assert await session.evaluate(stop, ".n + 1") == 2
        assert await session.evaluate(stop, ".big[49999]") == big[0]
        assert len(session.variables(stop)) == 2
        try:
            assert await session.evaluate(stop, ".big | length") == 50_000
        except BadExpression as refused:
            assert "timed out" in str(refused) or "memory" in str(refused)
        assert await session.evaluate(stop, ".n + 2") == 3
        await session.set(stop, ".big[0]", "y")
        assert session.diff(stop, since=stop) == []
        await session.continue_(stop)
        assert (await run.end()).status is Status.PASSED


async def test_a_condition_on_fifty_megabytes_is_answered_or_stops_and_says_why() -> None:
    big = ["x" * 1000] * 50_000
    session = breaking()
    session.add_breakpoint("b", condition=".n == 1")
    session.add_breakpoint("b", condition="(.big | length) > 1")
    async with debugging(graph("a > b", a=lambda state: {"big": big}), {"n": 1}, session) as run:
        stop = await run.stop()

        assert (at(stop), stop.breakpoints) == ("before b", (1, 2))
        await session.continue_(stop)
        assert (await run.end()).status is Status.PASSED


async def test_odd_values_survive_a_join_and_an_edit_beside_them() -> None:
    odd = Unfriendly()
    app = graph("a > l + r > z", l=lambda state: {"left": odd}, r=lambda state: {"right": cyclic()})
    async with debugging(app, {}, breaking("l")) as run:
        stop = await run.stop()
        await run.session.set(stop, ".n", odd)
        await run.session.continue_(stop)
        result = await run.end()

    assert result.state["left"] is result.state["n"] is odd


async def test_a_node_that_returns_garbage_stops_as_a_failure() -> None:
    async with debugging(graph("a > b", a=lambda state: 42), {}, Session()) as run:
        stop = await run.stop()

        assert (at(stop), stop.reasons) == ("error a", ("failure",))
        assert stop.outcome is not None
        assert stop.outcome.error is not None
        assert stop.outcome.error.type == "BadUpdate"


async def test_a_node_that_cancels_itself_stops_as_a_failure() -> None:
    async def suicidal(state: State) -> None:
        raise asyncio.CancelledError

    async with debugging(graph("a > b", a=suicidal), {}, Session()) as run:
        stop = await run.stop()
        assert (at(stop), stop.reasons) == ("error a", ("failure",))
        await run.session.continue_(stop)
        assert (await run.end()).status is Status.FAILED


async def test_a_node_that_uses_its_own_debugger_is_answered() -> None:
    """It adds breakpoints, pauses and looks while it runs: nothing waits for itself."""
    session = Session()

    async def curious(state: State) -> State:
        session.add_breakpoint("b")
        await session.pause()
        assert session.stops == []
        return {"frames": [frame.state for frame in session.frames]}

    async with debugging(graph("a > b", a=curious), {}, session) as run:
        stop = await run.stop()
        assert (at(stop), stop.reasons, stop.scope["frames"]) == ("after a", ("pause",), ["pausing"])


async def test_a_step_type_that_raises_what_is_no_exception_ends_the_run_and_leaves_no_stop() -> None:
    class Odd(BaseException):
        pass

    def explode(activation: object) -> None:
        raise Odd

    plan = flow(parallel("p", leaf("x"), leaf("y", explode)))
    session = breaking("x")
    with pytest.raises(BaseExceptionGroup):
        async with debugging(plan, {}, session) as run:
            await run.stop()
            await run.end()
    assert session.stops == []
    assert session.is_ended
