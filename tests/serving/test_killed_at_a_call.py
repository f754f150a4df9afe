"""A server that is killed while agents work: a call that is held never runs, and each run says which call it was."""

import json
import sys
from pathlib import Path
from typing import Any

from tests.agents.killed_server import end_of, kill, rerun, start, start_at_call, stop_of, wait_stored
from tests.patience import wait_here_until
from tests.serving.test_commands import House
from tests.steps.agents.agent_bench import KEYS, SCRIPTED


def step(agent: str, folder: Path) -> dict[str, Any]:
    """A step whose agent makes two files in the folder, with a call for each; the first call of `working` hangs."""
    folder.mkdir()
    commands = [f"touch {folder / name}" for name in ("first", "second")]
    commands[0] += "; exec sleep 1000" if folder.name == "working" else ""
    script = folder.with_suffix(".json")
    calls = [{"tool": "shell", "command": command} for command in commands]
    script.write_text(json.dumps({"format": agent, "steps": calls}))
    command = [sys.executable, "-S", "-E", str(SCRIPTED), "--script", str(script)]
    return {"id": "fix", "agent": agent, "prompt": "Go", "command": command, "env": {KEYS[agent]: "-"}, "relay": False}


def test_a_call_that_is_held_when_the_server_is_killed_never_runs_and_the_agent_can_be_retried(tmp_path: Path) -> None:
    folders = {name: tmp_path / name for name in ("claude", "codex", "paused", "working")}

    def made(name: str) -> list[str]:
        return sorted(path.name for path in folders[name].iterdir())

    with House(tmp_path, command="serve").open() as first:
        held = {agent: start_at_call(first, step(agent, folders[agent]), 2) for agent in ("claude", "codex")}
        paused = start_at_call(first, step("claude", folders["paused"]), 2, stop_on_error=True)
        working = start(first, step("claude", folders["working"]))
        wait_here_until(lambda: made("working"))
        wait_stored(first, working)
        kill(first)

    assert [made(name) for name in folders] == [["first"]] * 4
    with House(tmp_path, command="serve").open() as second:
        for agent, run in held.items():
            info, events = end_of(second, run)
            assert (info["status"], info["stops"]) == ("failed", [])
            call = f"call 2 (shell: touch {folders[agent]}/second)"
            assert f"{call} was held at that time and did not run" in info["error"]
            assert [event["stop"] for event in events if event["kind"] == "debug.stop_ended"] == [1]
            assert made(agent) == ["first"]
            rerun(second, run)
            assert made(agent) == ["first", "second"]

        stop = stop_of(second, paused)
        assert (stop["step"], stop["position"], stop["outcome"]["error_type"]) == ("fix", "error", "AgentInterrupted")
        second.ask("POST", f"/runs/{paused}/debug/retry", json={"stop": stop["id"]})
        assert end_of(second, paused)[0]["status"] == "passed"
        assert made("paused") == ["first", "second"]

        error = end_of(second, working)[0]["error"]
        assert f"call 1 (shell: touch {folders['working']}/first; exec sleep 1000) had not returned" in error
