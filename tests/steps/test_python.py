import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from pitstop.events.outcome import Status
from tests.steps.bench import Bench, open_bench

HERE = "tests.steps.test_python"
release = threading.Event()
let_in: list[str] = []


def add(a: int, b: int = 0) -> dict[str, int]:
    return {"sum": a + b}


async def add_async(a: int, b: int = 0) -> dict[str, int]:
    await asyncio.sleep(0)
    return {"sum": a + b}


class Calculator:
    @staticmethod
    def add(a: int) -> dict[str, int]:
        return {"sum": a}


def return_nothing() -> None: ...


def return_number() -> int:
    return 5


def return_odd_values() -> dict[str, object]:
    return {"path": Path("a"), "numbers": {1, 2}, "loop": threading.Lock}


def raise_error() -> None:
    raise ValueError("the value is hunter2hunter2")


async def raise_error_async() -> None:
    raise ValueError("from a coroutine")


def leave() -> None:
    raise SystemExit(3)


async def leave_async() -> None:
    raise SystemExit(3)


def interrupt() -> None:
    raise KeyboardInterrupt


def stop_iteration() -> None:
    raise StopIteration


def block() -> None:
    release.wait()


async def never_end() -> None:
    try:
        await asyncio.Event().wait()
    finally:
        let_in.append("cleaned up")


NOT_A_FUNCTION = 5


@pytest.mark.parametrize("function", ["add", "add_async", "Calculator.add"])
async def test_a_function_is_called_with_its_arguments(bench: Bench, function: str) -> None:
    assert await bench.outputs("python", {"call": f"{HERE}:{function}", "with": {"a": 1}}) == {"sum": 1}


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


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("no_such_module:go", "cannot be imported: there is no module 'no_such_module'"),
        (f"{HERE}:no_such_function", "has no attribute 'no_such_function'"),
        (f"{HERE}:NOT_A_FUNCTION", "is no function, but int"),
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
    assert "test_python.py:" in outcome.error.message
    assert "in raise_error" in (outcome.error.trace or "")


async def test_a_secret_in_an_exception_is_masked(tmp_path: Path) -> None:
    async with open_bench(tmp_path, secrets={"token": "hunter2hunter2"}) as bench:
        assert "the value is ***" in await bench.failure("python", {"call": f"{HERE}:raise_error"})


async def test_a_plain_function_that_blocks_holds_up_neither_the_timeout_nor_the_loop(bench: Bench) -> None:
    try:
        outcome = await bench.act("python", {"call": f"{HERE}:block"}, timeout_seconds=0.05)
    finally:
        release.set()

    assert outcome.status is Status.TIMED_OUT


async def test_a_coroutine_is_cancelled_and_can_clean_up(bench: Bench) -> None:
    outcome = await bench.act("python", {"call": f"{HERE}:never_end"}, timeout_seconds=0.05)

    assert outcome.status is Status.TIMED_OUT
    assert let_in_of_the_module() == ["cleaned up"]


def let_in_of_the_module() -> Any:
    """Of the module that the step has imported: pytest may have another copy."""
    import tests.steps.test_python as imported

    return imported.let_in
