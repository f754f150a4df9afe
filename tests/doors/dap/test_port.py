"""The adapter on a port: loopback only, one client, and a token that works once."""

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.doors.dap.adapter_client import frame, wait_run_ended, written
from tests.doors.dap.protocol import check_messages
from tests.patience import PATIENCE_SECONDS

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def listening(folder: Path, **env: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "pitstop", "dap", "--port", "0"),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PITSTOP_HOME": str(folder / "home"), **env},
    )
    assert process.stdout is not None
    try:
        yield process, (await process.stdout.readline()).decode()
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def connect(told: str) -> Stream:
    found = re.search(r"127\.0\.0\.1:(\d+)", told)
    assert found is not None, told
    return await asyncio.open_connection("127.0.0.1", int(found[1]), limit=2**24)


async def ask(stream: Stream, command: str, **arguments: Any) -> dict[str, Any]:
    """The answer; events before it are passed over."""
    reader, writer = stream
    message = {"seq": 1, "type": "request", "command": command, "arguments": arguments}
    check_messages([("client", message)])
    writer.write(frame(json.dumps(message).encode()))
    while True:
        length = int((await reader.readline()).split()[1])
        await reader.readline()
        answer: dict[str, Any] = json.loads(await reader.readexactly(length))
        check_messages([("adapter", answer)])
        if answer["type"] == "response" and answer["command"] == command:
            return answer


async def test_a_client_with_the_token_debugs_and_then_the_adapter_ends(folder: Path) -> None:
    async with listening(folder) as (process, told):
        token = told.strip().rpartition("adapterToken=")[2]
        stream = await connect(told)
        await ask(stream, "initialize", adapterID="x")
        assert (await ask(stream, "launch", program=str(folder / "shop.yaml"), adapterToken=token))["success"]
        assert (await ask(stream, "disconnect"))["success"]
        stream[1].close()

        assert await asyncio.wait_for(process.wait(), PATIENCE_SECONDS) == 0


async def test_a_client_that_is_busy_for_a_while_has_all_that_it_was_told_in_the_end(folder: Path) -> None:
    (folder / "flood.yaml").write_text("name: flood\nsteps:\n  - run: seq 1000000; touch done\n")
    async with listening(folder) as (process, told):
        token = told.strip().rpartition("adapterToken=")[2]
        reader, writer = stream = await connect(told)
        await ask(stream, "initialize", adapterID="x")
        await ask(stream, "launch", program="flood.yaml", cwd=str(folder), adapterToken=token)
        await ask(stream, "configurationDone")
        transport: Any = writer.transport
        transport.pause_reading()
        await written(folder / "done")
        asked = {"seq": 77, "type": "request", "command": "disconnect", "arguments": {"terminateDebuggee": False}}
        writer.write(frame(json.dumps(asked).encode()))
        await wait_run_ended(folder / "home")  # the client is busy for so long
        transport.resume_reading()

        said = await reader.read()
        assert b'"event":"terminated"' in said and b'"request_seq":77' in said
        writer.close()
        assert await asyncio.wait_for(process.wait(), PATIENCE_SECONDS) == 0


async def test_a_client_without_the_token_is_sent_away_and_the_next_may_try(folder: Path) -> None:
    async with listening(folder, PITSTOP_DAP_TOKEN="of-the-editor") as (_, told):
        assert "of-the-editor" not in told
        for token in ({}, {"adapterToken": "guess"}):
            stream = await connect(told)
            await ask(stream, "initialize", adapterID="x")
            answer = await ask(stream, "launch", program=str(folder / "shop.yaml"), **token)
            assert not answer["success"] and "adapterToken" in answer["message"]
            assert await stream[0].read() == b""
            stream[1].close()

        stream = await connect(told)
        await ask(stream, "initialize", adapterID="x")
        given = {"program": str(folder / "shop.yaml"), "adapterToken": "of-the-editor"}
        assert (await ask(stream, "launch", **given))["success"]
        stream[1].close()


async def test_nothing_else_is_answered_before_the_token(folder: Path) -> None:
    async with listening(folder) as (_, told):
        stream = await connect(told)
        await ask(stream, "initialize", adapterID="x")
        answer = await ask(stream, "setBreakpoints", source={"path": "/etc/passwd"}, breakpoints=[{"line": 1}])
        assert not answer["success"] and "adapterToken" in answer["message"]
        stream[1].close()
