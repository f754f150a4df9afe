"""jq in a worker process: real processes, real kills, and nothing left behind."""

import asyncio
import contextlib
import os
import select
import shlex
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Awaitable, Iterator
from pathlib import Path

import jq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pitstop
from pitstop.errors import BadExpression, ExpressionTimeout
from pitstop.executors import jq_worker_main
from pitstop.executors.jq_worker import JqWorker
from pitstop.plan.expressions import Evaluator

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these tests look at processes through /proc")

MIB = 2**20
ENDLESS = "def f: f; f"


@contextlib.asynccontextmanager
async def opened(worker: JqWorker) -> AsyncIterator[JqWorker]:
    try:
        yield worker
    finally:
        await worker.close()


@pytest.fixture
async def worker() -> AsyncIterator[JqWorker]:
    async with opened(JqWorker()) as worker:
        yield worker


def worker_pids() -> set[int]:
    """The worker processes of this process, without those that are dead and not yet waited for."""
    children = "".join(path.read_text() for path in Path("/proc/self/task").glob("*/children"))
    return {pid for pid in map(int, children.split()) if b"jq_worker_main" in _command_line(pid)}


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has just ended
        return b""


def open_descriptors() -> set[Path]:
    return set(Path("/proc/self/fd").iterdir())


async def kill_worker() -> None:
    for pid in worker_pids():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


async def failure(evaluation: Awaitable[object]) -> str:
    """Why the evaluation failed."""
    with pytest.raises(BadExpression) as refusal:
        await evaluation
    return refusal.value.reason


async def reason_of(worker: JqWorker, expression: str, values: dict[str, object] | None = None) -> str:
    return await failure(worker.evaluate(expression, values or {}, timeout_seconds=30))


@pytest.mark.parametrize(
    ("expression", "results"),
    [
        (".a + 1", [2]),
        (".b[]", ["x", None, 1.5]),
        ("empty", []),
        ("{(.b[0]): .a}", [{"x": 1}]),
        (".b | length", [3]),
        (". as $all | $all | keys", [["a", "b"]]),
        ('"é😀\\u0000" | length', [3]),
        (".a # a comment", [1]),
        (".a # a comment \\", [1]),
        ("def tojson: 1; .b[0]", ["x"]),
        ("9007199254740993, 1.0, 0.1", [9007199254740993, 1.0, 0.1]),
    ],
)
async def test_every_value_of_an_expression_is_given(worker: JqWorker, expression: str, results: list[object]) -> None:
    assert await worker.evaluate(expression, {"a": 1, "b": ["x", None, 1.5]}) == results


async def test_it_is_an_evaluator() -> None:
    evaluator: Evaluator = JqWorker()

    await evaluator.close()


async def test_plain_paths_need_no_process(worker: JqWorker) -> None:
    assert await worker.evaluate(".a[0].b", {"a": [{"b": 7}]}) == [7]
    assert worker_pids() == set()


@given(value=st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()), st.lists))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_jq_gives_back_what_a_plain_path_gives(value: object, one_worker: tuple[asyncio.Runner, JqWorker]) -> None:
    runner, worker = one_worker

    by_path = runner.run(worker.evaluate(".a", {"a": value}))

    assert runner.run(worker.evaluate(".a | .", {"a": value}, timeout_seconds=30)) == by_path


@pytest.fixture
def one_worker() -> Iterator[tuple[asyncio.Runner, JqWorker]]:
    """A worker, and a loop to use it in, for a test that runs with many examples."""
    with asyncio.Runner() as runner:
        worker = JqWorker()
        yield runner, worker
        runner.run(worker.close())


async def test_python_values_are_seen_as_json(worker: JqWorker) -> None:
    values = {"when": {1, 2}, "text": "half \udc80", "not": float("nan")}

    assert await worker.evaluate("[.when, .text, .not] | .", values) == [[[1, 2], "half \\udc80", "NaN"]]


async def test_only_the_keys_that_an_expression_names_are_sent(worker: JqWorker) -> None:
    class Recording(dict[str, object]):
        def __getitem__(self, key: str) -> object:
            read.append(key)
            return super().__getitem__(key)

    read: list[str] = []

    assert await worker.evaluate(".a + .b", Recording(a=1, b=2, secret=3)) == [3]
    assert sorted(read) == ["a", "b"]


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        (".a |", "syntax error, unexpected end of file, column 4"),
        ("foo(1)", "foo/1 is not defined, column 1"),
        (".a +\n  $x", "$x is not defined, line 2, column 3"),
        ("$x + $y", "$x is not defined, column 1; $y is not defined, column 6"),
        (".a.b?, .a.b + 1", 'Cannot index number with string ("b")'),
        ('error("went wrong")', "went wrong"),
        ('error({"code": 7})', '{"code": 7}'),
        ("1 / 0", "number (1) and number (0) cannot be divided because the divisor is zero"),
        ("  ", "it is empty"),
        ("= 1", "syntax error, unexpected '=', column 1"),
        ("1) | (2", "syntax error, unexpected INVALID_CHARACTER, expecting end of file, column 2"),
        ("1 + \0 2", "NUL character at column 5"),
        ("1 + \ud800", "unpaired surrogate at column 5"),
    ],
)
async def test_a_mistake_is_told_in_jqs_words_without_its_noise(worker: JqWorker, expression: str, reason: str) -> None:
    assert await reason_of(worker, expression, {"a": 1}) == reason


@pytest.mark.parametrize(
    ("expression", "results"),
    [
        ("env", [{}]),
        ("$ENV", [{}]),
        ("$ENV.PATH", [None]),
        ("[inputs]", [[]]),
        ("debug", [{"a": 1}]),
        ("stderr", [{"a": 1}]),
        ("input_filename", [None]),
        ("get_search_list", [[]]),
        ("halt", []),
        ('"bye" | halt_error', []),
        ('"bye" | halt_error(1)', []),
    ],
)
async def test_nothing_outside_can_be_reached(worker: JqWorker, expression: str, results: list[object]) -> None:
    assert await worker.evaluate("1 + 1", {}) == [2]
    first = worker_pids()

    assert await worker.evaluate(expression, {"a": 1}) == results
    assert await worker.evaluate("1 + 2", {}) == [3]
    assert worker_pids() == first


async def test_there_is_no_other_input(worker: JqWorker) -> None:
    assert await reason_of(worker, "input") == "there is no more input"


@pytest.mark.parametrize(
    "expression",
    [
        'import "secret" as $secret {{search: "{0}"}}; $secret',
        'include "code" {{search: "{0}"}}; leak',
        '# a comment\nimport "code" as code {{search: "{0}"}}; code::leak',
        '"{0}/code" | modulemeta',
    ],
)
async def test_files_cannot_be_read(worker: JqWorker, tmp_path: Path, expression: str) -> None:
    (tmp_path / "secret.json").write_text('"hidden"')
    (tmp_path / "code.jq").write_text('def leak: "hidden";')

    reason = await reason_of(worker, expression.format(tmp_path))

    assert "unexpected" in reason or "module not found" in reason


@pytest.mark.parametrize("expression", ["repeat(.)", "range(1e9)"])
async def test_results_without_end_are_cut_off(worker: JqWorker, expression: str) -> None:
    assert await reason_of(worker, expression) == "returned more than 10,000 values"


async def test_results_that_are_too_large_are_cut_off() -> None:
    async with opened(JqWorker(max_output_bytes=MIB)) as worker:
        assert await worker.evaluate('"x" * 1000000', {}) == ["x" * 1_000_000]
        assert await reason_of(worker, '"x" * 1100000') == "returned more than 1,048,576 bytes"
        assert await reason_of(worker, 'repeat("x" * 100000)') == "returned more than 1,048,576 bytes"


@pytest.mark.parametrize(
    "expression",
    ["[range(1e9)]", "def f: 1 + f; f", 'reduce range(99) as $i ("x"; . + .)', "[.s, .s] | tojson | length"],
)
async def test_an_expression_that_needs_too_much_memory_is_told_so(expression: str) -> None:
    async with opened(JqWorker(max_memory_bytes=64 * MIB)) as worker:
        assert await reason_of(worker, expression, {"s": "x" * 100 * MIB}) == "needed more memory than 64 MB"
        assert await worker.evaluate("1 + 1", {}) == [2]


async def test_an_endless_expression_is_ended_at_its_deadline(worker: JqWorker) -> None:
    with pytest.raises(ExpressionTimeout) as refusal:
        await worker.evaluate(ENDLESS, {}, timeout_seconds=0.1)

    assert refusal.value.seconds == 0.1
    assert await worker.evaluate("1 + 1", {}) == [2]


async def test_starting_the_worker_does_not_count_against_the_deadline(
    worker: JqWorker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow_python = tmp_path / "python"
    slow_python.write_text(f'#!/bin/sh\nsleep 1\nexec {shlex.quote(sys.executable)} "$@"\n')
    slow_python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(slow_python))

    assert await worker.evaluate("1 + 1", {}, timeout_seconds=0.9) == [2]


async def test_a_worker_that_is_given_no_time_to_work_is_waited_for(worker: JqWorker) -> None:
    await worker.evaluate("1 + 1", {})
    (pid,) = worker_pids()
    os.kill(pid, signal.SIGSTOP)
    async with asyncio.TaskGroup() as group:
        evaluation = group.create_task(worker.evaluate("2 + 2", {}, timeout_seconds=0.05))
        done, _ = await asyncio.wait([evaluation], timeout=0.5)
        os.kill(pid, signal.SIGCONT)

    assert not done
    assert evaluation.result() == [4]


async def test_a_cancelled_evaluation_does_not_answer_the_next(worker: JqWorker) -> None:
    for _ in range(3):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await worker.evaluate(f'"late" | ({ENDLESS})', {}, timeout_seconds=60)

        assert await worker.evaluate('"next" + ""', {}) == ["next"]


async def test_a_hundred_evaluations_at_once_all_get_their_own_answer(worker: JqWorker) -> None:
    answers = await asyncio.gather(*(worker.evaluate(f".n + {n % 7}", {"n": n}) for n in range(100)))

    assert answers == [[n + n % 7] for n in range(100)]
    assert len(worker_pids()) == 1


async def test_a_slow_expression_does_not_make_those_that_wait_fail(worker: JqWorker) -> None:
    endless = worker.evaluate(ENDLESS, {}, timeout_seconds=1)
    waiting = [worker.evaluate(f".n + {n}", {"n": n}, timeout_seconds=0.9) for n in range(20)]

    first, *others = await asyncio.gather(endless, *waiting, return_exceptions=True)

    assert isinstance(first, ExpressionTimeout)
    assert others == [[2 * n] for n in range(20)]


async def test_a_worker_that_is_killed_is_replaced(worker: JqWorker) -> None:
    await worker.evaluate("1 + 1", {})
    await kill_worker()

    assert await worker.evaluate("1 + 1", {}) == [2]


async def test_an_evaluation_survives_that_its_worker_is_killed(worker: JqWorker) -> None:
    await worker.evaluate("1 + 1", {})
    (first,) = worker_pids()

    slow, _ = await asyncio.gather(worker.evaluate("[range(300000)] | length", {}, timeout_seconds=30), kill_worker())

    assert slow == [300_000]
    assert first not in worker_pids()


async def test_workers_that_die_again_and_again_are_not_replaced_for_ever(worker: JqWorker) -> None:
    async def kill_all(evaluation: asyncio.Task[str]) -> None:
        while not evaluation.done():
            await kill_worker()
            await asyncio.sleep(0)  # lets the evaluation see it

    async with asyncio.TaskGroup() as group:
        evaluation = group.create_task(failure(worker.evaluate(ENDLESS, {}, timeout_seconds=60)))
        group.create_task(kill_all(evaluation))

    assert "could not be started" in evaluation.result() or "jq crashed (SIGKILL)" in evaluation.result()


async def test_a_worker_that_cannot_be_started_is_told(worker: JqWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    descriptors = open_descriptors()

    with monkeypatch.context() as patched:
        patched.setattr(sys, "executable", "/nonexistent/python")
        assert await reason_of(worker, "1 + 1") == "the jq worker could not be started"
        assert open_descriptors() == descriptors

    assert await worker.evaluate("1 + 1", {}) == [2]


async def test_fifty_megabytes_go_through(worker: JqWorker) -> None:
    values = {"text": "x" * 50_000_000}

    assert await worker.evaluate(".text | length", values, timeout_seconds=60) == [50_000_000]
    assert await worker.evaluate(".text[:5000000]", values, timeout_seconds=60) == ["x" * 5_000_000]


async def test_closing_leaves_nothing_behind() -> None:
    descriptors = open_descriptors()
    tasks = asyncio.all_tasks()
    worker = JqWorker()
    await worker.evaluate("1 + 1", {})
    with pytest.raises(ExpressionTimeout):
        await worker.evaluate(ENDLESS, {}, timeout_seconds=0.05)
    await worker.evaluate("1 + 1", {})

    await worker.close()
    await worker.close()

    assert worker_pids() == set()
    assert open_descriptors() == descriptors
    assert asyncio.all_tasks() == tasks


async def test_closing_ends_what_is_being_evaluated_and_what_waits() -> None:
    worker = JqWorker()
    await worker.evaluate("1 + 1", {})

    busy, waiting, _ = await asyncio.gather(
        failure(worker.evaluate(ENDLESS, {}, timeout_seconds=60)),
        failure(worker.evaluate("1 + 1", {})),
        worker.close(),
    )

    assert "closed" in busy
    assert "closed" in waiting
    assert worker_pids() == set()


def test_it_works_in_one_event_loop_after_another() -> None:
    worker = JqWorker()

    async def contended() -> set[int]:
        await asyncio.gather(*(worker.evaluate(".n + 1", {"n": n}) for n in range(5)))
        return worker_pids()

    assert asyncio.run(contended()) == asyncio.run(contended())
    asyncio.run(worker.close())
    assert worker_pids() == set()


def test_the_worker_dies_with_its_parent_even_in_an_endless_loop() -> None:
    script = textwrap.dedent(f"""
        import asyncio, os
        from pathlib import Path
        from pitstop.executors.jq_worker import JqWorker

        async def tell_that_it_is_busy():
            print(Path(f"/proc/self/task/{{os.getpid()}}/children").read_text(), flush=True)

        async def main():
            worker = JqWorker()
            await worker.evaluate("1 + 1", {{}})
            await asyncio.gather(worker.evaluate("{ENDLESS}", {{}}, timeout_seconds=600), tell_that_it_is_busy())

        asyncio.run(main())
    """)
    environment = {**os.environ, "PYTHONPATH": str(Path(pitstop.__file__).parents[1])}
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout
        worker_pid = int(parent.stdout.readline())
        pidfd = os.pidfd_open(worker_pid)
        parent.kill()
    ended, _, _ = select.select([pidfd], [], [], 30)
    os.close(pidfd)

    assert ended, "the worker outlived its parent"


def test_the_worker_ends_when_its_input_does() -> None:
    ours, theirs = socket.socketpair()
    arguments = [str(Path(jq.__file__).parent), str(os.getpid()), str(512 * MIB), "10", "1000"]
    with (
        theirs,
        subprocess.Popen([sys.executable, "-IS", jq_worker_main.__file__, *arguments], stdin=theirs.fileno()) as worker,
    ):
        assert ours.recv(100).startswith(jq_worker_main.READY)
        ours.close()

        assert worker.wait(timeout=30) == 0


def test_the_worker_loads_little_so_that_it_starts_fast() -> None:
    script = "import runpy, sys; runpy.run_path(sys.argv[1]); print(*sys.modules)"

    loaded = subprocess.check_output([sys.executable, "-IS", "-c", script, jq_worker_main.__file__], text=True).split()

    assert not {"pitstop", "msgspec", "asyncio", "pathlib", "subprocess", "ctypes"} & set(loaded)
