"""Graphs in Python: launched by name, stopped at the lines of their functions, looked at, changed and tried again."""

from pathlib import Path
from typing import Any

import pytest

from tests.doors.dap.adapter_client import AdapterClient
from tests.doors.dap.flows import line_of

FETCH, DOUBLE, ADD = (line_of("sums.py", f"def {name}(") for name in ("fetch", "double", "add"))
STATE = {"count": 1, "port": 5432}


async def launch(adapter: AdapterClient, program: str = "sums.py:app", **more: Any) -> list[dict[str, Any]]:
    more = {"inputs": STATE, "cwd": str(adapter.folder), **more}
    return await adapter.launch(program, source="sums.py", **more)


@pytest.mark.parametrize("program", ["sums.py:app", "sums:app", "sums.py:graph"])
async def test_a_graph_is_launched_by_its_file_or_its_module(adapter: AdapterClient, program: str) -> None:
    await launch(adapter, program, stopOnEntry=True)
    stop = await adapter.stopped()

    frames = await adapter.stack(stop)
    assert [each["name"] for each in frames] == ["fetch", "sums"]
    assert (frames[0]["source"]["path"], frames[0]["line"]) == (str(adapter.folder / "sums.py"), FETCH)
    assert frames[0]["endLine"] == FETCH
    await adapter.ask("continue", threadId=1)
    assert await adapter.ended() == 0


async def test_a_breakpoint_on_any_line_of_a_function_stops_before_its_node(adapter: AdapterClient) -> None:
    helper = line_of("sums.py", "def helper")
    told = await launch(adapter, lines=(FETCH + 2, DOUBLE + 1, helper))

    assert [(each["verified"], each.get("line")) for each in told] == [(True, FETCH), (True, DOUBLE), (False, helper)]
    assert told[2]["message"] == "there is no node function on this line"
    for place in ("fetch", "inner.double"):
        stop = await adapter.stopped()
        assert (stop["reason"], (await adapter.stack(stop))[0]["name"]) == ("breakpoint", place)
        await adapter.ask("continue", threadId=1)
    assert await adapter.ended() == 0


async def test_a_function_breakpoint_names_a_node_or_all_of_them(adapter: AdapterClient) -> None:
    await launch(adapter, stopOnEntry=True)
    await adapter.stopped()
    told = await adapter.ask("setFunctionBreakpoints", breakpoints=[{"name": "add"}, {"name": "double"}])
    assert [each["line"] for each in told["breakpoints"]] == [ADD, DOUBLE]
    await adapter.ask("continue", threadId=1)
    assert (await adapter.stack(await adapter.stopped()))[0]["name"] == "inner.double"
    await adapter.ask("setFunctionBreakpoints", breakpoints=[{"name": "node"}])
    await adapter.ask("continue", threadId=1)

    assert (await adapter.stack(await adapter.stopped()))[0]["name"] in ("left", "right")


async def test_next_goes_over_an_inner_graph_and_step_in_into_it(adapter: AdapterClient) -> None:
    await launch(adapter, lines=(FETCH,))
    await adapter.stopped()
    await adapter.ask("next", threadId=1)
    assert (await adapter.stack(await adapter.stopped()))[0]["name"] == "inner"
    await adapter.ask("stepIn", threadId=1)
    inside = await adapter.stopped()
    assert [each["name"] for each in await adapter.stack(inside)] == ["inner.double", "inner", "sums"]
    await adapter.ask("stepOut", threadId=1)

    stop = await adapter.stopped()
    assert (await adapter.stack(stop))[0]["name"] in ("left", "right")


async def test_the_branches_of_a_graph_are_threads(adapter: AdapterClient) -> None:
    await launch(adapter, lines=(line_of("sums.py", "def left"), line_of("sums.py", "def right")))
    first = await adapter.stopped()
    names = {each["name"] for each in (await adapter.ask("threads"))["threads"]}
    assert names == {"main", "left", "right"}
    await adapter.ask("continue", threadId=first["threadId"])
    second = await adapter.stopped()
    assert second["threadId"] != first["threadId"]
    await adapter.ask("continue", threadId=second["threadId"])

    assert await adapter.ended() == 0


async def test_a_failed_node_is_repaired_and_tried_again(adapter: AdapterClient) -> None:
    await launch(adapter, filters=("failed",), inputs={"count": 1, "port": 54321})
    stop = await adapter.stopped()
    assert (stop["reason"], stop["text"]) == ("exception", "ConnectionError: nobody answers at 54321")
    frame = (await adapter.stack(stop))[0]
    assert (frame["name"], frame["line"]) == ("add (error)", ADD)
    told = await adapter.ask("exceptionInfo", threadId=stop["threadId"])
    assert (told["exceptionId"], told["breakMode"]) == ("ConnectionError", "unhandled")
    assert f'sums.py", line {ADD + 2}, in add' in told["details"]["stackTrace"]
    state = await adapter.state(stop)
    assert (state["count"]["value"], state["port"]["value"]) == ("4", "54321")
    await adapter.ask("setExpression", expression=".port", value="5432", frameId=frame["id"])
    await adapter.ask("setFunctionBreakpoints", breakpoints=[{"name": "add:after"}])
    assert await adapter.evaluate("retry") == "add retried"
    again = await adapter.stopped()

    assert (await adapter.stack(again))[0]["name"] == "add#2 (after)"
    assert await adapter.evaluate(".sum") == "8"
    await adapter.ask("continue", threadId=1)
    assert await adapter.ended() == 0


async def test_going_back_in_a_graph(adapter: AdapterClient) -> None:
    await launch(adapter, lines=(FETCH, DOUBLE))
    await adapter.stopped()
    await adapter.ask("continue", threadId=1)
    assert await adapter.evaluate(".count", (await adapter.stack(await adapter.stopped()))[0]["id"]) == "2"
    await adapter.ask("reverseContinue", threadId=1)

    stop = await adapter.stopped()
    assert (await adapter.stack(stop))[0]["name"] == "fetch"
    assert await adapter.evaluate(".count") == "1"


async def test_what_a_node_prints_is_told_with_its_place(adapter: AdapterClient) -> None:
    await launch(adapter)
    assert await adapter.ended() == 0

    (said,) = [each for each in adapter.events_named("output") if each["category"] == "stdout"]
    assert (said["output"], said["line"]) == ("fetching 1\n", FETCH)
    assert said["source"]["path"] == str(adapter.folder / "sums.py")


async def test_code_that_blocks_keeps_no_request_waiting(adapter: AdapterClient, folder: Path) -> None:
    (folder / "blocking.py").write_text(
        "import time\nfrom pitstop import END, START, Graph\n\n"
        "def block(state):\n    print('blocking')\n    time.sleep(3600)\n\n"
        "app = Graph('blocking')\napp.add_node('block', block)\n"
        "app.add_edge(START, 'block')\napp.add_edge('block', END)\n"
    )
    await adapter.launch("blocking.py:app", source="blocking.py")
    await adapter.event("output", lambda body: body["output"] == "blocking\n")
    assert (await adapter.ask("threads"))["threads"] == [{"id": 1, "name": "main"}]
    await adapter.ask("pause", threadId=1)
    assert "Will pause after the current step" in (await adapter.stopped())["description"]

    assert await adapter.leave() == 0


async def test_a_restart_runs_the_code_as_it_is_now(adapter: AdapterClient, folder: Path) -> None:
    await launch(adapter, stopOnEntry=True)
    await adapter.stopped()
    text = (folder / "sums.py").read_text()
    (folder / "sums.py").write_text(text.replace("fetching", "now fetching"))
    await adapter.ask("restart")
    await adapter.stopped()
    await adapter.ask("continue", threadId=1)
    assert await adapter.ended() == 0

    assert "now fetching 1\n" in adapter.output("stdout")


@pytest.mark.parametrize(
    ("code", "name", "line", "reason"),
    [
        ("x = 1\nx.y\n", "app", 2, "AttributeError: 'int' object has no attribute 'y'"),
        ("def f(:\n", "app", 1, "SyntaxError"),
        ("import sys\nsys.exit(3)\n", "app", 2, "SystemExit: 3"),
        ("from pitstop import Graph\nap = Graph()\n", "app", 1, "there is no 'app'; did you mean 'ap'?"),
        ("app = 7\n", "app", 1, "app has type int: use a graph"),
        ("from pitstop import Graph\napp = Graph()\n", "app", 1, "nothing follows START"),
        ("from pitstop import Graph\n\napp = Graph().compile()\n", "app", 3, "nothing follows START"),
    ],
)
async def test_code_that_is_no_graph_is_a_failed_launch_that_shows_where(
    adapter: AdapterClient, folder: Path, code: str, name: str, line: int, reason: str
) -> None:
    (folder / "broken_graph.py").write_text(code)
    await adapter.initialize()
    refused = await adapter.refusal("launch", program=str(folder / f"broken_graph.py:{name}"))

    assert reason in refused.message and reason in refused.error["format"] and refused.error["showUser"]
    (shown,) = [each for each in adapter.events_named("output") if each["category"] == "stderr"]
    assert shown["line"] == line


async def test_a_graph_is_not_sent_to_a_server(adapter: AdapterClient) -> None:
    await adapter.initialize()
    refused = await adapter.refusal("launch", program="sums.py:app", server="http://127.0.0.1:9", cwd="/")

    assert "a graph cannot run on a server" in refused.message
