"""A scripted agent that speaks as claude does, with the control protocol on its stdin and stdout."""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from pathlib import Path

from tests.agents.scripted_calls import Call, Result, Verdict, children, numbers, write_line
from tests.agents.scripted_formats import Format

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from typing import Any, ClassVar, NoReturn

    Json = dict[str, Any]


class Claude(Format):
    """Asks over its stdin and stdout, and refuses what it asked about when stdin closes."""

    tools: ClassVar = {"shell": "Bash", "edit": "Write", "read": "Read", "task": "Agent"}

    def __init__(self, script: Json) -> None:
        super().__init__(script)
        self.hooks: dict[str, list[Json]] = {}
        self.is_controlled = False
        self.closed = threading.Event()
        self.waiting: dict[str, tuple[threading.Event, list[Json]]] = {}
        self.denials: list[Json] = []
        self.said = ""

    def read_prompt(self) -> str:
        first = sys.stdin.buffer.readline()
        prompt = self._control(first)
        if prompt is None and not self.is_controlled:
            return (first + sys.stdin.buffer.read()).decode(errors="replace")
        while prompt is None and (line := sys.stdin.buffer.readline()):
            prompt = self._control(line)
        threading.Thread(target=self._listen, daemon=True).start()
        return prompt or ""

    def _control(self, line: bytes) -> str | None:
        """Take one line of the client: the text of a user message, or None when it was something else."""
        try:
            message = json.loads(line)
            kind = message["type"]
        except (ValueError, KeyError, TypeError):
            return None
        self.is_controlled = True
        if kind == "user":
            content = message["message"]["content"]
            return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)
        if kind == "control_response":
            self._answered(message["response"])
        elif kind == "control_request":
            self._requested(message["request_id"], message["request"])
        return None

    def _answered(self, response: Json) -> None:
        if waiting := self.waiting.get(response["request_id"]):
            waiting[1].append(response)
            waiting[0].set()

    def _requested(self, request_id: str, request: Json) -> None:
        if request["subtype"] == "initialize":
            self.hooks = request.get("hooks") or {}
        answer = {"subtype": "success", "request_id": request_id, "response": {}}
        if request["subtype"] == "interrupt":
            for open_request in list(self.waiting):
                write_line({"type": "control_cancel_request", "request_id": open_request})
        write_line({"type": "control_response", "response": answer})
        if request["subtype"] == "interrupt":
            self._interrupted()

    def _interrupted(self) -> NoReturn:
        for child in list(children):
            child.kill()
        self._user([{"type": "text", "text": "[Request interrupted by user for tool use]"}], None)
        self._write_result("error_during_execution", True, None)
        while sys.stdin.buffer.readline():
            pass
        os._exit(1)

    def _listen(self) -> None:
        while line := sys.stdin.buffer.readline():
            self._control(line)
        self.closed.set()
        for waiting, _ in list(self.waiting.values()):
            waiting.set()

    def _ask(self, request: Json) -> Json | None:
        """The answer of the client; None when stdin is closed, {} when the answer is an error."""
        request_id = f"request-{next(numbers)}"
        waiting = self.waiting[request_id] = (threading.Event(), [])
        if not self.closed.is_set():
            write_line({"type": "control_request", "request_id": request_id, "request": request})
            waiting[0].wait()
        del self.waiting[request_id]
        if not waiting[1]:
            return None
        response = waiting[1][0]
        return (response.get("response") or {}) if response["subtype"] == "success" else {}

    def _ask_hooks(self, event: str, call: Call, more: Json) -> Json | None:
        """What the hooks of an event answer: the last one that says something."""
        agent = {"agent_id": f"agent-{call.parent}", "agent_type": "general-purpose"} if call.parent else {}
        given = {
            "session_id": self.session,
            "transcript_path": "",
            "cwd": str(Path.cwd()),
            "permission_mode": "default",
            **agent,
            "hook_event_name": event,
            "tool_name": call.name,
            "tool_input": call.input,
            "tool_use_id": call.call,
            **more,
        }
        answer: Json | None = {}
        for matcher in self.hooks.get(event, ()):
            if re.fullmatch(matcher.get("matcher") or ".*", call.name):
                for callback in matcher["hookCallbackIds"]:
                    asked = {"subtype": "hook_callback", "callback_id": callback, "input": given}
                    answer = self._ask({**asked, "tool_use_id": call.call}) if answer is not None else None
        return answer

    def begin(self, prompt: str) -> None:
        tools = ["Agent", "Bash", "Edit", "Read", "Write"]
        start = {"cwd": str(Path.cwd()), "session_id": self.session, "tools": tools, "model": self.model}
        write_line({"type": "system", "subtype": "init", **start, "permissionMode": "default"})

    def _line(self, kind: str, parent: str | None, **more: Any) -> None:
        uuid = f"00000000-0000-4000-8000-{next(numbers):012}"
        write_line({"type": kind, **more, "parent_tool_use_id": parent, "session_id": self.session, "uuid": uuid})

    def _assistant(self, block: Json, parent: str | None) -> None:
        message = {"id": f"msg_{next(numbers)}", "type": "message", "role": "assistant", "model": self.model}
        self._line("assistant", parent, message={**message, "content": [block]})

    def _user(self, content: list[Json], parent: str | None, **more: Any) -> None:
        self._line("user", parent, message={"role": "user", "content": content}, **more)

    def say(self, text: str, parent: str | None = None) -> None:
        if parent is None and len(text) < 100_000:  # a line that is too long on purpose is not said twice
            self.said = text
            half = len(text) // 2
            for piece in (text[:half], text[half:]):
                delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
                self._line("stream_event", None, event=delta)
        self._assistant({"type": "text", "text": text}, parent)

    def call_of(self, step: Json, parent: str | None = None) -> Call:
        call = super().call_of(step, parent)
        if step.get("tool") == "task":
            call.output = call.output or ""
        return call

    def input_of(self, step: Json) -> Json:
        if step["tool"] == "task":
            return {"description": "task", "prompt": step.get("prompt", ""), "subagent_type": "general-purpose"}
        return super().input_of(step)

    def announce(self, call: Call) -> None:
        if call.parent is None or not call.is_gated:
            self._show_call(call)

    def _show_call(self, call: Call) -> None:
        self._assistant({"type": "tool_use", "id": call.call, "name": call.name, "input": call.input}, call.parent)

    def before(self, call: Call) -> Verdict:
        answer = self._ask_hooks("PreToolUse", call, {})
        if call.parent is not None:
            self._show_call(call)  # a call of a subagent is shown after its hook
        decided = (answer or {}).get("hookSpecificOutput", {})
        decision = decided.get("permissionDecision")
        if decision == "deny":
            return Verdict(call.input, decided.get("permissionDecisionReason", ""))
        if decision == "allow" or (decision != "ask" and call.name == "Read"):
            return Verdict(decided.get("updatedInput") or call.input)
        agent = {"agent_id": f"agent-{call.parent}"} if call.parent else {}
        asked = {"subtype": "can_use_tool", "tool_name": call.name, "input": call.input, "tool_use_id": call.call}
        allowed = self._ask({**asked, **agent}) if self.is_controlled else None
        if allowed is None:
            return Verdict(call.input, "Tool permission request failed: Error: Stream closed")
        if allowed.get("behavior") == "allow":
            return Verdict(allowed["updatedInput"])
        return Verdict(call.input, allowed.get("message", "Tool permission request failed"))

    def started(self, call: Call) -> None:
        if call.name == "Agent":
            task = {"task_id": f"agent-{call.call}", "tool_use_id": call.call, "subagent_type": "general-purpose"}
            write_line({"type": "system", "subtype": "task_started", **task, "session_id": self.session})

    def after(self, call: Call, result: Result) -> Result:
        if not result.ok:
            self._ask_hooks("PostToolUseFailure", call, {"error": failure(result), "is_interrupt": False})
            return result
        response = self._response_of(call, result)
        answer = self._ask_hooks("PostToolUse", call, {"tool_response": response}) or {}
        changed = answer.get("hookSpecificOutput", {}).get("updatedToolOutput")
        if isinstance(changed, dict) and changed.keys() == response.keys():  # another shape is ignored
            file = changed.get("file", {})
            return Result(changed.get("stdout", file.get("content", changed.get("content", ""))), True)
        return result

    def _response_of(self, call: Call, result: Result) -> Json:
        if call.name == "Bash":
            return {"stdout": result.output, "stderr": "", "interrupted": False, "isImage": False}
        if call.name == "Read":
            return {"type": "text", "file": {"filePath": call.input["file_path"], "content": result.output}}
        return {"content": result.output}

    def returned(self, call: Call, result: Result) -> None:
        text = result.output if result.ok else failure(result)
        block = {"type": "tool_result", "tool_use_id": call.call, "content": text, "is_error": not result.ok}
        self._user([block], call.parent)

    def refused(self, call: Call, reason: str) -> None:
        self.denials.append({"tool_name": call.name, "tool_use_id": call.call, "tool_input": call.input})
        block = {"type": "tool_result", "content": reason, "is_error": True, "tool_use_id": call.call}
        self._user([block], call.parent)

    def finish(self) -> int:
        is_failed = self.script.get("status") == "failed"
        self._write_result("success", is_failed, self.script.get("reason", "") if is_failed else self.said)
        if self.is_controlled:
            self.closed.wait()
        return 1 if is_failed else 0

    def _write_result(self, subtype: str, is_error: bool, text: str | None) -> None:
        sent, received, cached = self.tokens()
        usage = {"input_tokens": sent - cached, "cache_read_input_tokens": cached, "output_tokens": received}
        counted = {"num_turns": self.script.get("turns", 1), "total_cost_usd": self.script.get("cost", 0.0)}
        ended = {"subtype": subtype, "is_error": is_error, "duration_ms": 1, **counted, "result": text}
        ended |= {"session_id": self.session, "usage": {**usage, "cache_creation_input_tokens": 0}}
        write_line({"type": "result", **ended, "permission_denials": self.denials})


def failure(result: Result) -> str:
    return f"Exit code {result.exit_code}\n{result.output}" if result.exit_code else result.output
