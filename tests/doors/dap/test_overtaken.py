"""Runs of a server that are further than the adapter has heard: somebody else moves them in the middle of a request."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from pitstop.doors.dap.serving import serve_client
from pitstop.errors import ServerBusy
from pitstop.runs.local_debugger import LocalDebugger
from pitstop.runs.verb_table import VERB_OF
from pitstop.service.caller import LOCAL
from pitstop.service.debugging import Request, verbs
from pitstop.service.desks import Service
from pitstop.service.remote.connection import Connection
from pitstop.service.runs import RunQuery
from tests.doors.dap.adapter_client import AdapterClient, frame
from tests.doors.dap.flows import line_of
from tests.doors.dap.test_attach import attach, paused_run
from tests.doors.http.bench import Bench
from tests.patience import PATIENCE_SECONDS

LAST = line_of("shop.yaml", "id: last")

Move = Callable[[], Coroutine[Any, Any, object]]
Overtake = Callable[..., None]


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Bench]:
    async with Bench(tmp_path).serving() as bench:
        yield bench


@pytest.fixture
def overtake(monkeypatch: pytest.MonkeyPatch) -> Overtake:
    """Let somebody else move, once, when the server is just about to do something, or when it has just done it."""

    def overtake(verb: str, move: Move, *, is_late: bool = False) -> None:
        say = LocalDebugger.say
        moves = [move]

        async def say_overtaken(self: LocalDebugger, request: Request[Any]) -> Any:
            moving = moves.pop() if moves and VERB_OF[type(request)].name == verb else None
            if moving is not None and not is_late:
                await moving()
            done = await say(self, request)
            if moving is not None and is_late:
                await moving()
            return done

        monkeypatch.setattr(LocalDebugger, "say", say_overtaken)

    return overtake


async def the_run(server: Bench) -> Any:
    (info,) = (await server.service.runs.list(LOCAL, RunQuery())).runs
    return await server.service.runs.get(LOCAL, info.id)


async def happens(run: Any, kind: str, **fields: Any) -> None:
    async for event in run.events():
        if event.kind == kind and fields.items() <= event.fields.items():
            return


async def test_a_step_is_for_the_stop_that_the_client_was_told_of_and_for_no_later_one(
    adapter: AdapterClient, server: Bench, overtake: Overtake
) -> None:
    run = await paused_run(server)
    await attach(adapter, server, run.id)
    await adapter.stopped()

    async def step() -> None:
        await server.service.debugging.say(LOCAL, run.id, verbs.Step(1, "over"))
        await happens(run, "debug.stopped", step="checks")

    overtake("state", step)
    await adapter.ask("next", threadId=1)

    assert (await adapter.stack(await adapter.stopped()))[0]["name"] == "checks"


async def test_the_log_of_a_stop_that_has_ended_is_refused_and_that_is_no_error_of_ours(
    adapter: AdapterClient, server: Bench, overtake: Overtake
) -> None:
    run = await paused_run(server)
    await attach(adapter, server, run.id)
    await adapter.stopped()
    overtake("state", lambda: server.service.debugging.say(LOCAL, run.id, verbs.Continue(all=True)))
    refused = await adapter.refusal("evaluate", expression="log", context="repl")

    assert (refused.message, refused.error["showUser"]) == ("this step belongs to a stop that has ended", False)
    assert await adapter.ended() == 0


async def test_a_branch_that_somebody_else_has_let_go_is_told_though_our_own_word_was_refused(
    adapter: AdapterClient, server: Bench, overtake: Overtake
) -> None:
    run = await paused_run(server)
    await attach(adapter, server, run.id)
    await adapter.stopped()
    overtake("continue", lambda: server.service.debugging.say(LOCAL, run.id, verbs.Continue(all=True)))
    refused = await adapter.refusal("continue", threadId=1, singleThread=True)

    assert "stop 1" in refused.message
    assert await adapter.event("continued") == {"threadId": 1, "allThreadsContinued": True}
    assert await adapter.ended() == 0


async def test_a_failure_that_is_over_before_its_filter_is_asked_is_followed_by_what_follows(
    adapter: AdapterClient, server: Bench, overtake: Overtake
) -> None:
    await adapter.launch("failures.yaml", server=server.url, token=server.token, stopOnEntry=True)
    await adapter.stopped()
    run = await the_run(server)
    options = [{"filterId": "failed", "condition": "true"}]
    await adapter.ask("setExceptionBreakpoints", filters=[], filterOptions=options)
    overtake("evaluate", lambda: server.service.debugging.say(LOCAL, run.id, verbs.Continue(all=True)))
    await adapter.ask("continue", threadId=1)

    assert (await adapter.stack(await adapter.stopped()))[0]["name"] == "again (error)"


async def test_a_run_that_ends_while_it_is_attached_to_is_told_as_it_ended(
    adapter: AdapterClient, server: Bench, overtake: Overtake
) -> None:
    run = await paused_run(server)

    async def end() -> None:
        await server.service.debugging.say(LOCAL, run.id, verbs.Continue(all=True))
        await run.wait()

    overtake("add_breakpoint", end)
    await adapter.initialize()
    attaching = adapter.send("attach", {"run": run.id, "server": server.url, "token": server.token})
    await adapter.event("initialized")
    path = {"path": str(adapter.folder / "shop.yaml")}
    await adapter.ask("setBreakpoints", source=path, breakpoints=[{"line": LAST}])
    await adapter.ask("setFunctionBreakpoints", breakpoints=[{"name": "last"}])
    await adapter.ask("configurationDone")
    await adapter.answer(attaching)

    assert await adapter.ended() == 0


async def test_nothing_is_left_in_a_run_that_is_left_while_it_is_attached_to(
    adapter: AdapterClient, server: Bench, overtake: Overtake
) -> None:
    run = await paused_run(server)
    is_adding, may_add = asyncio.Event(), asyncio.Event()

    async def add_late() -> None:
        is_adding.set()
        await may_add.wait()

    overtake("add_breakpoint", add_late)
    await adapter.initialize()
    await adapter.ask("attach", run=run.id, server=server.url, token=server.token)
    await adapter.ask("setFunctionBreakpoints", breakpoints=[{"name": "last"}])
    await adapter.ask("configurationDone")
    await is_adding.wait()
    adapter.send("disconnect", {"terminateDebuggee": False})
    await adapter.evaluate("help")  # which comes after it
    may_add.set()

    assert await adapter.exit_code() == 0
    assert (await run.wait()).status == "passed"


async def busy() -> None:
    raise ServerBusy("try again in a moment")


async def test_a_server_that_is_busy_for_a_moment_is_asked_again_what_its_run_does(
    adapter: AdapterClient, server: Bench, overtake: Overtake
) -> None:
    run = await paused_run(server)
    await attach(adapter, server, run.id)
    await adapter.stopped()
    overtake("state", busy)
    await server.service.debugging.say(LOCAL, run.id, verbs.Step(1, "over"))

    assert (await adapter.stack(await adapter.stopped()))[0]["name"] == "checks"
    await adapter.ask("continue", threadId=1)
    assert await adapter.ended() == 0


async def test_a_stop_that_is_told_later_is_told_though_the_server_is_busy_for_a_moment(
    adapter: AdapterClient, server: Bench, overtake: Overtake
) -> None:
    lines = (line_of("shop.yaml", "id: left"), line_of("shop.yaml", "id: right"))
    await adapter.launch("shop.yaml", server=server.url, token=server.token, lines=lines)
    first = await adapter.stopped()
    await happens(await the_run(server), "debug.stopped", stop=2)

    async def answer_and_be_busy_then() -> None:
        overtake("state", busy)

    async def be_busy_later() -> None:
        overtake("state", answer_and_be_busy_then)

    overtake("continue", be_busy_later)
    await adapter.ask("continue", threadId=first["threadId"])
    second = await adapter.stopped()

    assert second["threadId"] != first["threadId"]
    await adapter.ask("continue", threadId=second["threadId"])
    assert await adapter.ended() == 0


async def test_a_step_whose_answer_is_lost_is_told_by_what_comes_of_it(
    adapter: AdapterClient, server: Bench, overtake: Overtake
) -> None:
    run = await paused_run(server)
    await attach(adapter, server, run.id)
    await adapter.stopped()
    overtake("step", busy, is_late=True)
    refused = await adapter.refusal("next", threadId=1)

    assert refused.message == "try again in a moment"
    assert (await adapter.event("continued"))["threadId"] == 1
    assert (await adapter.stack(await adapter.stopped()))[0]["name"] == "checks"


def nobody() -> AbstractAsyncContextManager[Service]:
    raise AssertionError("nothing runs here")


async def test_a_server_is_asked_nothing_more_once_it_is_left(server: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    run = await paused_run(server)
    close = Connection.close

    async def close_and_see_who_asks(connection: Connection) -> None:
        await close(connection)
        following = [task for task in asyncio.all_tasks() if task.get_name() == "run"]
        if following:
            await asyncio.wait(following)

    monkeypatch.setattr(Connection, "close", close_and_see_who_asks)
    reader = asyncio.StreamReader()
    has_begun = asyncio.Event()

    def hear(data: bytes) -> None:
        if b'"stopped"' in data:
            has_begun.set()

    def say(seq: int, command: str, **arguments: Any) -> None:
        request = {"seq": seq, "type": "request", "command": command, "arguments": arguments}
        reader.feed_data(frame(json.dumps(request).encode()))

    async with asyncio.timeout(PATIENCE_SECONDS), asyncio.TaskGroup() as tasks:
        serving = tasks.create_task(serve_client(reader, hear, nobody))
        say(1, "initialize", adapterID="pitstop")
        say(2, "attach", run=run.id, server=server.url, token=server.token)
        say(3, "configurationDone")
        await has_begun.wait()
        say(4, "disconnect", suspendDebuggee=True)

    assert serving.result(), "something was debugged, and nothing was raised"


NESTED = """\
name: nested
steps:
  - id: both
    parallel:
      - id: left
        steps:
          - {id: first, run: echo first}
          - {id: second, run: until test -e second; do sleep 0.05; done}
          - {id: third, run: echo third}
      - id: right
        steps:
          - {id: hold, run: until test -e hold; do sleep 0.05; done}
          - id: inner
            parallel:
              - {id: one, run: until test -e inner; do sleep 0.05; done}
              - {id: two, run: until test -e inner; do sleep 0.05; done}
"""


async def test_a_branch_that_opens_while_the_others_are_asked_to_wait_waits_as_they_do(
    adapter: AdapterClient, server: Bench, overtake: Overtake
) -> None:
    folder = adapter.folder
    (folder / "nested.yaml").write_text(NESTED.replace("test -e ", f"test -e {folder}/"))

    async def open_more() -> None:
        (folder / "hold").touch()
        await happens(await the_run(server), "step.started", occurrence="both.right.inner.two")

    overtake("pause", open_more)
    await adapter.launch("nested.yaml", server=server.url, token=server.token, lines=(7,))
    stop = await adapter.stopped()
    await adapter.ask("next", threadId=stop["threadId"])
    assert (await adapter.stack(await adapter.stopped()))[0]["name"] == "both.left.second"
    await adapter.ask("next", threadId=stop["threadId"])
    (folder / "inner").touch()
    await happens(await the_run(server), "debug.stopped", occurrence="both.right.inner.two")
    (folder / "second").touch()

    assert (await adapter.stack(await adapter.stopped()))[0]["name"] == "both.left.third"


@pytest.mark.parametrize(
    ("command", "place"),
    [("skip", "connect (after)"), ("force passed", "connect (after)"), ("force failed", "connect (error)")],
)
async def test_a_step_that_is_decided_in_the_console_stops_at_its_end_however_soon_that_comes(
    adapter: AdapterClient, server: Bench, overtake: Overtake, command: str, place: str
) -> None:
    lines = (line_of("broken.yaml", "id: connect"),)
    await adapter.launch("broken.yaml", server=server.url, token=server.token, lines=lines)
    await adapter.stopped()
    run = await the_run(server)

    async def further() -> None:
        async for event in run.events():
            if event.kind == "run.ended" or (event.kind == "debug.stopped" and event.fields["stop"] > 1):
                return

    overtake(command.partition(" ")[0], further, is_late=True)
    await adapter.evaluate(command)

    assert (await adapter.stack(await adapter.stopped()))[0]["name"] == place


async def test_a_step_that_fails_again_is_told_however_soon_that_comes(
    adapter: AdapterClient, server: Bench, overtake: Overtake
) -> None:
    filters = ("failed",)
    await adapter.launch("broken.yaml", server=server.url, token=server.token, filters=filters)
    await adapter.stopped()
    run = await the_run(server)

    async def at_its_failure() -> None:
        await happens(run, "debug.stopped", occurrence="connect#2")

    overtake("retry", at_its_failure, is_late=True)
    assert await adapter.evaluate("retry") == "connect retried"
    assert (await adapter.stack(await adapter.stopped()))[0]["name"] == "connect#2 (error)"
    await adapter.ask("continue", threadId=1)
    assert await adapter.ended() == 1
