"""Terminals of the editor, for a shell where the stopped step works, and questions that steps ask."""

import asyncio
import os
import pty
import shlex
from pathlib import Path
from typing import Any

from tests.doors.dap.adapter_client import AdapterClient, written
from tests.doors.dap.flows import line_of
from tests.patience import PATIENCE_SECONDS

LAST = line_of("shop.yaml", "id: last")
ASKING = """\
steps:
  - id: group
    steps:
      - id: greet
        run: |
          read -p "name? " name
          echo "hello $name"
          echo "name=$name" >> "$PITSTOP_OUTPUT"
"""
TERMINALS = {"supportsRunInTerminalRequest": True}


async def in_terminal(arguments: dict[str, Any], typed: bytes, at: bytes = b"(last) ") -> int:
    """What an editor does: the command in a terminal of its own, where the user types; gives the exit code."""
    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *arguments["args"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=arguments["cwd"],
        env={**os.environ, **arguments["env"]},
    )
    os.close(theirs)
    shown = bytearray()
    prompted = asyncio.Event()

    def read() -> None:
        try:
            shown.extend(os.read(ours, 4096))
        except OSError:  # the terminal is closed
            asyncio.get_running_loop().remove_reader(ours)
        if at in shown:  # the prompt of the shell; what is typed before it may be dropped
            prompted.set()

    asyncio.get_running_loop().add_reader(ours, read)
    try:
        async with asyncio.timeout(PATIENCE_SECONDS), asyncio.TaskGroup() as group:
            ended = group.create_task(process.wait())
            opened = group.create_task(prompted.wait())
            await asyncio.wait([ended, opened], return_when=asyncio.FIRST_COMPLETED)
            assert not ended.done(), shown.decode(errors="replace")
            os.write(ours, typed)
            return await ended
    finally:
        asyncio.get_running_loop().remove_reader(ours)
        os.close(ours)


async def test_a_shell_opens_in_a_terminal_of_the_editor(adapter: AdapterClient, folder: Path) -> None:
    await adapter.launch("shop.yaml", lines=(LAST,), initialize=TERMINALS)
    stop = await adapter.stopped()
    asking = adapter.send("evaluate", {"expression": "shell", "context": "repl"})
    asked = await adapter.reverse_request()
    assert (asked["command"], asked["arguments"]["kind"]) == ("runInTerminal", "integrated")
    assert asked["arguments"]["title"] == "shell: last"
    adapter.respond(asked, body={"shellProcessId": 1})
    assert (await adapter.answer(asking))["body"]["result"] == "opened a terminal for last"

    assert await in_terminal(asked["arguments"], b"echo from the shell > said; exit\n") == 0
    assert await written(folder / "said", "\n") == "from the shell\n"
    assert (await adapter.stack(stop))[0]["name"] == "last", "it is still paused"
    asking = adapter.send("evaluate", {"expression": "shell sidecar", "context": "repl"})
    asked = await adapter.reverse_request()
    assert asked["arguments"]["args"][-4:] == ["-c", "sidecar", "-c", "leave"]
    adapter.respond({"seq": 7777, "command": "runInTerminal"})  # which was never asked
    adapter.respond(asked, success=False, message="not now")
    assert (await adapter.answer(asking))["message"] == "the editor did not open a terminal: not now"
    assert "usage" in (await adapter.refusal("evaluate", expression="shell x", context="repl")).message
    await adapter.ask("continue", threadId=1)
    assert await adapter.ended() == 0
    assert await adapter.leave() == 0


async def test_a_step_that_reads_input_runs_in_a_terminal_of_the_editor(adapter: AdapterClient, folder: Path) -> None:
    (folder / "ask.yaml").write_text(ASKING)
    await adapter.launch("ask.yaml", lines=(2, 4), initialize=TERMINALS)
    stop = await adapter.stopped()
    refused = await adapter.refusal("evaluate", expression="shell step", context="repl")
    assert refused.message == "group has no command to run in a terminal; `shell` opens one where it works"
    await adapter.ask("continue", threadId=stop["threadId"])
    await adapter.stopped()
    asking = adapter.send("evaluate", {"expression": "shell step", "context": "repl"})
    asked = await adapter.reverse_request()
    assert asked["arguments"]["title"] == "step: group.greet"
    assert asked["arguments"]["args"][-4:] == ["-c", "shell step", "-c", "leave"]
    adapter.respond(asked, body={"shellProcessId": 1})
    await adapter.answer(asking)

    assert await in_terminal(asked["arguments"], b"Ada\n", at=b"\nname? ") == 0
    stop = await adapter.stopped()
    assert (await adapter.stack(stop))[0]["name"] == "group.greet (after)"
    assert await adapter.evaluate(".steps.greet.outputs.name") == '"Ada"'
    assert "hello Ada" in adapter.output("stdout")
    await adapter.ask("continue", threadId=stop["threadId"])
    assert await adapter.ended() == 0


async def test_an_editor_without_terminals_is_shown_the_command(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", lines=(LAST,))
    await adapter.stopped()
    told = await adapter.evaluate("shell")

    home, *words = shlex.split(told.splitlines()[1])
    assert home == f"PITSTOP_HOME={adapter.folder / 'home'}"
    assert words[-6:] == ["-c", "frame main", "-c", "shell", "-c", "leave"]
    assert adapter.reverse_requests == []


async def test_a_step_that_asks_is_answered_in_the_console(adapter: AdapterClient, folder: Path) -> None:
    (folder / "ask.yaml").write_text(
        "name: ask\nsteps:\n  - id: sure\n    approve: Deploy it?\n  - run: echo deployed\n"
    )
    await adapter.launch("ask.yaml")
    told = await adapter.event("output", lambda body: "waiting for approval: Deploy it?" in body["output"])
    assert (told["line"], "`answer yes`" in told["output"]) == (3, True)
    assert "usage: answer" in (await adapter.refusal("evaluate", expression="answer maybe", context="repl")).message
    assert await adapter.evaluate("answer yes looks good") == "answered sure"

    assert await adapter.ended() == 0
    assert "deployed" in adapter.output("stdout")
