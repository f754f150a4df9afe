"""Stepping into Python: on in a Python debugger at the first line of the function, and back in the flow after it."""

import json
import venv
from pathlib import Path
from typing import Any

import pytest

from tests.doors.dap.adapter_client import AdapterClient, gone
from tests.doors.dap.flows import line_of
from tests.doors.dap.python_client import PythonClient

TOTAL = line_of("prices.py", "def total")
FETCH = line_of("sums.py", "def fetch")
STATE = {"count": 1, "port": 5432}


async def launch_graph(adapter: AdapterClient, **more: Any) -> None:
    await adapter.launch("sums.py:app", source="sums.py", inputs=STATE, stopOnEntry=True, **more)


async def place(adapter: AdapterClient, stop: dict[str, Any]) -> str:
    name: str = (await adapter.stack(stop, levels=1))[0]["name"]
    return name


async def test_step_in_goes_on_in_the_function_of_a_python_step_and_step_out_comes_back(adapter: AdapterClient) -> None:
    await adapter.launch("calling.yaml", stopOnEntry=True)
    await adapter.stopped()
    await adapter.ask("stepIn", threadId=1)
    waiting = await adapter.event("pitstop/python")
    assert (waiting["file"], waiting["line"]) == (str(adapter.folder / "prices.py"), TOTAL)

    async with PythonClient(waiting["host"], waiting["port"]) as python:
        thread, frame = await python.stopped_in()
        assert (frame["name"], frame["line"]) == ("total", TOTAL + 1)
        assert (await python.variables(frame["id"]))["prices"] == "[100, 20, 3]"
        await python.ask("next", threadId=thread)
        _, frame = await python.stopped_in()
        assert (frame["line"], (await python.variables(frame["id"]))["found"]) == (TOTAL + 2, "123")
        await python.ask("stepOut", threadId=thread)
        stop = await adapter.stopped()

        assert python.stops() == 2, "nobody has to step through what calls the function"
    assert (stop["reason"], await place(adapter, stop)) == ("step", "later")
    assert await adapter.evaluate(".steps.price.outputs.total") == "246"
    assert await adapter.evaluate(".steps.price.status") == '"passed"'


async def test_somebody_with_another_editor_is_told_how_to_attach(adapter: AdapterClient) -> None:
    await adapter.launch("calling.yaml", stopOnEntry=True)
    await adapter.stopped()
    await adapter.ask("stepIn", threadId=1)
    told = await adapter.event("output", lambda body: "is waiting for a Python debugger" in body["output"])
    waiting = await adapter.event("pitstop/python")

    attach = json.loads(told["output"].partition("attach with ")[2])
    connect = {"host": waiting["host"], "port": waiting["port"]}
    assert attach == {"type": "debugpy", "request": "attach", "connect": connect}
    assert (waiting["host"], told["line"]) == ("127.0.0.1", line_of("calling.yaml", "id: price"))


async def test_continue_in_python_lets_the_flow_go_on_to_its_next_step(adapter: AdapterClient) -> None:
    """Also in an async function."""
    await adapter.launch("calling.yaml", lines=(line_of("calling.yaml", "id: later"),))
    await adapter.stopped()
    await adapter.ask("stepIn", threadId=1)
    waiting = await adapter.event("pitstop/python")
    async with PythonClient(waiting["host"], waiting["port"]) as python:
        thread, frame = await python.stopped_in()
        assert frame["name"] == "later"
        await python.ask("continue", threadId=thread)
        stop = await adapter.stopped()

    assert await place(adapter, stop) == "said"
    await adapter.ask("continue", threadId=1)
    assert await adapter.ended() == 0


async def test_the_time_in_python_is_not_charged_to_the_step(adapter: AdapterClient) -> None:
    await adapter.launch("calling.yaml", stopOnEntry=True)
    await adapter.stopped()
    await adapter.ask("stepIn", threadId=1)
    waiting = await adapter.event("pitstop/python")
    async with PythonClient(waiting["host"], waiting["port"]) as python:
        thread, frame = await python.stopped_in()
        await python.ask("evaluate", expression="__import__('time').sleep(1)", frameId=frame["id"], context="repl")
        await python.ask("continue", threadId=thread)
        await adapter.stopped()
    await adapter.leave()

    (log,) = (adapter.folder / "home").glob("runs/*/events.jsonl")
    events = [json.loads(line) for line in log.read_text().splitlines()]
    (ended,) = [each for each in events if each["kind"] == "step.finished" and each["step"] == "price"]
    assert ended["outcome"]["status"] == "passed"
    assert ended["outcome"]["paused_seconds"] >= 1


async def test_next_runs_a_python_step_through(adapter: AdapterClient) -> None:
    await adapter.launch("calling.yaml", stopOnEntry=True)
    await adapter.stopped()
    await adapter.ask("next", threadId=1)

    assert await place(adapter, await adapter.stopped()) == "later"
    assert adapter.events_named("pitstop/python") == []


async def test_step_in_goes_on_in_the_function_of_a_node_and_comes_back_to_the_graph(adapter: AdapterClient) -> None:
    await launch_graph(adapter)
    await adapter.stopped()
    await adapter.ask("stepIn", threadId=1)
    waiting = await adapter.event("pitstop/python")
    assert (waiting["file"], waiting["line"]) == (str(adapter.folder / "sums.py"), FETCH)

    async with PythonClient(waiting["host"], waiting["port"]) as python:
        thread, frame = await python.stopped_in()
        assert (frame["name"], frame["line"]) == ("fetch", FETCH + 1)
        assert (await python.variables(frame["id"]))["state"] == "{'count': 1, 'port': 5432}"
        assert (await adapter.ask("threads"))["threads"][0]["name"] == "main", "the adapter is not held up with it"
        await python.ask("stepOut", threadId=thread)
        stop = await adapter.stopped()
        assert await place(adapter, stop) == "inner"
        assert await adapter.evaluate(".count") == "2"

        await adapter.ask("stepIn", threadId=1)
        assert await place(adapter, await adapter.stopped()) == "inner.double"
        await adapter.ask("stepIn", threadId=1)
        thread, frame = await python.stopped_in()
        assert frame["name"] == "double"
        assert adapter.events_named("pitstop/python") == [waiting], "a debugger that is attached is not announced"
        assert adapter.output("console").count("is waiting for a Python debugger") == 1
        await python.ask("continue", threadId=thread)
        await adapter.stopped()
        await adapter.ask("continue", threadId=1)
        assert await adapter.ended() == 0
        assert python.stops() == 2


async def test_without_debugpy_the_function_is_run_through_and_what_to_install_is_told(
    adapter: AdapterClient, folder: Path
) -> None:
    venv.create(folder / "bare", with_pip=False, symlinks=True)
    bare = folder / "bare/bin/python"
    (folder / "bare.yaml").write_text(
        "name: bare\nsteps:\n  - id: price\n    uses: python\n"
        f"    with:\n      call: prices:total\n      with: {{prices: [1]}}\n      interpreter: {bare}\n"
        "  - id: said\n    run: echo said\n"
    )
    await adapter.launch("bare.yaml", stopOnEntry=True)
    await adapter.stopped()
    await adapter.ask("stepIn", threadId=1)

    assert await place(adapter, await adapter.stopped()) == "said"
    assert "debugpy is not installed in" in adapter.output("stdout")
    assert f"{bare} -m pip install debugpy" in adapter.output("stdout")
    assert adapter.events_named("pitstop/python") == []


@pytest.mark.parametrize("program", ["calling.yaml", "sums.py:app"])
async def test_a_client_that_leaves_while_python_waits_leaves_nothing_behind(folder: Path, program: str) -> None:
    async with AdapterClient(folder) as adapter:
        await adapter.launch(program, source=program.partition(":")[0], inputs=_inputs(program), stopOnEntry=True)
        await adapter.stopped()
        await adapter.ask("stepIn", threadId=1)
        await adapter.event("pitstop/python")

        assert await adapter.leave() == 0
    assert await gone(adapter.pid)
    assert b"Traceback" not in adapter.stderr, adapter.stderr.decode()


@pytest.mark.parametrize("program", ["calling.yaml", "sums.py:app"])
async def test_a_client_that_leaves_while_python_is_stopped_leaves_nothing_behind(folder: Path, program: str) -> None:
    async with AdapterClient(folder) as adapter:
        await adapter.launch(program, source=program.partition(":")[0], inputs=_inputs(program), stopOnEntry=True)
        await adapter.stopped()
        await adapter.ask("stepIn", threadId=1)
        waiting = await adapter.event("pitstop/python")
        async with PythonClient(waiting["host"], waiting["port"]) as python:
            await python.stopped_in()
            assert await adapter.leave() == 0
    assert await gone(adapter.pid)


def _inputs(program: str) -> dict[str, Any]:
    return STATE if program.startswith("sums") else {}
