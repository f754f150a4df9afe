"""Somebody's graph of a code review gives a wrong answer, and they look for the reason with the debugger."""

import asyncio
import operator
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pitstop import END, START, Graph, GraphApp, RunResult, Session, Status, Stop

State = dict[str, Any]

# The patient: it analyzes a file, then processes what it found until nothing is left, and reports.


async def analyze(state: State) -> State:
    return {"analysis": "complete", "todo": ["syntax", "types", "style"]}


async def process(state: State) -> State:
    first, *rest = state["todo"]
    return {"todo": rest, "errors": state["errors"] + 1, "results": [f"fixed {first}"]}


def report(state: State) -> State:
    return {"summary": f"{len(state['results'])} fixed in {state['task']}"}


def is_there_more(state: State) -> str:
    return "process" if state["todo"] else "report"


def review_graph() -> Graph:
    graph = Graph(reducers={"results": operator.add})
    graph.add_node("analyze", analyze)
    graph.add_node("process", process)
    graph.add_node("report", report)
    graph.add_edge(START, "analyze")
    graph.add_edge("analyze", "process")
    graph.add_conditional_edge("process", is_there_more, ["process", "report"])
    graph.add_edge("report", END)
    return graph


TASK: State = {"task": "x.py", "errors": 0, "results": []}


@asynccontextmanager
async def running(app: GraphApp, session: Session, state: State = TASK) -> AsyncIterator[asyncio.Task[RunResult]]:
    """The graph runs beside whoever debugs it."""
    async with asyncio.timeout(90), asyncio.TaskGroup() as group:
        yield group.create_task(app.invoke(state, debug=session))


async def stop_of(session: Session) -> Stop:
    stop = await session.next_stop()
    assert stop is not None, "the run has ended"
    return stop


@pytest.fixture
def app() -> GraphApp:
    return review_graph().compile()


async def test_break_look_step_over_continue(app: GraphApp) -> None:
    session = Session()
    breakpoint = session.add_breakpoint(step="analyze", position="before")

    async with running(app, session) as run:
        stop = await stop_of(session)
        assert (stop.step, stop.position, stop.reasons) == ("analyze", "before", ("breakpoint",))
        assert breakpoint.id in stop.breakpoints
        assert breakpoint.hit_count == 1

        assert dict(stop.scope) == TASK
        assert await session.evaluate(stop, ".task | ascii_upcase") == "X.PY"
        assert {variable.name: variable.set_by for variable in session.variables(stop)} == {
            "task": "input",
            "errors": "input",
            "results": "input",
        }

        await session.step_over(stop)
        stop = await stop_of(session)
        assert (stop.step, stop.position, stop.reasons) == ("process", "before", ("step",))
        assert [(change.path, change.kind) for change in session.diff(stop)] == [
            (".analysis", "added"),
            (".todo", "added"),
        ]

        await session.continue_(stop)
        assert await session.next_stop() is None
        result = await run

    assert result.status is Status.PASSED
    assert result.state["summary"] == "3 fixed in x.py"
    assert result.intervened == ()


async def test_break_after_a_node_and_step_to_the_next(app: GraphApp) -> None:
    session = Session()
    session.add_breakpoint(step="analyze", position="after")

    async with running(app, session) as run:
        stop = await stop_of(session)
        assert stop.outcome is not None
        assert stop.outcome.status is Status.PASSED
        assert stop.scope["analysis"] == "complete"

        await session.step_over(stop)
        stop = await stop_of(session)
        assert (stop.step, stop.position) == ("process", "before")
        await session.continue_(stop)

    assert run.result().status is Status.PASSED


async def test_break_only_when_a_condition_holds(app: GraphApp) -> None:
    session = Session()
    in_jq = session.add_breakpoint(step="process", position="after", condition=".errors >= 2")
    in_python = session.add_breakpoint(step="process", position="after", condition=lambda state: state["errors"] == 3)

    async with running(app, session):
        stop = await stop_of(session)
        assert (stop.occurrence, stop.scope["errors"], stop.breakpoints) == ("process@2", 2, (in_jq.id,))
        await session.continue_(stop)

        stop = await stop_of(session)
        assert (stop.occurrence, stop.breakpoints) == ("process@3", (in_jq.id, in_python.id))
        await session.continue_(stop)
        assert await session.next_stop() is None

    assert (in_jq.hit_count, in_python.hit_count) == (2, 1)


async def test_a_typo_in_a_condition_is_never_silent(app: GraphApp) -> None:
    session = Session()
    session.add_breakpoint(step="report", condition=".errors >")

    async with running(app, session):
        stop = await stop_of(session)
        assert stop.step == "report"
        assert ".errors >" in stop.problems[0]
        await session.continue_(stop)


async def test_stop_at_an_exception_repair_its_cause_and_run_the_node_again() -> None:
    async def divide(state: State) -> State:
        return {"share": state["total"] / state["people"]}

    graph = Graph()
    graph.add_node("divide", divide)
    graph.add_edge(START, "divide")
    graph.add_edge("divide", END)
    session = Session()

    async with running(graph.compile(), session, {"total": 12, "people": 0}) as run:
        stop = await stop_of(session)
        assert (stop.step, stop.position, stop.reasons) == ("divide", "error", ("failure",))
        assert stop.outcome is not None
        assert str(stop.outcome.error) == "ZeroDivisionError: division by zero"

        await session.set(stop, ".people", 4)
        await session.retry(stop)

    result = run.result()
    assert (result.status, result.state["share"]) == (Status.PASSED, 3)
    assert len(result.intervened) == 2, "a pass by hand is never taken for a clean pass"


async def test_stop_when_the_state_changes(app: GraphApp) -> None:
    session = Session()
    changes = session.add_breakpoint(state=".errors")
    becomes = session.add_breakpoint(state=".errors", equals=3)

    seen = []
    async with running(app, session):
        while (stop := await session.next_stop()) is not None:
            seen.append((stop.occurrence, stop.position, stop.breakpoints))
            await session.continue_(stop)

    assert seen == [
        ("process", "after", (changes.id,)),
        ("process@2", "after", (changes.id,)),
        ("process@3", "after", (changes.id, becomes.id)),
    ]


async def test_stop_at_every_second_turn(app: GraphApp) -> None:
    session = Session()
    breakpoint = session.add_breakpoint(step="process", hits="% 2")

    async with running(app, session):
        stop = await stop_of(session)
        assert (stop.occurrence, breakpoint.hit_count) == ("process@2", 2)
        await session.continue_(stop)
        assert await session.next_stop() is None

    assert breakpoint.hit_count == 3


async def test_write_a_line_at_every_turn_without_stopping(app: GraphApp) -> None:
    session = Session()
    session.add_breakpoint(step="process", log="${{ .errors }} fixed, ${{ .todo | length }} to go")

    async with running(app, session) as run:
        assert await session.next_stop() is None

    lines = [event["message"] for event in session.export()["events"] if event["kind"] == "debug.logged"]
    assert lines == ["0 fixed, 3 to go", "1 fixed, 2 to go", "2 fixed, 1 to go"]
    assert run.result().intervened == ()


async def test_step_into_a_graph_inside_the_graph_and_out_again() -> None:
    outer = Graph(reducers={"results": operator.add})
    outer.add_node("fetch", lambda state: {"task": "y.py"})
    outer.add_node("review", review_graph())
    outer.add_node("publish", lambda state: {"published": state["summary"]})
    outer.add_edge(START, "fetch")
    outer.add_edge("fetch", "review")
    outer.add_edge("review", "publish")
    outer.add_edge("publish", END)
    session = Session()
    session.add_breakpoint(step="review")
    session.add_breakpoint(step="report", position="after")

    async with running(outer.compile(), session) as run:
        stop = await stop_of(session)
        assert stop.step == "review"
        await session.step_into(stop)
        stop = await stop_of(session)
        assert (stop.step, stop.scope["task"]) == ("review.analyze", "y.py")
        await session.step_over(stop)
        stop = await stop_of(session)
        assert stop.step == "review.process"

        await session.continue_(stop)
        stop = await stop_of(session)
        assert (stop.step, stop.position) == ("review.report", "after")
        await session.step_out(stop)
        stop = await stop_of(session)
        assert (stop.step, stop.position) == ("publish", "before")
        await session.continue_(stop)

    assert run.result().state["published"] == "3 fixed in y.py"


async def test_go_back_and_see_what_would_have_been(app: GraphApp) -> None:
    session = Session(stop_at_end=True)

    async with running(app, session) as run:
        stop = await stop_of(session)
        assert (stop.reasons, stop.scope["summary"]) == (("completed",), "3 fixed in x.py")
        second_turn = next(point for point in session.history() if point.occurrence == "process@2")
        assert [change.path for change in await session.diff_points(second_turn, stop.after_event - 1)]

        await session.rewind(stop, second_turn)
        stop = await stop_of(session)
        assert (stop.occurrence, stop.scope["errors"]) == ("process@2", 1)
        await session.set(stop, ".todo", ["only this"])
        await session.continue_(stop)
        stop = await stop_of(session)
        assert stop.scope["summary"] == "2 fixed in x.py"
        await session.continue_(stop)

    assert run.result().intervened


def finds(name: str) -> Callable[[State], State]:
    return lambda state: {"found": [name]}


async def test_look_at_one_branch_while_the_others_go_on() -> None:
    graph = Graph(reducers={"found": operator.add})
    for name in ("lint", "types", "tests"):
        graph.add_node(name, finds(name))
    graph.add_node("join", lambda state: {"count": len(state["found"])})
    graph.add_edge(START, ["lint", "types", "tests"])
    for name in ("lint", "types", "tests"):
        graph.add_edge(name, "join")
    graph.add_edge("join", END)
    session = Session()
    session.add_breakpoint(step="types")

    async with running(graph.compile(), session, {"found": []}) as run:
        stop = await stop_of(session)
        assert stop.frame == "types"
        assert [(frame.id, frame.parent) for frame in session.frames] == [
            ("main", None),
            ("lint", "main"),
            ("types", "main"),
            ("tests", "main"),
        ]
        await session.skip(stop, {"found": ["types, by hand"]})

    assert run.result().state == {"found": ["lint", "types, by hand", "tests"], "count": 3}


async def test_keep_the_session_and_go_on_with_it_tomorrow(app: GraphApp) -> None:
    session = Session()
    session.add_breakpoint(step="report")
    session.watch(".results | length")
    async with running(app, session) as run:
        stop = await stop_of(session)
        assert await session.watch_values(stop) == {".results | length": 3}
        kept = session.export()
        await session.abort()
    assert run.result().status is Status.CANCELLED

    tomorrow = Session.from_export(kept)
    async with asyncio.timeout(90), asyncio.TaskGroup() as group:
        again = group.create_task(app.invoke(None, debug=tomorrow, log=tomorrow.log))
        stop = await stop_of(tomorrow)
        assert (stop.step, stop.scope["errors"]) == ("report", 3)
        assert await tomorrow.watch_values(stop) == {".results | length": 3}
        await tomorrow.continue_(stop)
    assert again.result().state["summary"] == "3 fixed in x.py"
