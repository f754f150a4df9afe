"""What a scripted agent writes, in the formats of CLIs without a gate."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.agents.scripted_calls import Call, Result, Verdict, write, write_line

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from typing import Any, ClassVar

    Json = dict[str, Any]

SESSION = "5c71b7ed-0000-4000-8000-000000000001"


class Format:
    """A CLI without a gate that writes plain lines; the others override what they do differently."""

    tools: ClassVar[dict[str, str]] = {"shell": "shell", "edit": "edit", "read": "read"}
    path_field = "file_path"

    def __init__(self, script: Json) -> None:
        self.script = script
        self.session: str = script.get("session", SESSION)
        self.model: str = script.get("model", "scripted-model")
        self.calls = 0

    def read_prompt(self) -> str:
        return sys.stdin.buffer.read().decode(errors="replace")

    def begin(self, prompt: str) -> None:
        pass

    def say(self, text: str, parent: str | None = None) -> None:
        write(text.encode(errors="surrogateescape") + b"\n")

    def call_of(self, step: Json, parent: str | None = None) -> Call:
        """The call of a step in the words of this CLI; ids are call_1, call_2 … when the step has none."""
        self.calls += 1
        name = step.get("name") or self.tools[step["tool"]]
        given = step.get("input") or self.input_of(step)
        return Call(step, step.get("id", f"call_{self.calls}"), name, given, parent)

    def input_of(self, step: Json) -> Json:
        if step["tool"] == "shell":
            return {"command": step["command"]}
        path = {self.path_field: step["path"]}
        return path | {"content": step["content"]} if step["tool"] == "edit" else path

    def announce(self, call: Call) -> None:
        """What the stream shows before the gate is asked."""

    def before(self, call: Call) -> Verdict:
        return Verdict(call.input)

    def started(self, call: Call) -> None:
        """What the stream shows when the call runs."""

    def after(self, call: Call, result: Result) -> Result:
        """What the model is told, which a gate may replace."""
        return result

    def returned(self, call: Call, result: Result) -> None:
        self.say(result.output.removesuffix("\n"))

    def refused(self, call: Call, reason: str) -> None:
        self.say(f"refused: {reason}")

    def finish(self) -> int:
        """Write the last lines; the answer is the exit code."""
        return 1 if self.script.get("status") == "failed" else 0

    def tokens(self) -> tuple[int, int, int]:
        tokens = self.script.get("tokens", {})
        return tokens.get("in", 100), tokens.get("out", 10), tokens.get("cached", 0)


class Opencode(Format):
    """Shows a call when it has ended."""

    tools: ClassVar = {"shell": "bash", "edit": "write", "read": "read"}
    path_field = "filePath"

    def begin(self, prompt: str) -> None:
        self._line("step_start", {"type": "step-start"})

    def _line(self, kind: str, part: Json) -> None:
        write_line({"type": kind, "timestamp": 1_767_225_600_000, "sessionID": self.session, "part": part})

    def say(self, text: str, parent: str | None = None) -> None:
        self._line("text", {"type": "text", "text": text})

    def returned(self, call: Call, result: Result) -> None:
        ended = {"output": result.output} if result.ok else {"error": result.output}
        state = {"status": "completed" if result.ok else "error", "input": call.input, **ended}
        self._line("tool_use", {"type": "tool", "callID": call.call, "tool": call.name, "state": state})

    def finish(self) -> int:
        if self.script.get("status") == "failed":
            error = {"name": "UnknownError", "data": {"message": self.script.get("reason", "")}}
            write_line({"type": "error", "timestamp": 1_767_225_600_000, "sessionID": self.session, "error": error})
            return 1
        sent, received, cached = self.tokens()
        tokens = {"input": sent - cached, "output": received, "reasoning": 0, "cache": {"read": cached, "write": 0}}
        ended = {"reason": "stop", "cost": self.script.get("cost", 0.0), "tokens": tokens}
        self._line("step_finish", {"type": "step-finish", **ended})
        return 0


class Aider(Format):
    """Writes text for people, and is given its prompt in a file."""

    def read_prompt(self) -> str:
        return Path(sys.argv[sys.argv.index("--message-file") + 1]).read_text()

    def returned(self, call: Call, result: Result) -> None:
        if "content" in call.input and result.ok:
            self.say(f"Applied edit to {call.input[self.path_field]}")
        else:
            self.say(result.output)

    def finish(self) -> int:
        sent, received, _ = self.tokens()
        cost = self.script.get("cost", 0.0)
        self.say(f"Tokens: {sent} sent, {received} received. Cost: ${cost:.2f} message, ${cost:.2f} session.")
        return super().finish()
