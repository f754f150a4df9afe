import asyncio
from pathlib import Path

import pytest

from pitstop.errors import NotAsked
from pitstop.events.outcome import Status
from pitstop.steps.approvals import Approvals, Decision, Question
from tests.steps.bench import Bench, open_bench

# --- sleep and fail --------------------------------------------------------------------------------------------------


async def test_sleep_lets_time_pass_and_can_be_cut_short(bench: Bench) -> None:
    began = asyncio.get_running_loop().time()
    await bench.outputs("sleep", {"duration": "20ms"})
    assert asyncio.get_running_loop().time() - began >= 0.019

    assert (await bench.act("sleep", {"duration": "1h"}, timeout_seconds=0.05)).status is Status.TIMED_OUT


async def test_a_duration_that_is_none_is_explained(bench: Bench) -> None:
    assert 'sleep: duration is "soon": a duration must look like' in await bench.failure("sleep", {"duration": "soon"})


async def test_fail_fails_with_its_message(bench: Bench) -> None:
    error = await bench.failure("fail", {"message": "no ${{ .vars.what }}"}, values={"vars": {"what": "way"}})

    assert error == "FailedOnPurpose: no way"


# --- approve ---------------------------------------------------------------------------------------------------------


async def test_a_person_can_approve(tmp_path: Path, is_far: bool) -> None:
    asked: asyncio.Queue[Question] = asyncio.Queue()
    approvals = Approvals("say yes to {occurrence}", asked.put_nowait)
    async with open_bench(tmp_path, is_far=is_far, approvals=approvals) as bench, asyncio.TaskGroup() as group:
        running = group.create_task(bench.outputs("approve", {"prompt": "Deploy?"}))

        assert await asked.get() == Question("it", "Deploy?")
        assert len(approvals.open_questions) == 1
        assert bench.said == "waiting for approval: Deploy?\nsay yes to it\n"
        approvals.answer("it", Decision(True, by="ada", comment="fine"))

        assert await running == {"by": "ada", "comment": "fine"}
        assert not approvals.open_questions


async def test_a_person_can_refuse(tmp_path: Path, is_far: bool) -> None:
    approvals = Approvals("", lambda question: approvals.answer("it", Decision(False, "ada", "not today")))
    async with open_bench(tmp_path, is_far=is_far, approvals=approvals) as bench:
        error = await bench.failure("approve", {"prompt": "Deploy?"})

        assert error == "NotApproved: ada did not approve 'Deploy?': not today"


async def test_with_nobody_there_it_fails_at_once_and_says_how_to_approve(bench: Bench) -> None:
    error = await bench.failure("approve", {"prompt": "Deploy?"})

    assert error == "NobodyToApprove: no user can approve 'Deploy?' here: run the flow in a terminal to answer"


async def test_a_question_is_withdrawn_when_nobody_answers_in_time(tmp_path: Path, is_far: bool) -> None:
    approvals = Approvals("")
    async with open_bench(tmp_path, is_far=is_far, approvals=approvals) as bench:
        outcome = await bench.act("approve", {"prompt": "Deploy?"}, timeout_seconds=0.05)

        assert outcome.status is Status.TIMED_OUT
        assert approvals.open_questions == ()
        with pytest.raises(NotAsked):
            approvals.answer("it", Decision(True))


async def test_an_answer_to_a_question_that_was_just_withdrawn_is_refused() -> None:
    asked = asyncio.Event()
    approvals = Approvals("", lambda _question: asked.set())
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(approvals.ask("it", "Shall we?"))
        await asked.wait()
        asking.cancel()  # which it does not know yet
        with pytest.raises(NotAsked):
            approvals.answer("it", Decision(True))
