"""Clients that make mistakes, go away, or ask for too much: each request has an answer, and nothing is left behind."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.doors.dap.adapter_client import AdapterClient, comes_true, frame, written
from tests.doors.dap.flows import line_of
from tests.patience import PATIENCE_SECONDS

BAD_FRAMES = {
    "no length": b"Content-Type: x\r\n\r\n",
    "a length that is none": b"Content-Length: many\r\n\r\n{}\r\n\r\n",
    "a negative length": b"Content-Length: -5\r\n\r\n",
    "no JSON": frame(b"{not json"),
    "no object": frame(b"[1, 2]"),
    "no request": frame(b'{"seq": 1}'),
    "not UTF-8": frame(b'{"seq": 1, "type": "request", "command": "\xff\xfe"}'),
    "a number where a name is due": frame(b'{"seq": 1, "type": "request", "command": 7}'),
    "deep": frame(b"[" * 10_000),
    "a line without end": b"x" * 200_000 + b"\r\n\r\n",
}


@pytest.mark.parametrize("name", BAD_FRAMES)
async def test_what_cannot_be_read_is_told_and_the_next_request_is_met(adapter: AdapterClient, name: str) -> None:
    adapter.send_bytes(BAD_FRAMES[name])
    await adapter.initialize()

    assert "invalid message" in adapter.output("stderr")


@pytest.mark.parametrize(
    "header",
    [
        b"content-length: %d\r\n\r\n",
        b"Content-Length:%d\r\n\r\n",
        b"Content-Length: %d\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n",
        b"Content-Type: x\r\nContent-Length: %d\r\n\r\n",
        b"Content-Length: %d\n\n",
        b"\r\n\r\nContent-Length: %d\r\n\r\n",
        b"a stray print Content-Length: %d\r\n\r\n",
    ],
)
async def test_headers_are_read_as_people_write_them(adapter: AdapterClient, header: bytes) -> None:
    body = json.dumps({"seq": 1, "type": "request", "command": "initialize", "arguments": {"adapterID": "é"}}).encode()
    adapter.send_bytes(header % len(body) + body)
    adapter.trace.append(("client", json.loads(body)))

    assert (await adapter.answer(1))["success"]


async def test_requests_before_initialize_are_refused(adapter: AdapterClient) -> None:
    for command in ("launch", "threads", "setBreakpoints", "evaluate", "configurationDone"):
        assert "before initialize" in (await adapter.refusal_of_anything(command)).message
    await adapter.initialize()
    assert "already initialized" in (await adapter.refusal("initialize", adapterID="x")).message


async def test_unknown_requests_are_answered_too(adapter: AdapterClient) -> None:
    await adapter.initialize()
    refused = await adapter.refusal_of_anything("readTheMind")

    assert refused.message == "unknown request 'readTheMind'"
    assert not refused.error["showUser"]


async def test_arguments_of_the_wrong_type_are_refused_with_the_reason(adapter: AdapterClient) -> None:
    await adapter.initialize()
    refused = await adapter.refusal_of_anything("setBreakpoints", {"source": {"path": 7}})

    assert refused.message.startswith("invalid arguments for setBreakpoints: ")


async def test_nulls_are_read_as_absent_and_any_seq_is_echoed(adapter: AdapterClient, folder: Path) -> None:
    """As some clients send them: every request has the number 0."""
    await adapter.initialize(clientID=None, linesStartAt1=None)
    number = adapter.send(
        "setBreakpoints", {"source": {"path": None, "name": None}, "breakpoints": None, "lines": None}, seq=0
    )
    assert (await adapter.answer(number))["body"] == {"breakpoints": []}
    adapter.trace.clear()


async def test_every_request_before_launch_has_an_answer(adapter: AdapterClient) -> None:
    capabilities = await adapter.initialize()
    assert capabilities["supportsConfigurationDoneRequest"]
    for command, arguments in EVERY_REQUEST.items():
        response = await adapter.answer(adapter.send(command, arguments))
        assert response["success"] or response["message"], command
    await adapter.leave()


async def test_every_request_after_the_end_has_an_answer(adapter: AdapterClient) -> None:
    """VS Code asks for a stack after `terminated`."""
    await adapter.launch("shop.yaml")
    await adapter.ended()
    for command, arguments in EVERY_REQUEST.items():
        response = await adapter.answer(adapter.send(command, arguments))
        assert response["success"] or response["message"], command
        assert "failed:" not in response.get("message", ""), response


async def test_every_request_while_it_runs_has_an_answer(adapter: AdapterClient) -> None:
    await adapter.launch("long.yaml")
    await adapter.event("thread")
    for command, arguments in EVERY_REQUEST.items():
        if command not in ("terminateThreads", "pause"):
            response = await adapter.answer(adapter.send(command, arguments))
            assert response["success"] or response["message"], command
            assert "failed:" not in response.get("message", ""), response


SOURCE = {"path": "/nowhere/flow.yaml"}
EVERY_REQUEST: dict[str, dict[str, Any] | None] = {
    "setBreakpoints": {"source": SOURCE, "breakpoints": [{"line": 1}]},
    "setFunctionBreakpoints": {"breakpoints": [{"name": "x"}]},
    "setExceptionBreakpoints": {"filters": ["failed"]},
    "setDataBreakpoints": {"breakpoints": [{"dataId": ".x"}]},
    "dataBreakpointInfo": {"name": ".x", "variablesReference": 0},
    "breakpointLocations": {"source": SOURCE, "line": 1},
    "threads": None,
    "stackTrace": {"threadId": 1},
    "scopes": {"frameId": 1},
    "variables": {"variablesReference": 1},
    "setVariable": {"variablesReference": 1, "name": "x", "value": "1"},
    "setExpression": {"expression": ".x", "value": "1"},
    "evaluate": {"expression": ".x"},
    "completions": {"text": ".", "column": 2},
    "continue": {"threadId": 1},
    "next": {"threadId": 1},
    "stepIn": {"threadId": 1},
    "stepOut": {"threadId": 1},
    "stepBack": {"threadId": 1},
    "reverseContinue": {"threadId": 1},
    "restartFrame": {"frameId": 1},
    "gotoTargets": {"source": SOURCE, "line": 1},
    "goto": {"threadId": 1, "targetId": 1},
    "stepInTargets": {"frameId": 1},
    "exceptionInfo": {"threadId": 1},
    "source": {"sourceReference": 1},
    "loadedSources": {},
    "cancel": {"requestId": 1},
    "terminateThreads": {"threadIds": [99]},
    "pause": {"threadId": 1},
}


async def test_a_flow_with_mistakes_is_a_failed_launch_that_shows_every_one(
    adapter: AdapterClient, folder: Path
) -> None:
    await adapter.initialize()
    refused = await adapter.refusal("launch", program=str(folder / "wrong.yaml"))

    for part in ("did you mean `run`?", "the id `a` is already used", "invalid jq expression `.vars.`"):
        assert part in refused.message
        assert part in refused.error["format"]
    assert refused.error["showUser"]
    shown = [each for each in adapter.events_named("output") if each["category"] == "stderr"]
    assert [(each["source"]["path"], each["line"]) for each in shown] == [
        (str(folder / "wrong.yaml"), line) for line in (4, 5, 6)
    ]
    assert adapter.events_named("terminated") == adapter.events_named("initialized") == []
    await adapter.launch("shop.yaml")
    assert await adapter.ended() == 0


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({}, "launch needs `program`"),
        ({"program": "nowhere.yaml"}, "cannot read"),
        ({"program": "shop.yaml", "inputs": {"nobody": 1}}, "nobody"),
        ({"program": "shop.yaml", "secrets": ["NOT_IN_THE_ENVIRONMENT"]}, "missing from the environment"),
        ({"program": "shop.yaml", "from": "nowhere"}, "nowhere"),
        ({"program": "shop.yaml", "stopMode": "some"}, "invalid arguments for launch"),
    ],
)
async def test_what_cannot_be_launched_is_refused_with_the_reason(
    adapter: AdapterClient, folder: Path, arguments: dict[str, object], reason: str
) -> None:
    await adapter.initialize()
    refused = await adapter.refusal("launch", **{"cwd": str(folder), **arguments})

    assert reason in refused.message and reason in refused.error["format"]


async def test_ten_thousand_breakpoints_are_set_and_the_run_is_as_it_was(adapter: AdapterClient, folder: Path) -> None:
    steps = "".join(f'  - id: s{number}\n    check: "true"\n' for number in range(5_000))
    (folder / "huge.yaml").write_text(f"name: huge\nsteps:\n{steps}")
    wanted = [{"line": number + 3, "condition": "false"} for number in range(10_000)]
    told = await adapter.launch("huge.yaml", breakpoints=wanted, stopOnEntry=True)

    assert len(told) == 10_000 and all(each["verified"] for each in told)
    await adapter.stopped()
    path = {"path": str(folder / "huge.yaml")}
    await adapter.ask("setBreakpoints", source=path, breakpoints=[{"line": 103}])
    await adapter.ask("continue", threadId=1)
    assert (await adapter.stack(await adapter.stopped()))[0]["name"] == "s50"


async def test_an_expression_that_never_ends_does_and_keeps_nobody_waiting(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", stopOnEntry=True)
    await adapter.stopped()
    endless = adapter.send("evaluate", {"expression": "[range(1e12)] | length", "context": "repl"})
    await adapter.ask("threads")

    assert "timed out" in (await adapter.answer(endless))["message"]


async def test_a_request_can_be_cancelled(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", stopOnEntry=True)
    await adapter.stopped()
    endless = adapter.send("evaluate", {"expression": "[range(1e12)] | length", "context": "repl"})
    await adapter.ask("cancel", requestId=endless)
    response = await adapter.answer(endless)

    assert (response["success"], response["message"]) == (False, "cancelled")
    assert await adapter.evaluate("1 + 1") == "2"
    await adapter.ask("cancel", requestId=endless)


def test_a_request_is_answered_also_when_its_client_is_gone_before_it_is_met(folder: Path) -> None:
    commands = ("initialize", "evaluate", "scopes", "launch")
    asked = [
        {"seq": number, "type": "request", "command": command, "arguments": {"expression": "1", "frameId": 1}}
        for number, command in enumerate(commands, start=1)
    ]
    (folder / "said").write_bytes(b"".join(frame(json.dumps(request).encode()) for request in asked))
    with (folder / "said").open("rb") as said:  # it has an end from the beginning
        done = subprocess.run(
            [sys.executable, "-m", "pitstop", "dap"], stdin=said, capture_output=True, timeout=PATIENCE_SECONDS
        )

    answers = [json.loads(part) for part in re.split(rb"Content-Length: \d+\r\n\r\n", done.stdout)[1:]]
    assert sorted(each["request_seq"] for each in answers if each["type"] == "response") == [1, 2, 3, 4]
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_client_may_leave_without_reading_its_answers(folder: Path) -> None:
    asked = [{"seq": number, "type": "request", "command": "initialize"} for number in range(1, 3000)]
    (folder / "said").write_bytes(b"".join(frame(json.dumps(request).encode()) for request in asked))
    command = [sys.executable, "-m", "pitstop", "dap"]
    with (
        (folder / "said").open("rb") as said,
        (folder / "errors").open("wb") as errors,
        subprocess.Popen(command, stdin=said, stdout=subprocess.PIPE, stderr=errors) as adapter,
    ):
        assert adapter.stdout is not None
        adapter.stdout.read(1)
        adapter.stdout.close()  # more was written by now than a pipe holds, or will be
        assert adapter.wait(PATIENCE_SECONDS) == 0
    assert (folder / "errors").read_bytes() == b""


@pytest.mark.parametrize("state", ["connected", "initialized", "launched", "running", "stopped", "ended"])
@pytest.mark.parametrize("way", ["closes its input", "is killed"])
async def test_a_client_that_dies_in_any_state_leaves_nothing_behind(folder: Path, state: str, way: str) -> None:
    async with AdapterClient(folder) as adapter:
        if state != "connected":
            await adapter.initialize()
        if state == "launched":
            await adapter.ask("launch", program=str(folder / "long.yaml"))
        if state == "running":
            await adapter.launch("long.yaml")
            await written(folder / "started")
        if state in ("stopped", "ended"):
            await adapter.launch("shop.yaml", stopOnEntry=state == "stopped")
            await (adapter.stopped() if state == "stopped" else adapter.ended())
        if way == "is killed":
            adapter.stop_reading()
        adapter.close_input()

        assert await adapter.exit_code() == 0
        assert await comes_true(lambda: not _processes_in(folder))


def _processes_in(folder: Path) -> list[str]:
    """What still works in the folder of the run."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink() == folder:
                found.append((process / "cmdline").read_text())
        except OSError:
            continue
    return found


async def test_a_signal_ends_the_run_and_the_adapter(folder: Path) -> None:
    async with AdapterClient(folder) as adapter:
        await adapter.launch("long.yaml")
        await written(folder / "started")
        os.kill(adapter.pid, signal.SIGTERM)

        assert await adapter.exit_code() == 130
        assert await comes_true(lambda: not _processes_in(folder))


@pytest.mark.parametrize("stdin", ["closed", "/dev/null", "a file"])
def test_without_a_client_it_ends_at_once(folder: Path, stdin: str) -> None:
    (folder / "said").write_bytes(frame(b'{"seq": 1, "type": "request", "command": "initialize", "arguments": {}}'))
    source = {"closed": "<&-", "/dev/null": "</dev/null", "a file": f"<{folder / 'said'}"}[stdin]
    command = f"exec {sys.executable} -m pitstop dap {source}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, timeout=PATIENCE_SECONDS, check=False)

    assert (done.returncode, done.stderr) == (0, b"")
    assert (b'"success":true' in done.stdout) == (stdin == "a file")


async def test_what_code_prints_is_never_taken_for_the_protocol(folder: Path) -> None:
    (folder / "loud.py").write_text(
        "import os\nprint('imported')\n\ndef speak() -> None:\n    os.write(1, b'written')\n"
    )
    (folder / "loud.yaml").write_text("name: loud\nsteps:\n  - python: loud:speak\n")
    async with AdapterClient(folder) as adapter:
        await adapter.launch("loud.yaml")
        assert await adapter.ended() == 0


async def test_text_is_counted_in_bytes(adapter: AdapterClient, folder: Path) -> None:
    (folder / "grüße.yaml").write_text("name: grüße\nsteps:\n  - id: a\n    run: echo 'grüße, мир, 世界 🚀'\n")
    await adapter.launch("grüße.yaml", lines=(4,))
    await adapter.stopped()
    await adapter.ask("continue", threadId=1)
    await adapter.ended()

    assert adapter.output("stdout") == "grüße, мир, 世界 🚀\n"


async def test_a_step_that_writes_no_text_is_shown_as_well_as_can_be(adapter: AdapterClient, folder: Path) -> None:
    (folder / "raw.yaml").write_text("name: raw\nsteps:\n  - run: printf 'a\\377b\\033[31mred\\033[0m no end'\n")
    await adapter.launch("raw.yaml")
    await adapter.ended()

    assert adapter.output("stdout") == "a\ufffdbred no end\n"


async def test_colours_are_kept_for_a_client_that_shows_them(adapter: AdapterClient, folder: Path) -> None:
    (folder / "raw.yaml").write_text("name: raw\nsteps:\n  - run: printf '\\033[31mred\\033[0m\\n'\n")
    await adapter.launch("raw.yaml", initialize={"supportsANSIStyling": True})
    await adapter.ended()

    assert adapter.capabilities["supportsANSIStyling"]
    assert adapter.output("stdout") == "\x1b[31mred\x1b[0m\n"


async def test_long_steps_are_shown_as_progress_with_an_end(adapter: AdapterClient, folder: Path) -> None:
    (folder / "slow.yaml").write_text(
        "name: slow\nsteps:\n  - id: slow\n    run: until test -e go; do sleep 0.05; done\n"
    )
    await adapter.launch("slow.yaml", initialize={"supportsProgressReporting": True})
    started = await adapter.event("progressStart")
    assert (started["title"], started["cancellable"]) == ("Step slow", False)
    (folder / "go").touch()
    assert await adapter.event("progressEnd") == {"progressId": started["progressId"]}
    assert line_of("long.yaml", "id: after") == 5


async def test_steps_that_are_paused_show_no_progress(adapter: AdapterClient, folder: Path) -> None:
    """Neither does what encloses them. The step of another branch that is still at work does."""
    lines = (line_of("branches.yaml", "id: quick_two"),)
    await adapter.launch("branches.yaml", lines=lines, initialize={"supportsProgressReporting": True})
    await adapter.stopped()
    started = await adapter.event("progressStart")
    assert started["title"] == "Step both.slow.hold"
    (folder / "go").touch()
    await adapter.event("progressEnd", lambda body: body == {"progressId": started["progressId"]})
    await adapter.ask("continue", threadId=1)
    await adapter.ended()

    assert len(adapter.events_named("progressStart")) == len(adapter.events_named("progressEnd"))
