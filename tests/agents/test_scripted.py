"""The scripted agent: tests of agents rely on its doing what the real CLIs were seen to do."""

import asyncio
import json
import os
import shlex
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.patience import wait_until

Json = dict[str, Any]
PROGRAM = Path(__file__).with_name("scripted.py")
SAID = {"say": "I work"}
EDIT = {"tool": "edit", "path": "made.txt", "content": "by the agent\n"}
SHELL = {"tool": "shell", "command": "echo one > one.txt; echo done"}
INITIALIZE = {
    "type": "control_request",
    "request_id": "init",
    "request": {"subtype": "initialize", "hooks": {"PreToolUse": [{"matcher": ".*", "hookCallbackIds": ["gate"]}]}},
}
PROMPT = {"type": "user", "message": {"role": "user", "content": "Fix it"}, "parent_tool_use_id": None}


class Started:
    """A scripted agent that runs in a folder of its own."""

    def __init__(self, process: asyncio.subprocess.Process, folder: Path) -> None:
        self.process = process
        self.folder = folder

    def send(self, *messages: Json) -> None:
        assert self.process.stdin
        self.process.stdin.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    def answer(self, request: Json, response: Json) -> None:
        answer = {"subtype": "success", "request_id": request["request_id"], "response": response}
        self.send({"type": "control_response", "response": answer})

    def close_input(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()

    async def read(self) -> Json:
        assert self.process.stdout
        line: Json = json.loads(await self.process.stdout.readline())
        return line

    async def read_until(self, is_it: Callable[[Json], bool]) -> Json:
        while not is_it(line := await self.read()):
            if line.get("request", {}).get("subtype") == "hook_callback":
                self.answer(line, {"hookSpecificOutput": {"permissionDecision": "ask"}})
        return line

    async def read_asked(self) -> Json:
        """The next call that it asks about."""
        return await self.read_until(lambda line: line.get("request", {}).get("subtype") == "can_use_tool")

    async def end(self, prompt: str = "Fix it") -> tuple[int, bytes]:
        """Give it a prompt on stdin and read all that it writes."""
        output, _ = await self.process.communicate(prompt.encode())
        assert self.process.returncode is not None
        return self.process.returncode, output

    def calls(self) -> list[Json]:
        return [json.loads(line) for line in (self.folder / "calls").read_text().splitlines()]


@asynccontextmanager
async def started(folder: Path, script: Json, *argv: str, **env: str) -> AsyncGenerator[Started]:
    (folder / "script.json").write_text(json.dumps({"record_calls": str(folder / "calls"), **script}))
    (folder / "work").mkdir(exist_ok=True)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "SCRIPTED_AGENT": str(folder / "script.json"),
        **env,
    }
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, PROGRAM, *argv, cwd=folder / "work", env=environment, stdin=pipe, stdout=pipe, stderr=pipe
    )
    try:
        yield Started(process, folder)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


def with_hook(folder: Path, agent: str, command: str) -> list[str]:
    """Configure a command as the gate of codex or gemini; the answer is what belongs on the command line."""
    if agent == "codex":
        hook = (
            f'hooks.PreToolUse=[{{matcher=".*",hooks=[{{type="command",command={json.dumps(command)},timeout=60}}]}}]'
        )
        return ["--dangerously-bypass-hook-trust", "-c", hook]
    hooks = [{"matcher": ".*", "hooks": [{"type": "command", "command": command, "timeout": 60_000}]}]
    (folder / ".gemini").mkdir()
    (folder / ".gemini" / "settings.json").write_text(json.dumps({"hooks": {"BeforeTool": hooks}}))
    return ["--skip-trust"]


def saying(answer: Mapping[str, Any]) -> str:
    return f"echo {shlex.quote(json.dumps(answer))}"


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "opencode", "aider", "lines"])
async def test_each_format_says_its_text_and_really_edits(agent: str, tmp_path: Path) -> None:
    script = {"format": agent, "record_prompt": str(tmp_path / "prompt"), "steps": [SAID, {**EDIT, "ungated": True}]}
    (tmp_path / "message").write_text("Fix it")

    async with started(tmp_path, script, "--skip-trust", "--message-file", str(tmp_path / "message")) as run:
        exit_code, output = await run.end()

    assert exit_code == 0
    assert (tmp_path / "work" / "made.txt").read_text() == "by the agent\n"
    assert (tmp_path / "prompt").read_text() == "Fix it"
    assert all(word in output for word in (b"I w", b"ork"))


async def test_claude_asks_before_each_call_and_obeys(tmp_path: Path) -> None:
    script = {"format": "claude", "cost": 0.5, "turns": 7, "steps": [SHELL, EDIT]}
    async with started(tmp_path, script) as run:
        run.send(INITIALIZE, PROMPT)
        run.answer(await run.read_asked(), {"behavior": "deny", "message": "not here"})
        asked = await run.read_asked()
        run.answer(asked, {"behavior": "allow", "updatedInput": {**asked["request"]["input"], "content": "changed"}})
        result = await run.read_until(lambda line: line["type"] == "result")
        run.close_input()
        assert await run.process.wait() == 0

    assert (run.calls()[0]["how"], run.calls()[0]["told"]) == ("refused", "not here")
    assert (result["total_cost_usd"], result["num_turns"], len(result["permission_denials"])) == (0.5, 7, 1)
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["made.txt"]
    assert (tmp_path / "work" / "made.txt").read_text() == "changed"


async def test_claude_refuses_a_held_call_when_stdin_closes(tmp_path: Path) -> None:
    async with started(tmp_path, {"format": "claude", "steps": [SHELL]}) as run:
        run.send(INITIALIZE, PROMPT)
        await run.read_asked()
        run.close_input()
        assert await run.process.wait() == 0

    assert "closed" in run.calls()[0]["told"]
    assert not list((tmp_path / "work").iterdir())


async def test_claude_ends_with_an_error_when_it_is_interrupted(tmp_path: Path) -> None:
    async with started(tmp_path, {"format": "claude", "steps": [SHELL]}) as run:
        run.send(INITIALIZE, PROMPT)
        asked = await run.read_asked()
        run.send({"type": "control_request", "request_id": "stop", "request": {"subtype": "interrupt"}})
        cancelled = await run.read_until(lambda line: line["type"] == "control_cancel_request")
        result = await run.read_until(lambda line: line["type"] == "result")
        run.close_input()
        assert await run.process.wait() == 1

    assert cancelled["request_id"] == asked["request_id"]
    assert result["subtype"] == "error_during_execution"


async def test_calls_at_the_same_time_can_return_in_reverse(tmp_path: Path) -> None:
    calls = [{"tool": "shell", "command": f"echo {name}", "id": name, "ungated": True} for name in "abc"]
    script = {"format": "claude", "steps": [{"parallel": calls, "in_reverse": True}]}
    async with started(tmp_path, script) as run:
        _, output = await run.end()

    users = [line for line in map(json.loads, output.splitlines()) if line["type"] == "user"]
    assert [line["message"]["content"][0]["tool_use_id"] for line in users] == ["c", "b", "a"]


async def test_the_calls_of_a_subagent_name_their_parent(tmp_path: Path) -> None:
    task = {"tool": "task", "id": "task", "ungated": True, "steps": [{**SHELL, "id": "inner"}]}
    async with started(tmp_path, {"format": "claude", "steps": [task]}) as run:
        run.send(INITIALIZE, PROMPT)
        begun = await run.read_until(lambda line: line.get("subtype") == "task_started")
        asked = await run.read_asked()

    assert (begun["tool_use_id"], begun["task_id"]) == ("task", asked["request"]["agent_id"])


@pytest.mark.parametrize(
    ("agent", "denied", "changed"),
    [
        (
            "codex",
            {"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "not here"}},
            {"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"command": "echo two > two.txt"}}},
        ),
        (
            "gemini",
            {"decision": "deny", "reason": "not here"},
            {"hookSpecificOutput": {"tool_input": {"command": "echo two > two.txt"}}},
        ),
    ],
)
async def test_hooks_refuse_and_change_calls(agent: str, denied: Json, changed: Json, tmp_path: Path) -> None:
    gate = f"if grep -q one.txt; then {saying(changed)}; else {saying(denied)}; fi"
    argv = with_hook(tmp_path, agent, gate)
    async with started(tmp_path, {"format": agent, "steps": [SHELL, EDIT]}, *argv) as run:
        await run.end()

    assert [call["how"] for call in run.calls()] == ["changed", "refused"]
    assert "not here" in run.calls()[1]["told"]
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["two.txt"]


@pytest.mark.parametrize(
    ("agent", "gate", "how"),
    [
        ("codex", "exit 1", "ran"),
        ("codex", "exit 2", "refused"),
        ("codex", "/missing/gate", "ran"),
        ("codex", "echo garbage", "ran"),
        ("gemini", "exit 1", "ran"),
        ("gemini", "exit 2", "refused"),
        ("gemini", "/missing/gate", "refused"),
        ("gemini", "echo garbage", "ran"),
    ],
)
async def test_a_hook_that_fails_lets_the_call_run_where_the_real_cli_does(
    agent: str, gate: str, how: str, tmp_path: Path
) -> None:
    argv = with_hook(tmp_path, agent, gate)
    async with started(tmp_path, {"format": agent, "steps": [SHELL]}, *argv) as run:
        await run.end()

    assert [call["how"] for call in run.calls()] == [how]


async def test_codex_calls_no_hook_that_is_not_trusted(tmp_path: Path) -> None:
    _, *argv = with_hook(tmp_path, "codex", "exit 2")
    async with started(tmp_path, {"format": "codex", "steps": [SHELL]}, *argv) as run:
        await run.end()

    assert run.calls()[0]["how"] == "ran"


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ({"half_line": '{"type": "as', "exit": 3}, b'{"type": "as'),
        ({"bad_utf8": True}, b"\xff\xfe"),
        ({"wrong_shapes": True}, b'{"type": "assistant", "message": []}\n'),
        ({"long_line": 1_000_000}, b"x" * 1_000_000),
        ({"flood": 1000}, b"line 999"),
        ({"raw": "\xfe\n"}, b"\xfe\n"),
    ],
)
async def test_a_script_can_write_what_no_cli_should(step: Json, expected: bytes, tmp_path: Path) -> None:
    async with started(tmp_path, {"format": "claude", "steps": [step]}) as run:
        exit_code, output = await run.end()

    assert expected in output
    assert exit_code == step.get("exit", 0)


async def test_an_agent_can_ignore_sigterm_and_leave_a_daemon_behind(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    daemon = {"daemon": 1000, "pid_file": str(tmp_path / "pid")}
    steps = [daemon, {"wait": str(tmp_path / "fifo")}]
    script = {"format": "lines", "steps": steps, "ignore_sigterm": True, "exit": 9}
    async with started(tmp_path, script) as run:
        run.close_input()
        await wait_until((tmp_path / "pid").exists)
        run.process.terminate()
        await asyncio.to_thread((tmp_path / "fifo").write_text, "go on")
        assert await run.process.wait() == 9

    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)  # it is there, or this fails


async def test_an_agent_can_commit_and_delete_its_workspace(tmp_path: Path) -> None:
    steps = [{"tool": "shell", "command": "git init -q"}, EDIT, {"commit": "By the agent"}]
    log = {"tool": "shell", "command": "git log --format=%s"}
    async with started(tmp_path, {"format": "lines", "steps": [*steps, log, {"delete_workspace": True}]}) as run:
        _, output = await run.end()

    assert output.splitlines()[-2] == b"By the agent"
    assert not list((tmp_path / "work").iterdir())
