import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
import websockets
from websockets.asyncio.client import ClientConnection, connect

from pitstop.service.caller import LOCAL
from pitstop.service.runs import RunInfo
from tests.doors.http.bench import API, PATIENT, Bench
from tests.patience import PATIENCE_SECONDS

FLOW = "steps: [{id: a, run: 'true'}, {id: b, run: 'true'}]"


class Debugging:
    """A client of the debug socket."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.events: list[Any] = []
        self._id = 0

    async def say(self, verb: str, **body: Any) -> Any:
        """The result; a problem is raised as an assertion."""
        answer = await self.ask({"verb": verb, **body})
        assert "problem" not in answer, answer
        return answer["result"]

    async def ask(self, message: dict[str, Any]) -> Any:
        self._id += 1
        await self.socket.send(json.dumps({"id": self._id, **message}))
        while True:
            told = await self.hear()
            if "event" not in told:
                assert told["id"] == self._id
                return told

    async def hear(self) -> Any:
        async with asyncio.timeout(PATIENCE_SECONDS):
            told = json.loads(await self.socket.recv())
        if "event" in told:
            self.events.append(told["event"])
        return told

    async def wait_event(self, kind: str, above: int = 0) -> Any:
        while True:
            for event in self.events:
                if event["kind"] == kind and event["number"] > above:
                    return event
            await self.hear()


@asynccontextmanager
async def debugging(bench: Bench, run: str, token: str | None = None, **query: Any) -> AsyncIterator[Debugging]:
    headers = {"Authorization": f"Bearer {token or bench.token}"}
    asked = "&".join(f"{name}={value}" for name, value in query.items())
    url = f"ws://{urlsplit(bench.url).netloc}{API}/runs/{run}/debug/socket?{asked}"
    async with connect(url, additional_headers=headers, **PATIENT) as socket:
        yield Debugging(socket)


async def test_one_socket_is_enough_to_debug_a_run(bench: Bench) -> None:
    run = await bench.start(FLOW, debug={"stop_at_entry": True})
    async with debugging(bench, run["id"], after=0) as client:
        stopped = await client.wait_event("debug.stopped")
        state = await client.say("state")
        assert [stop["id"] for stop in state["stops"]] == [stopped["stop"]]
        await client.say("set", stop=stopped["stop"], path=".vars.x", value=1)
        assert (await client.say("evaluate", stop=stopped["stop"], expression=".vars.x + 1"))["values"] == [2]
        await client.say("step", stop=stopped["stop"], kind="over")
        second = await client.wait_event("debug.stopped", above=stopped["number"])
        assert second["step"] == "b"
        await client.say("detach")
        await client.wait_event("run.ended")
    assert [event["number"] for event in client.events] == list(range(1, len(client.events) + 1))
    actions = [entry["action"] for entry in (await bench.get("/audit", run=run["id"]))["entries"]]
    assert actions == ["detach", "debug_step", "debug_set", "start_run"]


async def test_without_a_number_only_new_events_are_told(bench: Bench) -> None:
    run = await bench.start(FLOW, debug={"stop_at_entry": True})
    (stop,) = await bench.wait_stops(run["id"])
    async with debugging(bench, run["id"]) as client:
        last = (await client.say("state"))["last_event"]
        await client.say("continue", stop=stop["id"])
        await client.wait_event("run.ended")
    assert client.events[0]["number"] == last + 1


async def test_what_comes_of_the_first_command_is_told_however_long_it_takes_to_look_up_the_run(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await bench.start("steps: [{sleep: 0s}]", debug={"stop_at_entry": True})
    (stop,) = await bench.wait_stops(run["id"])
    live = await bench.service.runs.get(LOCAL, run["id"])
    info = live.info

    async def slow_info() -> RunInfo:
        for _ in range(20):  # enough for a client that could go on meanwhile
            await bench.get("/me")
            if (await info()).status == "passed":
                break
        return await info()

    monkeypatch.setattr(live, "info", slow_info)
    async with debugging(bench, run["id"]) as client:
        last = (await client.say("state"))["last_event"]
        await client.say("continue", stop=stop["id"])
        await client.wait_event("run.ended")
    assert client.events[0]["number"] == last + 1


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"verb": "explode"}, "request"),
        ({"verb": None}, "request"),
        ({}, "request"),
        ({"verb": "continue"}, "request"),
        ({"verb": "continue", "stop": 1, "more": 1}, "request"),
        ({"verb": "continue", "stop": 999}, "refused.stale_stop"),
        ({"verb": "evaluate", "stop": 1, "expression": "nonsense("}, "expression"),
    ],
)
async def test_a_message_that_cannot_be_carried_out_is_answered_with_a_problem(
    bench: Bench, message: dict[str, Any], code: str
) -> None:
    run = await bench.start(FLOW, debug={"stop_at_entry": True})
    await bench.wait_stops(run["id"])
    async with debugging(bench, run["id"]) as client:
        assert (await client.ask(message))["problem"]["code"] == code
        assert (await client.say("state"))["stops"]


@pytest.mark.parametrize("text", ["", "{", "[]", "1", '{"id": "\\ud800"}', "[" * 5000, b"\xff\xfe"])
async def test_what_is_no_message_ends_nothing(bench: Bench, text: str | bytes) -> None:
    run = await bench.start(FLOW, debug={"stop_at_entry": True})
    await bench.wait_stops(run["id"])
    async with debugging(bench, run["id"]) as client:
        await client.socket.send(text)
        assert (await client.hear())["problem"]["code"] == "request"
        assert (await client.say("state"))["stops"]


async def test_the_socket_of_a_run_that_there_is_not_is_refused(bench: Bench) -> None:
    with pytest.raises(websockets.InvalidStatus) as refused:
        async with debugging(bench, "nope"):
            pass
    assert refused.value.response.status_code == 404
    assert json.loads(refused.value.response.body)["code"] == "unknown.run"


async def test_two_sockets_on_one_stop_step_once(bench: Bench) -> None:
    run = await bench.start(FLOW, debug={"stop_at_entry": True})
    (stop,) = await bench.wait_stops(run["id"])
    async with debugging(bench, run["id"]) as one, debugging(bench, run["id"]) as two:
        message = {"verb": "step", "stop": stop["id"], "kind": "over"}
        answers = await asyncio.gather(one.ask(message), two.ask(message))
    assert sorted("problem" in answer for answer in answers) == [False, True]


async def test_a_whole_session_needs_nothing_but_the_socket(bench: Bench) -> None:
    text = """
        vars: {region: eu}
        steps: [{id: a, run: 'true'}, {id: b, run: test -e ready}, {id: c, run: 'true'}, {id: d, run: 'true'}]
    """
    run = await bench.start(text, debug={"stop_at_entry": True})
    async with debugging(bench, run["id"], after=0) as client:
        stopped = await client.wait_event("debug.stopped")

        async def next_stop() -> Any:
            nonlocal stopped
            stopped = await client.wait_event("debug.stopped", above=stopped["number"])
            return stopped["stop"]

        added = await client.say("add_breakpoint", step="c", group="late")
        changed = await client.say("change_breakpoint", breakpoint=added["id"], condition="true", enabled=False)
        grouped = await client.say("enable_breakpoint_group", group="late", enabled=True)
        await client.say("add_breakpoint", step="d")
        listed = await client.say("breakpoints")
        await client.say("remove_breakpoint", breakpoint=listed[-1]["id"])
        assert (changed["request"]["condition"], changed["request"]["enabled"]) == ("true", False)
        assert [each["request"]["enabled"] for each in grouped if each["id"] == added["id"]] == [True]

        await client.say("continue", stop=stopped["stop"])
        failed = await next_stop()
        assert (stopped["step"], stopped["position"]) == ("b", "error")
        page = await client.say("variables", stop=failed, path=".vars")
        scope = await client.say("scope", stop=failed)
        config = await client.say("read_config", stop=failed)
        assert [each["name"] for each in page["variables"]] == ["region"]
        assert scope["scope"]["vars"] == {"region": "eu"}
        assert config["resolved"]["script"] == "test -e ready"

        await client.say("set", stop=failed, path=".vars.region", value="us")
        (bench.folder / "ready").touch()
        await client.say("retry", stop=failed)
        at_c = await next_stop()
        changes = await client.say("diff", stop=at_c)
        points = await client.say("history")
        between = await client.say("diff", **{"from": points[0]["number"], "to": points[-1]["number"]})
        assert stopped["step"] == "c"
        assert ".steps.b.status" in [change["path"] for change in changes]
        assert ".steps.a" in [change["path"] for change in between]

        await client.say("step", stop=at_c, kind="over")
        await client.say("step", stop=await next_stop(), kind="back")
        again = await next_stop()
        context = await client.say("context", stop=again)
        assert stopped["step"] == "c"
        assert context["join"] == f"pitstop debug {run['id']} --server {bench.url} --shell"
        await client.say("continue", all=True)
        ended = await client.wait_event("run.ended")
        assert (await client.say("state"))["is_ended"]
    assert ended["outcome"]["status"] == "passed"
    entries = (await bench.get("/audit", run=run["id"]))["entries"]
    assert {"breakpoint": listed[-1]["id"]} in [entry["detail"] for entry in entries]
    assert {entry["action"] for entry in entries} == {
        *("start_run", "add_breakpoint", "change_breakpoint", "enable_breakpoint_group", "remove_breakpoint"),
        *("debug_continue", "debug_set", "debug_retry", "debug_step"),
    }


async def test_a_viewer_may_look_over_the_socket_and_change_nothing(bench: Bench) -> None:
    run = await bench.start(FLOW, debug={"stop_at_entry": True})
    (stop,) = await bench.wait_stops(run["id"])
    made = await bench.post("/tokens", 201, name="guest", role="viewer")
    async with debugging(bench, run["id"], made["token"]) as client:
        assert (await client.say("scope", stop=stop["id"]))["cut"] == []
        assert (await client.say("breakpoints"))[0]["request"]["position"] == "error"
        for message in (
            {"verb": "set", "stop": stop["id"], "path": ".vars.x", "value": 1},
            {"verb": "evaluate", "stop": stop["id"], "expression": ".vars"},
            {"verb": "remove_breakpoint", "breakpoint": 1},
            {"verb": "detach"},
        ):
            assert (await client.ask(message))["problem"]["code"] == "access.not_permitted"
        assert (await client.say("state"))["stops"]
