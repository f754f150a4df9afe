"""Scripted agents that run hook commands as codex and gemini do, and go on when a hook fails."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from tests.agents.scripted_calls import Call, Result, Verdict, patch_of, path_in, write_line
from tests.agents.scripted_formats import Format

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from typing import Any, ClassVar, NoReturn

    Json = dict[str, Any]


class HookedFormat(Format):
    """A CLI that runs a command before and after a call, and goes on when that command fails."""

    before_event = ""
    after_event = ""
    seconds_per_unit = 1.0

    def __init__(self, script: Json) -> None:
        super().__init__(script)
        self.hooks: dict[str, list[Json]] = {}

    def refuses(self, exit_code: int) -> bool:
        return exit_code == 2

    def _ask_hooks(self, event: str, call: Call, more: Json) -> Json:
        """What the hooks of an event answer, as one object; a refusal by exit code is told as a decision."""
        given = {"session_id": self.session, "cwd": str(Path.cwd()), "hook_event_name": event, "tool_name": call.name}
        asked = json.dumps({**given, "tool_input": call.input, **more})
        answer: Json = {}
        for matcher in self.hooks.get(event, ()):
            if re.search(matcher.get("matcher") or ".*", call.name):
                for hook in matcher["hooks"]:
                    answer |= self._run_hook(hook, asked)
        return answer

    def _run_hook(self, hook: Json, asked: str) -> Json:
        timeout_seconds = hook.get("timeout", 60 / self.seconds_per_unit) * self.seconds_per_unit
        try:
            ended = subprocess.run(
                hook["command"], shell=True, input=asked, capture_output=True, text=True, timeout=timeout_seconds
            )
        except (OSError, subprocess.TimeoutExpired):
            return {}
        if ended.returncode and self.refuses(ended.returncode):
            return {"decision": "deny", "reason": ended.stderr.strip()}
        try:
            answer = json.loads(ended.stdout) if ended.returncode == 0 else {}
        except ValueError:
            return {}
        return answer if isinstance(answer, dict) else {}


class Codex(HookedFormat):
    """Its hooks come from `-c hooks…` and $CODEX_HOME/hooks.json, and only run when they are trusted."""

    tools: ClassVar = {"shell": "Bash", "edit": "apply_patch", "read": "Bash"}
    before_event = "PreToolUse"
    after_event = "PostToolUse"

    def __init__(self, script: Json) -> None:
        super().__init__(script)
        self.items = itertools.count(1)
        self.item_of: dict[str, str] = {}
        if "--dangerously-bypass-hook-trust" in sys.argv:
            self.hooks = _json_of_file(_codex_home() / "hooks.json").get("hooks", {})
            for option, value in zip(sys.argv, sys.argv[1:], strict=False):
                if option in ("-c", "--config") and value.startswith("hooks."):
                    import tomllib  # slow, and rarely needed

                    for event, matchers in tomllib.loads(value)["hooks"].items():
                        self.hooks.setdefault(event, []).extend(matchers)

    def begin(self, prompt: str) -> None:
        write_line({"type": "thread.started", "thread_id": self.session})
        write_line({"type": "turn.started"})

    def input_of(self, step: Json) -> Json:
        if step["tool"] == "edit":
            return {"command": patch_of(step["path"], step["content"])}
        return {"command": step["command"] if step["tool"] == "shell" else f"cat '{step['path']}'"}

    def _next_item(self) -> str:
        return f"item_{next(self.items)}"

    def say(self, text: str, parent: str | None = None) -> None:
        item = {"id": self._next_item(), "type": "agent_message", "text": text}
        write_line({"type": "item.completed", "item": item})

    def before(self, call: Call) -> Verdict:
        answer = self._ask_hooks(self.before_event, call, {"tool_use_id": call.call})
        decided = answer.get("hookSpecificOutput", {})
        if decided.get("permissionDecision") == "deny" or answer.get("decision") in ("deny", "block"):
            reason = decided.get("permissionDecisionReason") or answer.get("reason", "")
            told = f"Command blocked by PreToolUse hook: {reason}. Command: {call.input.get('command')}"
            return Verdict(call.input, told)
        return Verdict(decided.get("updatedInput") or call.input)

    def _item(self, call: Call, status: str, result: Result | None) -> Json:
        started = {"id": self.item_of[call.call]}
        if call.name == "apply_patch":
            path = str(Path.cwd() / path_in(call.input["command"]))
            return {**started, "type": "file_change", "changes": [{"path": path, "kind": "add"}], "status": status}
        if call.name == "Bash":
            quoted = call.input["command"].replace("'", "'\"'\"'")
            output = {"aggregated_output": result.output if result else ""}
            ended = {"exit_code": result.exit_code if result else None, "status": status}
            return {**started, "type": "command_execution", "command": f"/bin/bash -lc '{quoted}'", **output, **ended}
        server, _, tool = call.name.removeprefix("mcp__").partition("__")
        called = {"server": server, "tool": tool, "arguments": call.input, "status": status}
        return {**started, "type": "mcp_tool_call", **called, "result": result.output if result else None}

    def started(self, call: Call) -> None:
        self.item_of[call.call] = self._next_item()
        write_line({"type": "item.started", "item": self._item(call, "in_progress", None)})

    def after(self, call: Call, result: Result) -> Result:
        self.returned(call, result)  # the stream has what really came, before the hook is asked
        more = {"tool_response": result.output, "tool_use_id": call.call}
        answer = self._ask_hooks(self.after_event, call, more)
        return Result(answer.get("reason", ""), False) if answer.get("decision") in ("block", "deny") else result

    def returned(self, call: Call, result: Result) -> None:
        if item := self.item_of.get(call.call):
            status = "completed" if result.ok else "failed"
            write_line({"type": "item.completed", "item": {**self._item(call, status, result), "id": item}})
            del self.item_of[call.call]

    def refused(self, call: Call, reason: str) -> None:
        os.write(2, f"ERROR codex_core::tools::router: error={reason}\n".encode())

    def finish(self) -> int:
        if self.script.get("status") == "failed":
            error = {"message": self.script.get("reason", "")}
            write_line({"type": "error", **error})
            write_line({"type": "turn.failed", "error": error})
            return 1
        sent, received, cached = self.tokens()
        usage = {"input_tokens": sent, "cached_input_tokens": cached, "output_tokens": received}
        write_line({"type": "turn.completed", "usage": {**usage, "reasoning_output_tokens": 0}})
        return 0


def _codex_home() -> Path:
    return Path(os.environ.get("CODEX_HOME") or Path(os.environ.get("HOME", "/")) / ".codex")


def _json_of_file(path: Path) -> Json:
    try:
        content: Json = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return content


def _end(message: str, exit_code: int) -> NoReturn:
    os.write(2, f"{message}\n".encode())
    os._exit(exit_code)


class Gemini(HookedFormat):
    """Its hooks come from settings in HOME, and from system settings in a folder that only root can change."""

    tools: ClassVar = {"shell": "run_shell_command", "edit": "write_file", "read": "read_file"}
    before_event = "BeforeTool"
    after_event = "AfterTool"
    seconds_per_unit = 0.001

    def __init__(self, script: Json) -> None:
        super().__init__(script)
        self.settings = _json_of_file(Path(os.environ.get("HOME", "/")) / ".gemini" / "settings.json")
        system = Path(os.environ.get("GEMINI_CLI_SYSTEM_SETTINGS_PATH", "/etc/gemini-cli/settings.json"))
        if all(not folder.stat().st_mode & 0o022 for folder in system.parents if folder.exists()):
            self.settings |= _json_of_file(system)
        self.hooks = self.settings.get("hooks", {})

    def refuses(self, exit_code: int) -> bool:
        return exit_code not in (0, 1) and exit_code > 0

    def begin(self, prompt: str) -> None:
        if "--skip-trust" not in sys.argv and os.environ.get("GEMINI_CLI_TRUST_WORKSPACE") != "true":
            _end("Gemini CLI is not running in a trusted directory.", 55)
        auth = self.settings.get("security", {}).get("auth", {})
        if "GOOGLE_GEMINI_BASE_URL" in os.environ and "selectedType" not in auth:
            _end("Invalid auth method selected.", 41)
        self._line("init", session_id=self.session, model=self.model)
        self._line("message", role="user", content=prompt)

    def _line(self, kind: str, **more: Any) -> None:
        write_line({"type": kind, "timestamp": "2026-01-01T00:00:00.000Z", **more})

    def say(self, text: str, parent: str | None = None) -> None:
        half = len(text) // 2
        for piece in (text[:half], text[half:]):
            self._line("message", role="assistant", content=piece, delta=True)

    def announce(self, call: Call) -> None:
        self._line("tool_use", tool_name=call.name, tool_id=f"{call.name}__{call.call}", parameters=call.input)

    def before(self, call: Call) -> Verdict:
        answer = self._ask_hooks(self.before_event, call, {})
        if answer.get("decision") in ("deny", "block"):
            return Verdict(call.input, f"Tool execution blocked: {answer.get('reason', '')}")
        return Verdict(call.input | answer.get("hookSpecificOutput", {}).get("tool_input", {}))

    def after(self, call: Call, result: Result) -> Result:
        response = {"llmContent": result.output, "returnDisplay": result.output}
        answer = self._ask_hooks(self.after_event, call, {"tool_response": response})
        return Result(answer.get("reason", ""), False) if answer.get("decision") in ("deny", "block") else result

    def returned(self, call: Call, result: Result) -> None:
        error: Json = {} if result.ok else {"error": {"type": "execution_failed", "message": result.output}}
        ended = {"status": "success" if result.ok else "error", "output": result.output, **error}
        self._line("tool_result", tool_id=f"{call.name}__{call.call}", **ended)

    def refused(self, call: Call, reason: str) -> None:
        error = {"type": "policy_violation", "message": reason}
        self._line("tool_result", tool_id=f"{call.name}__{call.call}", status="error", output=reason, error=error)

    def finish(self) -> int:
        sent, received, cached = self.tokens()
        counted = {"total_tokens": sent + received, "input_tokens": sent, "output_tokens": received, "cached": cached}
        stats = {**counted, "duration_ms": 1, "tool_calls": self.calls, "models": {self.model: counted}}
        if self.script.get("status") == "failed":
            error = {"type": "unknown", "message": self.script.get("reason", "")}
            self._line("result", status="error", error=error, stats=stats)
            return 1
        self._line("result", status="success", stats=stats)
        return 0
