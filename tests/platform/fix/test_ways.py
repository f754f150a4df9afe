"""The five ways to continue where a fix loop gave up, each chosen at the stop."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pitstop.errors import NotAllowed
from pitstop.service.debugging import Debugger, StopInfo, verbs
from pitstop.service.runs import ActiveRun
from tests.platform.fix.loops import Loop

HOPELESS = {"fix": 'echo "guess $PITSTOP_FIX_ITERATION" >> notes.txt'}


@asynccontextmanager
async def given_up(loop: Loop, iterations: int = 1) -> AsyncIterator[tuple[ActiveRun, Debugger, StopInfo]]:
    """A loop at its first escalation; when the test has chosen, the run goes to its end."""
    async with loop.start(loop.flow(iterations=iterations, early_stop=False), debug=True) as run:
        yield run, loop.debugger(run), await loop.escalation(run)
        await loop.end_of(run)


async def test_take_over_lets_the_user_repair_it_and_continue_runs_the_tests(tmp_path: Path) -> None:
    loop = Loop(tmp_path, ["a"], HOPELESS)

    async with given_up(loop) as (run, debugger, stop):
        await debugger.say(verbs.Decide(stop.id, "take_over"))
        assert [each.id for each in (await debugger.say(verbs.State())).stops] == [stop.id]  # still there
        (loop.folder / "code.txt").write_text("ok_a\n")
        await debugger.say(verbs.Continue(stop.id))

    summary = await run.wait()
    assert (summary.status, summary.intervened) == ("passed", True)
    assert loop.ended["outcome"] == "taken_over"
    assert "tests[1].test#2 passed" in loop.finished()
    assert 'status: "resolved"' in (loop.folder / loop.ended["reports"][0]).read_text()


async def test_what_a_user_repaired_is_the_last_commit_of_the_loop(tmp_path: Path) -> None:
    loop = Loop(tmp_path, ["a"], HOPELESS)
    loop.commit()

    async with given_up(loop) as (run, debugger, stop):
        await debugger.say(verbs.Decide(stop.id, "take_over"))
        (loop.folder / "code.txt").write_text("ok_a\n")
        await debugger.say(verbs.Continue(stop.id))

    assert loop.git("rev-parse", f"fix/{run.id}") == loop.ended["commit"]


async def test_a_repair_that_does_not_help_brings_the_user_back_with_it(tmp_path: Path) -> None:
    loop = Loop(tmp_path, ["a"], HOPELESS)

    async with given_up(loop) as (run, debugger, stop):
        await debugger.say(verbs.Decide(stop.id, "take_over"))
        (loop.folder / "code.txt").write_text("ok_a\nb\n")
        await debugger.say(verbs.Continue(stop.id))
        again = await loop.escalation(run, after=stop.id)
        assert loop.code == ["ok_a", "b"]
        assert "the tests still fail after the repair" in str(again.outcome and again.outcome.error)
        await debugger.say(verbs.Decide(again.id, "stop"))

    assert loop.ended["outcome"] == "escalated"


async def test_guidance_opens_a_round_and_stands_first_in_the_prompts(tmp_path: Path) -> None:
    guidance = 'It\'s the "first" line;\nlook there: $(rm -rf /) ${{ .secrets }} ``` {code}'
    loop = Loop(tmp_path, ["a"], {"fix-1": "echo guess >> notes.txt"})

    async with given_up(loop) as (_, debugger, stop):
        await debugger.say(verbs.Decide(stop.id, "guide", guidance))

    assert loop.ended["outcome"] == "fixed"
    assert [(data["n"], data["round"]) for data in loop.notes("iteration_started")] == [(1, 1), (2, 2)]
    for role in ("diagnose", "fix"):
        prompt = loop.prompt(f"{role}-2-1")
        assert guidance in prompt
        assert prompt.index(guidance) < prompt.index("## The failure")


async def test_there_are_at_most_three_rounds(tmp_path: Path) -> None:
    loop = Loop(tmp_path, ["a"], HOPELESS)

    async with given_up(loop) as (run, debugger, stop):
        for _ in range(3):
            await debugger.say(verbs.Decide(stop.id, "guide", "try again"))
            stop = await loop.escalation(run, after=stop.id)
        assert "no further round: all 3 are used" in str(stop.outcome and stop.outcome.error)
        await debugger.say(verbs.Decide(stop.id, "stop"))

    assert loop.ended["iterations"] == 3
    assert loop.ended["rounds"] == 3


@pytest.mark.parametrize(("to", "code"), [("1", ["ok_a", "b", "c"]), ("base", ["a", "b", "c"]), ("", ["a", "b", "c"])])
async def test_roll_back_puts_the_files_of_an_iteration_back(tmp_path: Path, to: str, code: list[str]) -> None:
    loop = Loop(tmp_path, ["a", "b", "c"])
    (loop.folder / "all").touch()

    async with given_up(loop, iterations=2) as (run, debugger, stop):
        assert loop.code == ["ok_a", "ok_b", "c"]
        await debugger.say(verbs.Decide(stop.id, "roll_back", to))
        again = await loop.escalation(run, after=stop.id)
        assert loop.code == code
        assert len(list((loop.folder / "debug/tests_failures").iterdir())) == 2  # the reports stay
        await debugger.say(verbs.Decide(again.id, "stop"))


async def test_rolling_back_to_an_iteration_that_does_not_exist_is_answered_at_the_next_stop(tmp_path: Path) -> None:
    loop = Loop(tmp_path, ["a"], HOPELESS)

    async with given_up(loop) as (run, debugger, stop):
        await debugger.say(verbs.Decide(stop.id, "roll_back", "7"))
        again = await loop.escalation(run, after=stop.id)
        assert "there are no files of iteration 7" in str(again.outcome and again.outcome.error)
        await debugger.say(verbs.Decide(again.id, "stop"))


async def test_skip_passes_the_step_as_a_known_issue(tmp_path: Path) -> None:
    loop = Loop(tmp_path, ["a"], HOPELESS)

    async with given_up(loop) as (run, debugger, stop):
        await debugger.say(verbs.Decide(stop.id, "skip", "upstream, see #12"))

    assert (await run.wait()).status == "passed"
    (outcome,) = [
        event.fields["outcome"]
        for event in loop.events
        if event.kind == "step.finished" and event.fields["occurrence"] == "tests"
    ]
    assert outcome["outputs"]["fix"]["known_issue"]["why"] == "upstream, see #12"
    assert "after passed" in loop.finished()


@pytest.mark.parametrize("verb", ["decide", "continue"])
async def test_stop_ends_the_loop_and_the_step_fails(tmp_path: Path, verb: str) -> None:
    loop = Loop(tmp_path, ["a"], HOPELESS)

    async with given_up(loop) as (run, debugger, stop):
        await debugger.say(verbs.Decide(stop.id, "stop") if verb == "decide" else verbs.Continue(stop.id))

    summary = await run.wait()
    assert summary.status == "failed"
    assert summary.error is not None
    assert summary.error.startswith("Escalated: ")
    assert [(each.step, each.occurrence) for each in summary.failures] == [("tests.test", "tests[1].test")]
    assert len([event for event in loop.events if event.kind == "debug.stopped"]) == 1
    assert "after passed" not in loop.finished()


async def test_only_a_loop_that_gave_up_can_be_decided_about(tmp_path: Path) -> None:
    loop = Loop(tmp_path, ["a"], HOPELESS)

    async with given_up(loop) as (_, debugger, stop):
        with pytest.raises(NotAllowed):
            await debugger.say(verbs.Retry(stop.id))
        await debugger.say(verbs.Decide(stop.id, "stop"))
    with pytest.raises(ValueError, match="needs a `text`"):
        verbs.Decide(1, "guide", "  ")
    with pytest.raises(ValueError, match="number of an iteration"):
        verbs.Decide(1, "roll_back", "one")


async def test_stepping_back_from_the_escalation_runs_the_iteration_again(tmp_path: Path) -> None:
    second = tmp_path / "second"
    loop = Loop(tmp_path, ["a"], {"fix-1-1": f"test -e {second} && repair a || touch {second} notes.txt"})
    loop.commit()

    async with loop.start(loop.flow(iterations=1), debug=True, commit="HEAD") as run:
        stop = await loop.escalation(run)
        debugger = loop.debugger(run)
        points = await debugger.say(verbs.History())
        point = next(each for each in points if each.occurrence == "tests[1].fix" and each.position == "before")
        await debugger.say(verbs.Rewind(stop.id, point.number))
        async for event in run.events():
            if event.kind == "debug.stopped" and event.fields["stop"] > stop.id:
                assert event.fields["occurrence"] == "tests[1].fix"
                await debugger.say(verbs.Continue(event.fields["stop"]))
                break
        await loop.end_of(run)

    assert loop.ended["outcome"] == "fixed"
    assert (await run.wait()).intervened
