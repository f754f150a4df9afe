"""Runs of this machine that were started with --attachable: editors and prompts attach to them while they run."""

import asyncio
import os
import re
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.doors.dap.adapter_client import AdapterClient
from tests.patience import PATIENCE_SECONDS

HELD = """\
name: held
vars: {word: first}
steps:
  - id: hold
    run: touch started; until test -e go; do sleep 0.05; done
  - id: said
    run: echo "${{ .vars.word }}"
"""


class Running:
    """`pitstop run --attachable` in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process, run: str, home: Path) -> None:
        self.process = process
        self.run = run
        self.socket = home / "runs" / run / "attach.sock"

    async def line(self, text: str) -> str:
        """The next line of its output with this text."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE_SECONDS):
            while line := (await self.process.stdout.readline()).decode():
                if text in line:
                    return line
        raise AssertionError(f"it ended without {text!r}")

    async def ended(self) -> tuple[int, str]:
        async with asyncio.timeout(PATIENCE_SECONDS):
            said, _ = await self.process.communicate()
        assert self.process.returncode is not None
        return self.process.returncode, said.decode()


@pytest.fixture
def held(folder: Path) -> Path:
    (folder / "held.yaml").write_text(HELD)
    return folder


@asynccontextmanager
async def running(folder: Path, *options: str, flow: str = "held.yaml") -> AsyncIterator[Running]:
    process = await pitstop(folder, "run", str(folder / flow), "--attachable", "--plain", *options)
    try:
        running = Running(process, "", folder / "home")
        line = await running.line("attach with")
        found = re.search(r"pitstop debug (\S+)", line)
        assert found is not None, line
        yield Running(process, found[1], folder / "home")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def pitstop(folder: Path, *words: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "pitstop",
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=folder,
        env={**os.environ, "PITSTOP_HOME": str(folder / "home")},
    )


async def attach(adapter: AdapterClient, **arguments: Any) -> None:
    if not adapter.capabilities:
        await adapter.initialize()
    attaching = adapter.send("attach", arguments)
    await adapter.event("initialized")
    await adapter.ask("setExceptionBreakpoints", filters=[])
    await adapter.ask("configurationDone")
    response = await adapter.answer(attaching)
    assert response["success"], response


async def test_an_editor_attaches_to_a_run_that_is_going_on(adapter: AdapterClient, held: Path) -> None:
    async with running(held) as run:
        assert stat.S_IMODE(run.socket.stat().st_mode) == 0o600
        await attach(adapter, run=run.run)
        line = HELD.splitlines().index("  - id: said") + 1
        told = await adapter.ask(
            "setBreakpoints", source={"path": str(held / "held.yaml")}, breakpoints=[{"line": line}]
        )
        assert told["breakpoints"][0]["verified"]
        (held / "go").touch()
        stop = await adapter.stopped()
        assert (await adapter.stack(stop))[0]["source"] == {"name": "held.yaml", "path": str(held / "held.yaml")}
        assert f"paused at said: pitstop debug {run.run}" in await run.line("paused at")
        await adapter.evaluate('set .vars.word "second"')
        await adapter.ask("continue", threadId=stop["threadId"])

        assert await adapter.ended() == 0
        assert await adapter.leave() == 0
        code, said = await run.ended()
        assert (code, "second" in said) == (0, True)
        assert not run.socket.exists()


async def test_a_failure_waits_for_a_client_with_debug_on_error(adapter: AdapterClient, folder: Path) -> None:
    async with running(folder, "--debug-on-error", flow="broken.yaml") as run:
        await run.line("paused at connect")
        await attach(adapter, run=run.run)
        stop = await adapter.stopped()
        assert stop["reason"] == "exception"
        await adapter.evaluate("set .vars.port 5432")
        await adapter.evaluate("retry")

        assert await adapter.ended() == 0
        await adapter.leave()
        assert (await run.ended())[0] == 0


async def test_the_prompt_attaches_too(held: Path) -> None:
    (held / "go").touch()
    async with running(held, "--break", "said") as run:
        await run.line("paused at said")
        first = await debug(held, run.run, "p .vars.word", 'set .vars.word = "second"', "leave")
        assert '"first"' in first and "left paused" in first
        assert '"second"' in await debug(held, run.run, "p .vars.word", "detach")
        code, said = await run.ended()
        assert (code, "second" in said) == (0, True)


async def debug(folder: Path, run: str, *commands: str) -> str:
    words = [word for command in commands for word in ("-c", command)]
    prompt = await pitstop(folder, "debug", run, *words)
    async with asyncio.timeout(PATIENCE_SECONDS):
        said = (await prompt.communicate())[0].decode()
    assert prompt.returncode == 0, said
    return said


async def test_a_run_whose_process_is_gone_is_refused_and_lost(adapter: AdapterClient, held: Path) -> None:
    """Without a run, the newest one is attached to that is still there."""
    await adapter.initialize()
    assert "no run on this machine" in (await adapter.refusal("attach")).message
    async with running(held) as killed, running(held) as run:
        killed.process.kill()
        await killed.process.wait()
        assert killed.socket.exists(), "no process has removed it"
        refused = await adapter.refusal("attach", run=killed.run)
        assert refused.message == (
            f"cannot attach to run {killed.run}: it has ended, or was started without --attachable"
        )
        await attach(adapter)
        await adapter.ask("pause", threadId=1)
        run.process.kill()

        assert await adapter.ended() == 1
        assert "lost the connection to the run" in adapter.output("stderr")
