"""Clients that say the next thing before the last one is done: begin and end, end and be gone, begin again."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from pitstop.runs.live_run import LiveRun
from pitstop.service.caller import LOCAL, Caller
from pitstop.service.runs import ActiveRun, RunQuery, RunRequest
from tests.doors.dap.adapter_client import AdapterClient, wait_run_ended, written
from tests.doors.http.bench import Bench

TWO = "name: two\nsteps:\n  - run: touch one\n  - run: touch two\n"


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Bench]:
    async with Bench(tmp_path).serving() as bench:
        yield bench


@pytest.fixture
def two(folder: Path) -> Path:
    (folder / "two.yaml").write_text(TWO)
    return folder


async def test_a_run_that_is_to_go_on_does_though_its_client_waits_for_no_answer(
    adapter: AdapterClient, server: Bench
) -> None:
    await adapter.launch("shop.yaml", server=server.url, token=server.token, stopOnEntry=True)
    await adapter.stopped()
    (run,) = (await server.service.runs.list(LOCAL, RunQuery())).runs
    with adapter.held():
        adapter.send("disconnect", {"terminateDebuggee": False})
        adapter.close_input()

    assert await adapter.exit_code() == 0
    assert (await (await server.service.runs.get(LOCAL, run.id)).wait()).status == "passed"


async def test_a_run_that_is_ended_before_it_begins_never_does(adapter: AdapterClient, two: Path) -> None:
    await adapter.initialize()
    await adapter.ask("launch", program=str(two / "two.yaml"))
    with adapter.held():
        adapter.send("configurationDone")
        adapter.send("terminate")

    assert await adapter.ended() == 1
    assert await adapter.leave() == 0
    assert not (two / "one").exists()
    assert adapter.events_named("process") == []


async def test_a_run_begins_once_however_often_that_is_said(adapter: AdapterClient, two: Path) -> None:
    await adapter.initialize()
    await adapter.ask("launch", program=str(two / "two.yaml"))
    with adapter.held():
        adapter.send("configurationDone")
        adapter.send("configurationDone")
    await adapter.ended()
    await adapter.leave()

    assert len(list((two / "home/runs").iterdir())) == 1


async def test_of_two_restarts_at_once_the_second_ends_what_the_first_has_begun(
    adapter: AdapterClient, two: Path
) -> None:
    await adapter.launch("two.yaml", stopOnEntry=True)
    await adapter.stopped()
    with adapter.held():
        asked = [adapter.send("restart", {}), adapter.send("restart", {})]
    for each in asked:
        assert (await adapter.answer(each))["success"]
    while len(list((two / "home/runs").iterdir())) < 3:
        await adapter.stopped()
    await adapter.ask("disconnect")
    adapter.kill()
    await adapter.exit_code()

    logs = [log.read_text() for log in (two / "home").glob("runs/*/events.jsonl")]
    assert [log.count('"run.ended"') for log in logs] == [1, 1, 1]


async def test_a_run_that_comes_about_on_a_server_when_its_client_has_left_is_ended(
    adapter: AdapterClient, server: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[ActiveRun] = []
    is_asked, may_start = asyncio.Event(), asyncio.Event()
    start = server.service.runs.start

    async def start_late(caller: Caller, request: RunRequest) -> ActiveRun:
        is_asked.set()
        await may_start.wait()
        started.append(await start(caller, request))
        return started[0]

    monkeypatch.setattr(server.service.runs, "start", start_late)
    await adapter.launch("shop.yaml", server=server.url, token=server.token, stopOnEntry=True)
    await is_asked.wait()
    await adapter.ask("disconnect")
    may_start.set()

    assert await adapter.exit_code() == 0
    assert (await started[0].wait()).status == "cancelled"


async def test_a_run_that_is_slow_to_end_does_not_disturb_the_one_that_took_its_place(
    adapter: AdapterClient, server: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow: list[LiveRun] = []
    program = {"program": str(adapter.folder / "shop.yaml"), "server": server.url, "token": server.token}
    await adapter.launch("shop.yaml", server=server.url, token=server.token, stopOnEntry=True)
    await adapter.stopped()
    with monkeypatch.context() as patch:
        patch.setattr(LiveRun, "kill", end_later(slow))
        await adapter.ask("restart", arguments={**program, "stopOnEntry": True})
        await adapter.stopped()
    await slow[0].kill()
    await slow[0].wait()

    await adapter.ask("next", threadId=1)
    assert (await adapter.stack(await adapter.stopped()))[0]["name"] == "checks"
    assert (await adapter.ask("threads"))["threads"] == [{"id": 1, "name": "main"}]
    told = [each["reason"] for each in adapter.events_named("thread")]
    assert told == ["started", "exited", "started"]
    await adapter.ask("continue", threadId=1)
    assert await adapter.ended() == 0


def end_later(runs: list[LiveRun]) -> Callable[[LiveRun], Awaitable[None]]:
    async def kill(run: LiveRun) -> None:
        runs.append(run)

    return kill


# --- At that very moment ---------------------------------------------------------------------------------------------


def changed(folder: Path, code: str) -> dict[str, str]:
    """The environment of an adapter in which this is done before anything else."""
    (folder / "changed").mkdir()
    (folder / "changed/sitecustomize.py").write_text(code)
    return {"PYTHONPATH": f"{folder / 'changed'}:{os.environ.get('PYTHONPATH', '')}"}


async def test_a_flow_that_is_edited_before_its_files_are_looked_at_has_its_breakpoints_moved(folder: Path) -> None:
    env = changed(
        folder,
        "from pathlib import Path\n"
        "from pitstop.doors.dap.session import file_watch\n"
        "look = file_watch._stamps\n"
        "def edit_and_look(files):\n"
        "    file_watch._stamps = look\n"
        "    Path('shop.yaml').write_text('# one line more\\n' + Path('shop.yaml').read_text())\n"
        "    return look(files)\n"
        "file_watch._stamps = edit_and_look\n",
    )
    async with AdapterClient(folder, env=env) as adapter:
        (told,) = await adapter.launch("shop.yaml", lines=(7,))
        moved = (await adapter.event("breakpoint"))["breakpoint"]

        assert (moved["id"], moved["line"]) == (told["id"], told["line"] + 1)


async def test_the_log_is_written_before_disconnect_is_answered_though_the_adapter_stands_still_meanwhile(
    folder: Path,
) -> None:
    env = changed(
        folder,
        "import asyncio, os, time\n"
        "from pitstop.doors.dap.session.editor import Editor\n"
        "from pitstop.runs.live_run import LiveRun\n"
        "answer, kill = Editor.answer, LiveRun.kill\n"
        "def answer_and_be_killed(editor, response):\n"
        "    answer(editor, response)\n"
        "    if response.command == 'disconnect': os._exit(9)\n"
        "async def kill_and_stand_still(run):\n"
        "    await kill(run)\n"
        "    asyncio.get_running_loop().call_soon(time.sleep, 2)\n"
        "Editor.answer, LiveRun.kill = answer_and_be_killed, kill_and_stand_still\n",
    )
    async with AdapterClient(folder, env=env) as adapter:
        await adapter.launch("long.yaml")
        await written(folder / "started")
        assert await adapter.leave() == 9

    (log,) = (folder / "home").glob("runs/*/events.jsonl")
    assert '"run.ended"' in log.read_text()


async def test_a_client_that_is_busy_for_a_while_has_all_that_it_was_told_in_the_end(
    adapter: AdapterClient, folder: Path
) -> None:
    (folder / "flood.yaml").write_text("name: flood\nsteps:\n  - run: seq 100000; touch done\n")
    await adapter.launch("flood.yaml", stopOnEntry=True)
    await adapter.stopped()
    with adapter.not_reading():
        adapter.send("continue", {"threadId": 1})
        await written(folder / "done")
        leaving = adapter.send("disconnect", {})
        await wait_run_ended(folder / "home")  # the client is busy for so long

    assert await adapter.exit_code() == 0
    assert (await adapter.answer(leaving))["success"]
