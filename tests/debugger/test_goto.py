"""Going to another step of the same sequence: back to it, or ahead, past what lies between."""

import pytest

from pitstop.debugger.session import Session
from pitstop.errors import ExternalEffects, NotAllowed, StaleStop, UnknownStep
from pitstop.events.log import MemoryLog, events_from_json, events_to_json
from pitstop.events.outcome import Status
from pitstop.events.types import OutcomeForced, Resumed
from tests.debugger.bench import at, debugging, graph
from tests.engine.flows import background, fails, flow, give, leaf, parallel, repeat, sequence

FIVE = flow(leaf("a"), leaf("b"), leaf("c"), leaf("d"), leaf("e"))


def breaking(*steps: str) -> Session:
    session = Session(stop_on_error=False)
    for step in steps:
        session.add_breakpoint(step)
    return session


async def test_ahead_the_steps_between_are_skipped_and_it_stops_before_the_target() -> None:
    async with debugging(FIVE, {}, breaking("b")) as run:
        await run.session.goto(await run.stop(), "d")
        stop = await run.stop()
        assert (at(stop), stop.reasons) == ("before d", ("step",))
        assert {name: known["status"] for name, known in stop.scope["steps"].items()} == {
            "a": "passed",
            "b": "skipped",
            "c": "skipped",
        }
        await run.session.continue_(stop)
        result = await run.end()

    assert run.does.ran == ["a", "d", "e"]
    assert [(event.occurrence, event.verb) for event in run.told(OutcomeForced)] == [("b", "goto"), ("c", "goto")]
    assert len(result.intervened) == 2


async def test_ahead_from_the_end_of_a_step_its_own_outcome_stays() -> None:
    session = Session(stop_on_error=False)
    session.add_breakpoint("b", "after")
    async with debugging(FIVE, {}, session) as run:
        await session.goto(await run.stop(), "e")
        stop = await run.stop()
        assert (at(stop), stop.scope["steps"]["b"]["status"]) == ("before e", "passed")


async def test_ahead_of_a_failure_the_sequence_goes_on() -> None:
    plan = flow(leaf("a", fails()), leaf("b"), leaf("c"))
    async with debugging(plan, {}, Session()) as run:
        await run.session.goto(await run.stop(), "c")
        stop = await run.stop()
        assert (at(stop), stop.scope["steps"]["a"]["status"]) == ("before c", "skipped")
        await run.session.continue_(stop)
        assert (await run.end()).status is Status.PASSED


async def test_back_it_runs_again_from_there() -> None:
    async with debugging(FIVE, {}, breaking("d")) as run:
        await run.session.goto(await run.stop(), "b")
        stop = await run.stop()
        assert (at(stop), list(stop.scope["steps"])) == ("before b", ["a"])
        await run.session.continue_(stop)
        assert at(await run.stop()) == "before d"

    assert run.does.ran == ["a", "b", "c", "b", "c"]


async def test_back_to_a_step_that_was_passed_by() -> None:
    plan = flow(leaf("a"), leaf("b", condition=".go"), leaf("c"))
    async with debugging(plan, {"go": False}, breaking("c")) as run:
        await run.session.goto(await run.stop(), "b")
        stop = await run.stop()
        assert (at(stop), stop.will_run) == ("before b", False)
        await run.session.set(stop, ".go", True)
        await run.session.continue_(stop)
        await run.stop()

    assert run.does.ran == ["a", "b"]


async def test_what_was_passed_by_can_be_gone_back_to() -> None:
    async with debugging(FIVE, {}, breaking("b")) as run:
        await run.session.goto(await run.stop(), "d")
        await run.session.goto(await run.stop(), "c")
        stop = await run.stop()
        assert (at(stop), stop.scope["steps"]["b"]["status"]) == ("before c", "skipped")
        await run.session.continue_(stop)
        await run.end()

    assert run.does.ran == ["a", "c", "d", "e"]


async def test_from_the_end_of_a_step_to_before_it() -> None:
    session = Session(stop_on_error=False)
    session.add_breakpoint("b", "after", once=True)
    async with debugging(FIVE, {}, session) as run:
        await session.goto(await run.stop(), "b")
        assert at(await run.stop()) == "before b"


async def test_in_a_turn_of_a_loop_it_is_the_step_of_that_turn() -> None:
    plan = flow(repeat("r", leaf("x"), leaf("y"), leaf("z"), config={"times": 2}))
    session = Session(stop_on_error=False)
    session.add_breakpoint("x", hits="== 2")
    async with debugging(plan, {}, session) as run:
        stop = await run.stop()
        assert at(stop) == "before r[1].x"
        await session.goto(stop, "z")
        assert at(await run.stop()) == "before r[1].z"

    assert run.does.ran == ["r[0].x", "r[0].y", "r[0].z"]


async def test_effects_outside_are_asked_about() -> None:
    plan = flow(leaf("a"), leaf("b", effects="external"), leaf("c"))
    async with debugging(plan, {}, breaking("c")) as run:
        stop = await run.stop()
        with pytest.raises(ExternalEffects):
            await run.session.goto(stop, "a")
        await run.session.goto(stop, "a", external=True)
        assert at(await run.stop()) == "before a"


NESTED = flow(
    leaf("a"),
    sequence("s", leaf("x"), leaf("y")),
    parallel("p", leaf("v"), leaf("w")),
    background("g", leaf("k"), leaf("m")),
)


@pytest.mark.parametrize(("here", "there"), [("a", "x"), ("x", "a"), ("v", "w"), ("m", "background"), ("a", "a")])
async def test_what_is_not_in_the_same_sequence_cannot_be_gone_to(here: str, there: str) -> None:
    plan = NESTED if there != "background" else flow(background("g", leaf("background"), leaf("m")))
    async with debugging(plan, {}, breaking(here)) as run:
        stop = await run.stop()
        before = len(run.log)
        with pytest.raises(NotAllowed, match="goto is not possible"):
            await run.session.goto(stop, there)
        assert not [event for event in run.log.read(before) if isinstance(event, Resumed) and event.stop == stop.id]
        assert not stop.is_over


async def test_a_graph_has_no_sequence() -> None:
    async with debugging(graph("a > b > c"), {}, breaking("a")) as run:
        with pytest.raises(NotAllowed):
            await run.session.goto(await run.stop(), "c")


async def test_what_is_not_there_at_all_is_told_apart() -> None:
    async with debugging(FIVE, {}, breaking("a")) as run:
        stop = await run.stop()
        with pytest.raises(UnknownStep):
            await run.session.goto(stop, "nowhere")
        await run.session.continue_(stop)
        await run.end()
    async with debugging(FIVE, {}, breaking("a", "b")) as run:
        stop = await run.stop()
        await run.on(stop)
        with pytest.raises(StaleStop):
            await run.session.goto(stop, "c")


@pytest.mark.parametrize("keep", [1, 2, 3])
async def test_killed_on_the_way_ahead_it_stops_there_all_the_same(keep: int) -> None:
    async with debugging(FIVE, {}, breaking("b")) as run:
        await run.session.goto(await run.stop(), "d")
        await run.stop()
        events = run.log.read()
        first = next(number for number, event in enumerate(events) if isinstance(event, OutcomeForced))
        log = MemoryLog(events_from_json(events_to_json(events[: first + keep])))
    async with debugging(FIVE, {}, Session(), log=log) as run:
        stop = await run.stop()
        assert at(stop) == {1: "before c", 2: "before d", 3: "before d"}[keep]
        assert run.does.ran == []


async def test_edits_made_before_going_ahead_stay() -> None:
    plan = flow(leaf("a"), leaf("b"), give("c", "${{ .vars.n }}"))
    async with debugging(plan, {"vars": {"n": 1}}, breaking("a")) as run:
        stop = await run.stop()
        await run.session.set(stop, ".vars.n", 2)
        await run.session.goto(stop, "c")
        await run.session.continue_(await run.stop())
        assert (await run.end()).state["steps"]["c"]["outputs"] == 2
