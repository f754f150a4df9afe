"""A pipeline that fails in one branch, and a debug session that finds the wrong value and repairs it.

Run it with `make demo-graph`. It plays a session by itself: no keyboard is needed, and no file is changed.
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from pitstop import END, START, Graph, GraphApp, RunResult, Session, Stop
from pitstop.events.types import Event, Logged, ScopeEdited, StepRetried

State = dict[str, Any]


# The pipeline: plain and async functions from the state to what they change in it -----------------------------------


async def fetch(state: State) -> State:
    """Get the commit, and the settings that come with it. One of them is wrong."""
    return {
        "commit": "4f2a91c",
        "changed": ["cart.py", "prices.py", "test_cart.py"],
        "database": {"host": "localhost", "port": 54321},
    }


async def lint(state: State) -> State:
    return {"checks": [f"lint: {len(state['changed'])} files"]}


async def layout(state: State) -> State:
    return {"checks": ["layout: tidy"]}


async def types(state: State) -> State:
    return {"checks": ["types: no errors"]}


async def docs(state: State) -> State:
    return {"checks": ["docs: every link leads somewhere"]}


async def tests(state: State) -> State:
    database = state["database"]
    if database["port"] != 5432:
        raise ConnectionError(f"no database answers at {database['host']}:{database['port']}")
    return {"checks": ["tests: 218 passed"]}


def report(state: State) -> State:
    return {"summary": f"{state['commit']} is good: {len(state['checks'])} checks"}


def checkout_pipeline() -> GraphApp:
    graph = Graph("checkout", reducers={"checks": lambda before, new: before + new})
    for node in (fetch, lint, layout, types, docs, tests, report):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "fetch")
    graph.add_edge("fetch", ["lint", "types", "tests"])  # three branches, each a frame of its own
    graph.add_edge("lint", "layout")
    graph.add_edge("types", "docs")
    for last in ("layout", "docs", "tests"):
        graph.add_edge(last, "report")  # where the branches meet
    graph.add_edge("report", END)
    return graph.compile()


# The session ---------------------------------------------------------------------------------------------------------


async def main() -> None:
    title("A pipeline with a wrong value in it")
    say("fetch ─┬─ lint ── layout ─┬─ report")
    say("       ├─ types ── docs ──┤")
    say("       └─ tests ──────────┘")

    session = Session(stop_at_entry=True)  # it also has a breakpoint on any failure, unless you say stop_on_error=False
    session.add_breakpoint("fetch", "after", condition=".changed | length > 2")
    session.add_breakpoint("report", log="the branches of ${{ .commit }} have met")  # writes, never stops

    async with asyncio.TaskGroup() as group:
        run = group.create_task(checkout_pipeline().invoke({"checks": []}, debug=session))
        await debug(session)

    show_result(run.result(), session)


async def debug(session: Session) -> None:
    """What a person would do at the prompt."""
    title("1. Stop at the entry, then where a condition is true")
    entry = await stopped(session)
    do("continue_(stop)")
    await session.continue_(entry)

    fetched = await stopped(session)
    do("step_over(stop)")
    await session.step_over(fetched)

    title("2. After a fan-out each branch has a stop of its own")
    branches = {stop.step: stop for stop in [await stopped(session) for _ in range(3)]}  # in whichever order they come

    title("3. Step two of the branches, one at a time")
    do("step_over(lint)")
    await session.step_over(branches["lint"])
    at_layout = await stopped(session)

    do("step_over(types)")
    await session.step_over(branches["types"])
    at_docs = await stopped(session)

    title("4. Let the third one run into its failure")
    do("continue_(tests)")
    await session.continue_(branches["tests"])
    failed = await stopped(session)

    title("5. Inspect, repair, retry")
    origin = next(each.set_by for each in session.variables(failed) if each.name == "database")
    do('evaluate(stop, ".database")')
    say(f"{await session.evaluate(failed, '.database')}, set by {origin}")
    do('set(stop, ".database.port", 5432)')
    await session.set(failed, ".database.port", 5432)
    show_changes(session, failed)
    do('add_breakpoint("tests", "after", once=True)')
    session.add_breakpoint("tests", "after", once=True)
    do("retry(stop)")
    await session.retry(failed)
    await stopped(session)

    title("6. Good. Let everything run to the end")
    do("continue_all()")
    await session.continue_all()
    assert at_layout.is_over and at_docs.is_over
    assert await session.next_stop() is None  # the run has ended


async def stopped(session: Session) -> Stop:
    stop = await session.next_stop()
    assert stop is not None, "the run has ended"
    show_stop(session, stop)
    return stop


# What is shown -------------------------------------------------------------------------------------------------------


HAS_COLOURS = sys.stdout.isatty() and "NO_COLOR" not in os.environ
BOLD, DIM, RED, GREEN, YELLOW, CYAN = "1", "2", "31", "32", "33", "36"
STATE_COLOURS = {"paused": YELLOW, "running": GREEN, "done": DIM}
CHANGE_COLOURS = {"added": GREEN, "removed": RED, "changed": YELLOW}


def show_stop(session: Session, stop: Stop) -> None:
    where = f"{stop.position} {stop.occurrence}"
    source = f"{Path(stop.source.file).name}:{stop.source.line}" if stop.source else ""
    print(f"\n  {paint(f'● stop {stop.id}', YELLOW, BOLD)}  {paint(where, BOLD)}  {paint(source, DIM)}")
    line("why", why(session, stop))
    if stop.outcome is not None and stop.outcome.error is not None:
        line("error", paint(str(stop.outcome.error), RED))
    line("frames", "  ".join(f"{each.id} {paint(each.state, STATE_COLOURS[each.state])}" for each in session.frames))
    show_changes(session, stop)


def why(session: Session, stop: Stop) -> str:
    names = {
        each.id: f"{each.id}, {each.condition}" if each.condition else str(each.id) for each in session.breakpoints
    }
    hit = ", ".join(f"breakpoint {names.get(number, f'{number}, once')}" for number in stop.breakpoints)
    return f"{', '.join(stop.reasons)} ({hit})" if hit else ", ".join(stop.reasons)


def show_changes(session: Session, stop: Stop) -> None:
    changes = session.diff(stop)
    if not changes:
        is_first = "step_back" not in stop.allowed
        line("changed", paint("first stop of this frame" if is_first else "nothing since the last stop here", DIM))
    for number, change in enumerate(changes):
        sign = {"added": "+", "removed": "-", "changed": "~"}[change.kind]
        value = f"{change.before!r} → {change.after!r}" if change.kind == "changed" else repr(change.after)
        line("" if number else "changed", paint(f"{sign} {change.path} {value}", CHANGE_COLOURS[change.kind]))


def show_result(result: RunResult, session: Session) -> None:
    title("How it ended")
    line("status", paint(result.status.value, GREEN, BOLD))
    line("summary", result.state["summary"])
    line("logged", ", ".join(event.message for event in session.log.read() if isinstance(event, Logged)))
    line("changes", paint("intervened: not a clean pass", YELLOW))
    for event in result.intervened:
        line("", told(event))
    print(f"\n  Read more in {paint('docs/guides/debug-a-graph.md', CYAN)}, and see how this was done in")
    print(f"  {paint('examples/debug_a_graph.py', CYAN)}.\n")


def told(event: Event) -> str:
    match event:
        case ScopeEdited(stop=stop, path=path, value=value, occurrence=occurrence):
            return f"at stop {stop} in {occurrence}: .{'.'.join(map(str, path))} was set to {value!r}"
        case StepRetried(occurrence=occurrence):
            return f"retried {occurrence}"
    return type(event).__name__


def title(text: str) -> None:
    print(f"\n{paint(text, BOLD)}\n{paint('─' * len(text), DIM)}")


def do(command: str) -> None:
    print(f"\n  {paint('›', CYAN)} {paint(f'session.{command}', CYAN)}")


def say(text: str) -> None:
    print(f"    {text}")


def line(label: str, text: str) -> None:
    print(f"    {paint(f'{label:<8}', DIM)} {text}")


def paint(text: str, *codes: str) -> str:
    return f"\033[{';'.join(codes)}m{text}\033[0m" if HAS_COLOURS and text else text


if __name__ == "__main__":
    asyncio.run(main())
