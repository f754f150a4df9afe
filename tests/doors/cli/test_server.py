"""`run` and `debug` with `--server`: the run is elsewhere, and is further than what is told of it."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pitstop.runs.live_run import LiveRun
from tests.doors.cli.command_line import PITSTOP
from tests.doors.http.bench import Bench
from tests.patience import PATIENCE_SECONDS

BOTH = """\
steps:
  - parallel: [{id: lint, run: echo linting}, {id: tests, run: echo testing}]
"""


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Bench]:
    async with Bench(tmp_path).serving() as bench:
        yield bench


async def say(server: Bench, command: str, *words: str, about: str = "flow.yaml") -> tuple[int, list[str]]:
    """The exit code of a command for this flow, or for a run, and all that it said."""
    process = await asyncio.create_subprocess_exec(
        *PITSTOP,
        *(command, about, *words),
        cwd=server.folder,
        env={**os.environ, "PITSTOP_SERVER": server.url, "PITSTOP_TOKEN": server.token},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(PATIENCE_SECONDS):
        said, _ = await process.communicate()
    return await process.wait(), said.decode().splitlines()


async def test_a_run_that_is_paused_without_a_terminal_is_left_on_its_server(server: Bench) -> None:
    (server.folder / "flow.yaml").write_text(BOTH)

    code, lines = await say(server, "run", "--break", "lint", "--break", "tests")

    (run,) = (await server.get("/runs"))["runs"]
    assert (code, run["status"]) == (77, "paused"), lines
    assert "no terminal to debug in" in lines[-4]
    assert lines[-1].endswith(f"debug {run['id']} --server {server.url}")


async def test_quitting_a_run_that_somebody_else_has_just_ended_is_no_mistake(
    server: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    (server.folder / "flow.yaml").write_text(BOTH)
    cancel = LiveRun.cancel

    async def cancel_after_another(run: LiveRun, reason: str) -> None:
        await cancel(run, "by somebody else")
        await run.wait()
        await cancel(run, reason)

    monkeypatch.setattr(LiveRun, "cancel", cancel_after_another)
    code, lines = await say(server, "debug", "-c", "quit")

    assert code == 130, lines
    assert "■ the run was cancelled" in lines


async def test_a_step_that_runs_is_entered(server: Bench) -> None:
    run = (await server.start("steps: [{id: hang, run: 'until test -e go; do sleep 0.02; done'}]"))["id"]

    code, lines = await say(server, "shell", "other", "-c", "touch go", about=run)
    assert (code, lines) == (2, ["pitstop: step 'other' is not running; running now: hang"])
    code, lines = await say(server, "shell", "hang", "--read-only", "-c", "touch go", about=run)
    assert code == 1
    assert "Read-only file system" in lines[0]
    code, lines = await say(server, "shell", "hang", "-c", "touch here; echo entered", about=run)
    assert (code, lines) == (0, ["entered"])

    await say(server, "shell", "hang", "-c", "test -e here && touch go", about=run)  # the step may end before it
    await server.wait_ended(run)
    code, lines = await say(server, "shell", "hang", "-c", "pwd", about=run)
    assert (code, lines) == (2, [f"pitstop: run {run} has ended"])


@pytest.mark.parametrize(("command", "hint"), [("detach", "pitstop logs {} --follow"), ("leave", "pitstop debug {}")])
async def test_leaving_a_run_says_how_to_return_to_it_on_its_server(server: Bench, command: str, hint: str) -> None:
    (server.folder / "flow.yaml").write_text("steps: [{id: a, run: 'true'}]")

    _, lines = await say(server, "debug", "-c", command)

    (run,) = (await server.get("/runs"))["runs"]
    assert f"{hint.format(run['id'])} --server {server.url}`" in " ".join(lines)
