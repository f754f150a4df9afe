"""Plays Claude Code for stops.yaml: it speaks the same protocol, and its tool calls are a list."""

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

CALLS: list[tuple[str, str, dict[str, str]]] = [
    ("I will look at the file.", "Bash", {"command": "cat price.txt"}),
    ("A comma: I will replace it.", "Write", {"file_path": "price.txt", "content": "12.50\n"}),
    ("Now I will tidy up.", "Bash", {"command": "rm -rf cache"}),
]
numbers = itertools.count(1)


def send(**message: Any) -> None:
    print(json.dumps(message), flush=True)


def receive() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit("Pitstop is gone, so no tool call may be made.")
    message: dict[str, Any] = json.loads(line)
    return message


def ask(**request: Any) -> dict[str, Any]:
    """Ask Pitstop, and wait for its answer as long as it takes."""
    send(type="control_request", request_id=f"request-{next(numbers)}", request=request)
    answer: dict[str, Any] = receive()["response"]["response"]
    return answer


def say(text: str) -> None:
    send(type="assistant", message={"content": [{"type": "text", "text": text}]})


def run(name: str, given: dict[str, str]) -> str:
    if name == "Bash":
        ended = subprocess.run(given["command"], shell=True, capture_output=True, text=True, check=False)
        return ended.stdout + ended.stderr
    Path(given["file_path"]).write_text(given["content"])
    return f"{given['file_path']} is written"


def call(hooks: dict[str, Any], number: str, name: str, given: dict[str, str]) -> None:
    send(type="assistant", message={"content": [{"type": "tool_use", "id": number, "name": name, "input": given}]})
    decision = ask(subtype="can_use_tool", tool_name=name, input=given, tool_use_id=number)
    is_allowed = decision["behavior"] == "allow"
    if is_allowed:
        told = run(name, decision["updatedInput"])
        after = hooks["PostToolUse"][0]["hookCallbackIds"][0]
        about = {"hook_event_name": "PostToolUse", "tool_use_id": number, "tool_response": told}
        answer = ask(subtype="hook_callback", callback_id=after, input=about)
        told = answer.get("hookSpecificOutput", {}).get("updatedToolOutput", told)
    else:
        told = decision["message"]
    result = {"type": "tool_result", "tool_use_id": number, "content": told, "is_error": not is_allowed}
    send(type="user", message={"content": [result]})
    if not is_allowed:
        say(f"I was told: {told}")


hooks = receive()["request"]["hooks"]
receive()  # the prompt, which it does not read: it always does the same
send(type="system", subtype="init", session_id="example", model="stand-in")
for text, name, given in CALLS:
    say(text)
    call(hooks, f"call-{next(numbers)}", name, given)
say("The price is 12.50 now.")
send(type="result", subtype="success", is_error=False, num_turns=len(CALLS) + 1, result="The price is 12.50 now.")
