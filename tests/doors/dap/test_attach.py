"""Runs of a server: attached to, debugged beside other clients, left going or standing."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pitstop.service.caller import LOCAL
from pitstop.service.debugging import verbs
from pitstop.service.runs import BreakpointRequest, DebugRequest, RunRequest
from tests.doors.dap.adapter_client import AdapterClient, written
from tests.doors.dap.flows import SHOP, line_of
from tests.doors.dap.protocol import check_conversation
from tests.doors.http.bench import Bench

LAST = line_of("shop.yaml", "id: last")


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Bench]:
    async with Bench(tmp_path).serving() as bench:
        yield bench


async def paused_run(server: Bench, text: str = SHOP) -> Any:
    """A run of the server that stands before its first step."""
    debug = DebugRequest(stop_at_entry=True)
    request = RunRequest(flow="shop.yaml", text=text, folder=str(server.folder), debug=debug)
    run = await server.service.runs.start(LOCAL, request)
    async for event in run.events():
        if event.kind == "debug.stopped":
            break
    return run


async def attach(adapter: AdapterClient, server: Bench, run: str, **more: Any) -> None:
    await adapter.initialize()
    attaching = adapter.send("attach", {"run": run, "server": server.url, "token": server.token, **more})
    await adapter.event("initialized")
    await adapter.ask("setExceptionBreakpoints", filters=[])
    await adapter.ask("configurationDone")
    response = await adapter.answer(attaching)
    assert response["success"], response


async def test_a_run_that_stands_is_shown_where_it_stands(adapter: AdapterClient, server: Bench) -> None:
    run = await paused_run(server)
    await attach(adapter, server, run.id)

    stop = await adapter.stopped()
    (frame, *_) = await adapter.stack(stop)
    assert frame["name"] == "version"
    assert await adapter.evaluate(".vars.region", frame["id"]) == '"eu"'
    await adapter.ask("next", threadId=1)
    assert (await adapter.stack(await adapter.stopped()))[0]["name"] == "checks"
    await adapter.ask("continue", threadId=1)
    assert await adapter.ended() == 0
    assert "eu Ada\n" in adapter.output("stdout")


async def test_a_source_that_is_not_here_is_had_from_the_run(adapter: AdapterClient, server: Bench) -> None:
    text = f"{SHOP}# as the server has it\n"
    run = await paused_run(server, text)
    await attach(adapter, server, run.id)
    (frame, *_) = await adapter.stack(await adapter.stopped())
    reference = frame["source"]["sourceReference"]

    assert (await adapter.ask("source", sourceReference=reference))["content"] == text
    told = await adapter.ask("setBreakpoints", source={"sourceReference": reference}, breakpoints=[{"line": LAST}])
    assert told["breakpoints"][0]["verified"]
    await adapter.ask("continue", threadId=1)
    assert (await adapter.stack(await adapter.stopped()))[0]["name"] == "last"


async def test_a_client_that_leaves_lets_the_run_go_on(adapter: AdapterClient, server: Bench) -> None:
    run = await paused_run(server)
    await attach(adapter, server, run.id)
    await adapter.stopped()
    assert await adapter.leave() == 0

    assert (await run.wait()).status == "passed"


async def test_a_client_that_leaves_a_run_that_is_about_to_stand_lets_it_go_on(
    adapter: AdapterClient, server: Bench
) -> None:
    hold = "touch holding; until test -e go; do sleep 0.05; done"
    run = await paused_run(server, f"name: slow\nsteps:\n  - run: {hold}\n  - run: echo after\n")
    await attach(adapter, server, run.id)
    await adapter.stopped()
    await adapter.ask("continue", threadId=1)
    await written(server.folder / "holding")
    await adapter.ask("pause", threadId=1)
    assert "Will pause after the current step" in (await adapter.stopped())["description"]
    assert await adapter.leave() == 0
    (server.folder / "go").touch()

    assert (await run.wait()).status == "passed"


async def test_a_client_can_leave_a_run_standing(adapter: AdapterClient, server: Bench) -> None:
    run = await paused_run(server)
    await attach(adapter, server, run.id)
    await adapter.stopped()
    assert await adapter.leave(suspendDebuggee=True) == 0

    state = await server.service.debugging.say(LOCAL, run.id, verbs.State())
    assert [stop.step for stop in state.stops] == ["version"]
    await server.service.debugging.say(LOCAL, run.id, verbs.Continue(all=True))
    assert (await run.wait()).status == "passed"


async def test_a_client_can_end_a_run_that_it_has_attached_to(adapter: AdapterClient, server: Bench) -> None:
    run = await paused_run(server)
    await attach(adapter, server, run.id)
    await adapter.stopped()
    await adapter.leave(terminateDebuggee=True)

    assert (await run.wait()).status == "cancelled"


async def test_what_another_client_does_is_told(adapter: AdapterClient, server: Bench) -> None:
    run = await paused_run(server)
    await attach(adapter, server, run.id)
    await adapter.stopped()
    await server.service.debugging.say(LOCAL, run.id, BreakpointRequest(step="last"))
    await server.service.debugging.say(LOCAL, run.id, verbs.Continue(all=True))

    assert await adapter.event("continued") == {"threadId": 1, "allThreadsContinued": True}
    stop = await adapter.stopped()
    assert (stop["reason"], stop["hitBreakpointIds"]) == ("breakpoint", [])
    assert (await adapter.stack(stop))[0]["name"] == "last"


async def test_a_stop_is_told_though_the_run_is_further_than_the_adapter(adapter: AdapterClient, server: Bench) -> None:
    run = await paused_run(server)
    await attach(adapter, server, run.id)
    await adapter.stopped()
    await server.service.debugging.say(LOCAL, run.id, BreakpointRequest(step="last"))
    with adapter.held():
        await server.service.debugging.say(LOCAL, run.id, verbs.Continue(all=True))
        async for event in run.events():
            if event.kind == "debug.stopped" and event.fields["step"] == "last":
                break

    assert await adapter.event("continued") == {"threadId": 1, "allThreadsContinued": True}
    assert (await adapter.stack(await adapter.stopped()))[0]["name"] == "last"


async def test_two_editors_on_one_run_see_the_same(folder: Path, server: Bench) -> None:
    run = await paused_run(server)
    async with AdapterClient(folder) as one, AdapterClient(folder) as two:
        await attach(one, server, run.id)
        await attach(two, server, run.id)
        await one.stopped()
        await two.stopped()
        await one.ask("next", threadId=1)
        assert (await one.stack(await one.stopped()))[0]["name"] == "checks"
        await two.event("continued")
        assert (await two.stack(await two.stopped()))[0]["name"] == "checks"
        await two.ask("continue", threadId=1)
        assert (await one.ended(), await two.ended()) == (0, 0)
    check_conversation(one.trace)
    check_conversation(two.trace)


async def test_a_flow_is_launched_on_a_server(adapter: AdapterClient, server: Bench) -> None:
    await adapter.launch("shop.yaml", server=server.url, token=server.token, lines=(LAST,))

    (frame, *_) = await adapter.stack(await adapter.stopped())
    assert frame["name"] == "last"
    assert frame["source"]["path"] == str(adapter.folder / "shop.yaml")
    await adapter.ask("continue", threadId=1)
    assert await adapter.ended() == 0


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({}, "attach needs `run`"),
        ({"run": "x", "server": "http://127.0.0.1:9", "token": "t"}, "127.0.0.1:9"),
    ],
)
async def test_what_cannot_be_attached_to_is_refused_with_the_reason(
    adapter: AdapterClient, arguments: dict[str, str], reason: str
) -> None:
    await adapter.initialize()

    assert reason in (await adapter.refusal("attach", **arguments)).message


async def test_a_run_or_a_token_that_there_is_not_is_refused(adapter: AdapterClient, server: Bench) -> None:
    await adapter.initialize()
    unknown = await adapter.refusal("attach", run="nobody", server=server.url, token=server.token)
    assert "nobody" in unknown.message
    await adapter.refusal("attach", run="nobody", server=server.url, token="wrong")
    assert "cannot restart an attached run" in (await _refused_restart(adapter, server)).message


async def _refused_restart(adapter: AdapterClient, server: Bench) -> Any:
    run = await paused_run(server)
    attaching = adapter.send("attach", {"run": run.id, "server": server.url, "token": server.token})
    await adapter.event("initialized")
    await adapter.ask("configurationDone")
    await adapter.answer(attaching)
    await adapter.stopped()
    return await adapter.refusal("restart")
