"""`python`, with the functions of `functions.py`."""

import json
import os
import socket
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest
import pytest_asyncio

from pitstop.events.outcome import Status
from pitstop.steps import python, python_call
from pitstop.steps.python import PythonConfig
from tests.steps.bench import Bench, open_bench

HERE = "tests.steps.functions"
FINDS_THEM = {"PYTHONPATH": str(Path(__file__).parents[2])}


@pytest_asyncio.fixture
async def bench(tmp_path: Path, is_far: bool) -> AsyncIterator[Bench]:
    async with open_bench(tmp_path, env=FINDS_THEM, is_far=is_far) as opened:
        yield opened


@pytest.mark.parametrize("function", ["add", "add_async", "Calculator.add"])
async def test_a_function_is_called_with_its_arguments(bench: Bench, function: str) -> None:
    assert await bench.outputs("python", {"call": f"{HERE}:{function}", "with": {"a": 1}}) == {"sum": 1}


def test_editors_accept_an_interpreter_as_text_and_as_a_list() -> None:
    interpreter = PythonConfig.model_json_schema()["properties"]["interpreter"]

    assert [kind["type"] for kind in interpreter["anyOf"]] == ["string", "array"]


async def test_returning_nothing_is_no_outputs(bench: Bench) -> None:
    assert await bench.outputs("python", {"call": f"{HERE}:return_nothing"}) == {}


async def test_what_is_no_json_becomes_some(bench: Bench) -> None:
    outputs = await bench.outputs("python", {"call": f"{HERE}:return_odd_values"})

    assert outputs["numbers"] == [1, 2]
    assert all(isinstance(outputs[name], str) for name in ("path", "loop"))


async def test_a_module_of_the_workspace_can_be_called(bench: Bench) -> None:
    (bench.repo / "tools_of_this_workspace.py").write_text("def go():\n    return {'from': __file__}\n")
    outputs = await bench.outputs("python", {"call": "tools_of_this_workspace:go"})

    assert outputs["from"] == str(bench.repo / "tools_of_this_workspace.py")


async def test_a_result_that_is_too_large_fails_the_step(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python, "ANSWER_BYTES", 8)

    told = await bench.failure("python", {"call": f"{HERE}:add", "with": {"a": 1}})

    assert told.endswith(":add returned too much (it has 23 bytes, but at most 8 are allowed): write it to a file")


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("no_such_module:go", "cannot be imported: there is no module 'no_such_module'"),
        (f"{HERE}:no_such_function", "has no attribute 'no_such_function'"),
        (f"{HERE}:NOT_A_FUNCTION", "is not a function: its type is int"),
        (f"{HERE}:return_number", "returned int: return a mapping with the outputs, or None"),
        (f"{HERE}:raise_error_async", "raised ValueError: from a coroutine"),
        (f"{HERE}:leave", "raised SystemExit: 3"),
        (f"{HERE}:leave_async", "raised SystemExit: 3"),
        (f"{HERE}:interrupt", "raised KeyboardInterrupt"),
        (f"{HERE}:stop_iteration", "raised StopIteration"),
        ("broken_module:go", "cannot be imported: SyntaxError"),
        ("leaving_module:go", "cannot be imported: SystemExit: 1"),
        ("no colon", "call is"),
    ],
)
async def test_what_goes_wrong_is_the_step_s_failure_and_no_one_else_s(bench: Bench, call: str, told: str) -> None:
    (bench.repo / "broken_module.py").write_text("def go(:\n")
    (bench.repo / "leaving_module.py").write_text("import sys; sys.exit(1)\n")

    assert told in await bench.failure("python", {"call": call})


async def test_arguments_that_do_not_fit_are_told_before_the_call(bench: Bench) -> None:
    error = await bench.failure("python", {"call": f"{HERE}:add", "with": {"a": 1, "c": 2}})

    assert "cannot be called with these arguments: got an unexpected keyword argument 'c'" in error


async def test_the_trace_and_the_place_of_an_exception_are_kept(bench: Bench) -> None:
    outcome = await bench.act("python", {"call": f"{HERE}:raise_error"})

    assert outcome.error is not None
    assert "functions.py:" in outcome.error.message
    assert "in raise_error" in (outcome.error.trace or "")


async def test_a_secret_in_an_exception_is_masked(tmp_path: Path, is_far: bool) -> None:
    async with open_bench(tmp_path, is_far=is_far, secrets={"token": "hunter2hunter2"}, env=FINDS_THEM) as bench:
        assert "the value is ***" in await bench.failure("python", {"call": f"{HERE}:raise_error"})


async def test_a_function_that_never_ends_is_ended_with_its_step(bench: Bench) -> None:
    for seconds in (3.0, 30.0, 200.0):  # on a busy machine it may not have begun by then
        outcome = await bench.act("python", {"call": f"{HERE}:block"}, timeout_seconds=seconds)
        assert outcome.status is Status.TIMED_OUT
        if "\n" in bench.said:
            break

    process = int(bench.said.split()[1])
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


async def test_a_process_that_dies_in_the_call_is_told_with_what_it_said(bench: Bench) -> None:
    error = await bench.failure("python", {"call": f"{HERE}:kill_itself"})

    assert "SIGABRT" in error
    assert "before the end" in error


def test_what_a_process_tells_of_its_debugger_is_heard_before_it_goes_on() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor() as threads:
        wanted = {"port": server.getsockname()[1], "token": "secret"}
        telling = threads.submit(python_call.tell, wanted, {"problem": "there is none"})
        connection, _ = server.accept()
        with connection, connection.makefile() as lines:
            assert json.loads(lines.readline()) == {"token": "secret", "problem": "there is none"}
            assert not wait([telling], timeout=0.5).done

    telling.result()


async def test_a_function_works_in_the_workspace_with_the_environment_of_the_step(bench: Bench) -> None:
    outputs = await bench.outputs("python", {"call": f"{HERE}:look_around", "env": {"OF_THE_STEP": "yes"}})

    assert outputs == {"folder": str(bench.repo), "variable": "yes"}


async def test_a_thread_that_is_left_behind_does_not_keep_the_step_from_ending(bench: Bench) -> None:
    assert await bench.outputs("python", {"call": f"{HERE}:leave_a_thread"}) == {"left": True}


async def test_another_interpreter_can_be_named(bench: Bench) -> None:
    error = await bench.failure("python", {"call": "json:dumps", "interpreter": "no-such-python -X dev"})

    assert "no-such-python" in error
