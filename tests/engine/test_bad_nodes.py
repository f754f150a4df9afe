"""Nodes that misbehave: the run gets a named error or does what is documented, and stays sound."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from pitstop import END, START, Graph, MemoryLog, RunResult, Session, Status
from pitstop.events.types import RunEnded, StepFinished, StepStarted
from tests.engine.flows import living_tasks
from tests.engine.virtual_time import VirtualTimeLoop, now, virtual_time

State = dict[str, Any]
Node = Callable[[State], Any]

PLAIN: dict[str, Any] = {}
WITH_OPTIONS: dict[str, Any] = {"timeout": 1e9}
BOTH_WAYS = pytest.mark.parametrize("options", [PLAIN, WITH_OPTIONS], ids=["plain", "with options"])


def chain(*nodes: Node, **options: Any) -> Graph:
    graph = Graph()
    names = [f"n{number}" for number in range(len(nodes))]
    for name, node in zip(names, nodes, strict=True):
        graph.add_node(name, node, **options)
    for source, target in zip([START, *names], [*names, END], strict=True):
        graph.add_edge(source, target)
    return graph


def branches(*nodes: Node, **options: Any) -> Graph:
    graph = Graph()
    for number, node in enumerate(nodes):
        graph.add_node(f"n{number}", node, **options)
        graph.add_edge(f"n{number}", END)
    graph.add_edge(START, [f"n{number}" for number in range(len(nodes))])
    return graph


async def run(*nodes: Node, state: State | None = None, **options: Any) -> RunResult:
    return await chain(*nodes, **options).compile().invoke(state or {})


def after(state: State) -> State:
    return {"after": True}


def raising(raised: BaseException) -> Node:
    def node(state: State) -> None:
        raise raised

    return node


async def for_ever(state: State) -> None:
    await asyncio.get_running_loop().create_future()


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


class Unhashable(Exception):
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("cannot be compared")


# --- Raising ---------------------------------------------------------------------------------------------------------


@BOTH_WAYS
@pytest.mark.parametrize(
    "raised",
    [
        ValueError("no"),
        Unprintable(),
        Unhashable("x"),
        StopAsyncIteration(),
        TimeoutError("mine"),
        RecursionError("deep"),
        MemoryError(),
        AssertionError(),
        OSError(2, "no such file"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
        ExceptionGroup("both", [ValueError("a"), KeyError("b")]),
        asyncio.CancelledError("mine"),
        asyncio.InvalidStateError(),
        asyncio.QueueEmpty(),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_whatever_a_node_raises_is_its_failure(raised: BaseException, options: dict[str, Any]) -> None:
    log = MemoryLog()

    result = await chain(raising(raised), after, **options).compile().invoke({"x": 1}, log=log)

    assert result.status is Status.FAILED
    assert result.error is not None
    assert (result.error.type, result.error.origin) == (type(raised).__name__, "n0")
    assert result.state == {"x": 1}
    assert [event.occurrence for event in log.read() if isinstance(event, StepFinished)] == ["n0"]


@BOTH_WAYS
async def test_a_failure_names_the_node_it_happened_in_with_or_without_a_log(options: dict[str, Any]) -> None:
    app = chain(after, after, raising(ValueError("no")), **options).compile()

    logged, silent = await app.invoke({}, log=MemoryLog()), await app.invoke({})

    assert logged.error is not None
    assert silent.error is not None
    assert logged.error.origin == silent.error.origin == "n2"


class Emergency(BaseException):
    """No Exception: not meant to be caught by those who handle failures."""


@BOTH_WAYS
@pytest.mark.parametrize(
    "raised", [Emergency("stop"), KeyboardInterrupt(), SystemExit(3)], ids=lambda value: type(value).__name__
)
def test_what_is_no_exception_goes_through_the_run_to_its_caller(
    raised: BaseException, options: dict[str, Any]
) -> None:
    log = MemoryLog()

    async def main() -> None:
        await chain(raising(raised), after, **options).compile().invoke({}, log=log)

    with pytest.raises(type(raised)):
        asyncio.run(main())

    assert isinstance(log.read()[-1], RunEnded), "and the log has an end all the same"
    assert [event for event in log.read() if isinstance(event, StepStarted)][-1].occurrence == "n0"


async def test_a_node_that_runs_out_of_stack_has_failed() -> None:
    def deeper(state: State) -> Any:
        return deeper(state)

    result = await run(deeper, after)

    assert result.error is not None
    assert result.error.type == "RecursionError"
    assert result.error.trace is not None
    assert len(result.error.trace) < 20_000


# --- Cancelling itself -----------------------------------------------------------------------------------------------


@BOTH_WAYS
async def test_a_node_that_awaits_something_cancelled_has_failed(options: dict[str, Any]) -> None:
    async def await_cancelled(state: State) -> None:
        future = asyncio.get_running_loop().create_future()
        future.cancel()
        await future

    result = await run(await_cancelled, after, **options)

    assert (result.status, result.error and result.error.type) == (Status.FAILED, "CancelledError")


async def cancel_own_task(state: State) -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel("by myself")
    await asyncio.sleep(0)


@BOTH_WAYS
async def test_a_node_that_cancels_its_task_has_cancelled_the_run(options: dict[str, Any]) -> None:
    """It is the caller's own task: nobody can tell this from a cancel from outside."""
    log = MemoryLog()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(chain(cancel_own_task, after, **options).compile().invoke({}, log=log))

    assert task.cancelled()
    last = log.read()[-1]
    assert isinstance(last, RunEnded)
    assert last.outcome.status is Status.CANCELLED


@BOTH_WAYS
async def test_a_node_that_cancels_the_task_of_its_branch_has_failed_the_graph(options: dict[str, Any]) -> None:
    result = await branches(cancel_own_task, for_ever, **options).compile().invoke({})

    assert result.status is Status.FAILED
    assert result.error is not None
    assert (result.error.type, result.error.origin) == ("Cancelled", "n0")
    assert living_tasks() == set()


# --- Never ending, blocking, stubborn --------------------------------------------------------------------------------


@virtual_time
async def test_a_node_that_never_ends_is_ended_by_its_timeout() -> None:
    result = await run(for_ever, after, timeout=5)

    assert (result.status, now()) == (Status.TIMED_OUT, 5)
    assert living_tasks() == set()


async def test_a_node_that_never_ends_can_be_cancelled_from_outside() -> None:
    log = MemoryLog()
    app = branches(for_ever, for_ever).compile()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(app.invoke({}, log=log))
        async for event in log.follow():
            if isinstance(event, StepStarted) and event.step == "n1":
                task.cancel()

    assert task.cancelled()
    assert {event.outcome.status for event in log.read() if isinstance(event, StepFinished)} == {Status.CANCELLED}


@virtual_time
async def test_a_node_that_blocks_holds_the_loop_up_and_its_timeout_comes_too_late() -> None:
    """A plain function cannot be interrupted: one that may block belongs in a thread."""
    ticks: list[int] = []

    def block(state: State) -> State:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        loop.call_soon(ticks.append, 1)
        loop.jump(60)
        return {"seen": len(ticks)}

    result = await run(block, timeout=1)

    assert (result.status, result.state) == (Status.PASSED, {"seen": 0})


async def test_a_node_that_blocks_in_a_thread_can_be_timed_out() -> None:
    release = threading.Event()

    def block(state: State) -> None:
        release.wait(30)

    try:
        result = await run(block, after, thread=True, timeout=0.01)
    finally:
        release.set()

    assert result.status is Status.TIMED_OUT


async def stubborn(state: State) -> State:
    try:
        await asyncio.sleep(1000)
    except asyncio.CancelledError:
        return {"stubborn": True}
    return {}


@virtual_time
async def test_a_stubborn_node_is_timed_out_all_the_same() -> None:
    result = await run(stubborn, after, timeout=5)

    assert (result.status, now()) == (Status.TIMED_OUT, 5)
    assert result.state == {}


@BOTH_WAYS
@virtual_time
async def test_after_an_abort_no_node_begins_even_if_one_took_the_cancel_for_its_own(options: dict[str, Any]) -> None:
    session = Session()
    app = chain(stubborn, after, **options).compile()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(app.invoke({}, debug=session))
        await asyncio.sleep(1)
        await session.abort()

    result = task.result()
    assert (result.status, now()) == (Status.CANCELLED, 1)
    assert "after" not in result.state


@BOTH_WAYS
@virtual_time
async def test_when_a_branch_failed_no_node_begins_even_if_one_took_the_cancel_for_its_own(
    options: dict[str, Any],
) -> None:
    began: list[str] = []

    async def fail(state: State) -> None:
        await asyncio.sleep(1)
        raise ValueError("no")

    graph = Graph()
    graph.add_node("stubborn", stubborn, **options)
    graph.add_node("next", lambda state: began.append("next"), **options)
    graph.add_node("fail", fail)
    for source, target in [(START, ["stubborn", "fail"]), ("stubborn", "next"), ("next", END), ("fail", END)]:
        graph.add_edge(source, target)

    result = await graph.compile().invoke({})

    assert result.status is Status.FAILED
    assert began == []


# --- Spawning tasks --------------------------------------------------------------------------------------------------


async def test_a_task_that_a_node_left_behind_is_its_own_business() -> None:
    """The engine waits for its frames, not for tasks it knows nothing of; they live as long as the loop."""
    left: list[asyncio.Task[None]] = []

    async def spawn(state: State) -> State:
        left.append(asyncio.get_running_loop().create_task(asyncio.sleep(1000)))
        return {"spawned": True}

    result = await run(spawn, after)

    assert result.state == {"spawned": True, "after": True}
    assert not left[0].done()
    left[0].cancel()


@virtual_time
async def test_a_group_of_tasks_in_a_node_is_ended_with_it() -> None:
    async def spawn(state: State) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(asyncio.sleep(1000))

    result = await run(spawn, timeout=2)

    assert (result.status, now()) == (Status.TIMED_OUT, 2)
    assert living_tasks() == set()


async def test_a_failing_group_of_tasks_in_a_node_is_its_failure() -> None:
    async def fail() -> None:
        raise ValueError("in a task")

    async def spawn(state: State) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())
            group.create_task(asyncio.sleep(1000))

    result = await run(spawn)

    assert result.error is not None
    assert result.error.type == "ExceptionGroup"
    assert result.error.trace is not None
    assert "ValueError: in a task" in result.error.trace


async def test_a_node_may_run_another_graph_by_itself() -> None:
    inner = chain(lambda state: {"inner": True}).compile()

    async def call(state: State) -> State:
        return (await inner.invoke(state)).state

    result = await run(call, after)

    assert result.state == {"inner": True, "after": True}


async def test_a_coroutine_that_a_node_forgot_to_await_is_a_bad_update_only_if_it_is_in_the_way() -> None:
    async def forgotten(state: State) -> State:
        return {"x": 1}

    result = await run(lambda state: {"y": forgotten(state)})

    assert result.status is Status.PASSED
    result.state["y"].close()
