"""The gate of CLIs that run a command before a tool call: a script asks here, and waits for the answer.

Such a hook can fail open: if it is killed or times out, the CLI makes the call. So it is a convenience, not a guard.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any, Literal

import msgspec

from pitstop.engine.executor import LIVE_INPUT, Command, CommandRef
from pitstop.engine.frame import Activation
from pitstop.errors import FileProblem
from pitstop.steps.agents.failures import GateMissing
from pitstop.steps.agents.gates.gate import Allowed, Asked, Decider, Decision
from pitstop.steps.workplace import Workplace

_READY = "ready"
HookForm = Literal["codex", "gemini"]

# The request is a file, and its number goes through one pipe to the doorman; the exit code of the hook comes back
# through another. Whatever goes wrong refuses the call: that is what exit code 2 does in every CLI.
_HOOK = """#!/bin/sh
umask 077
trap 'exit 2' HUP INT TERM PIPE
number=$1-$$
cd -- "$(dirname -- "$0")" || exit 2
cat > "$number.asked" || exit 2
mkfifo "$number.code" || exit 2
echo "$number" > asked || exit 2
read -r code < "$number.code" || exit 2
rm -f "$number.code"
if [ "$code" != 0 ]; then echo "Pitstop cannot decide about this call, so it is refused." >&2; exit 2; fi
cat "$number.answer" || exit 2
rm -f "$number.answer" "$number.asked"
exit 0
"""
# Passes the numbers of requests on, and the codes back. When its input ends, what waits is refused.
_DOORMAN = """
cd -- "$GATE" || exit 1
mkfifo asked && exec 3<>asked || exit 1
echo ready
while read -r number <&3; do echo "$number"; done &
while read -r number code; do echo "$code" > "$number.code" & done
for waiting in *.code; do [ -p "$waiting" ] && echo 2 > "$waiting" & done
sleep 1
"""


class HookGate:
    """One gate for the hooks before and after tool calls. `path` is the script that the CLI is told to run."""

    def __init__(
        self, workplace: Workplace, activation: Activation, form: HookForm, key: str, decider: Decider
    ) -> None:
        self._workplace = workplace
        self._form = form
        self._decider = decider
        self._folder = f"commands/{key_name(key)}.gate"
        self._doorman = workplace.next_key(activation)
        self._calls: dict[str, str] = {}  # ids of calls whose CLI gives none, by what they are
        self._last_call = 0

    @property
    def path(self) -> str:
        return f"{self._workplace.workspace.control}/{self._folder}/hook"

    async def open(self) -> None:
        """Write the hook, and start what passes its requests on. Returns when that is ready."""
        workplace = self._workplace
        await workplace.files.write("control", f"{self._folder}/hook", _HOOK.encode(), mode=0o700)
        env = {"GATE": f"{workplace.workspace.control}/{self._folder}"}
        command = Command(key=self._doorman, script=_DOORMAN, shell=("sh",), env=env, stdin=LIVE_INPUT, inherits=False)
        await workplace.executor.start(workplace.workspace, command)
        async for line in self._lines():
            if line == _READY:
                return
        raise GateMissing(self._form, "the process that passes its hooks on could not start")

    async def run(self, group: asyncio.TaskGroup, name: str) -> None:
        """Answer requests until cancelled. GateMissing if the doorman ends before."""
        asking: list[asyncio.Task[None]] = []
        try:
            async for number in self._lines():
                if number == _READY:
                    continue
                asking = [task for task in asking if not task.done()]
                asking.append(group.create_task(self._answer(number)))
            raise GateMissing(name, "the process that passes its hooks on ended")
        finally:
            for task in asking:
                task.cancel()

    async def close(self) -> None:
        ref = CommandRef(self._workplace.workspace.id, self._doorman)
        await self._workplace.executor.cancel(ref, 0)

    async def _lines(self) -> AsyncIterator[str]:
        """What the doorman says, from its start."""
        ref, said = CommandRef(self._workplace.workspace.id, self._doorman), b""
        async for chunk in self._workplace.executor.logs(ref):
            *lines, said = (said + chunk.data).split(b"\n")
            for line in lines:
                yield line.decode(errors="replace")

    async def _answer(self, number: str) -> None:
        files, place = self._workplace.files, f"{self._folder}/{number}"
        try:
            given: Any = msgspec.json.decode(await files.read("control", f"{place}.asked"))
            answer = await self._decide(number.partition("-")[0], given)
        except (FileProblem, msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError, AttributeError):
            await self._send(number, 2)  # what cannot be understood is refused
            return
        await files.write("control", f"{place}.answer", msgspec.json.encode(answer), mode=0o600)
        await self._send(number, 0)

    async def _send(self, number: str, code: int) -> None:
        ref = CommandRef(self._workplace.workspace.id, self._doorman)
        await self._workplace.executor.write(ref, f"{number} {code}\n".encode())

    async def _decide(self, position: str, given: Mapping[str, Any]) -> dict[str, Any]:
        name, tool_input = str(given["tool_name"]), dict(given["tool_input"])
        if position == "before":
            call = str(given.get("tool_use_id") or self._new_call())
            decision = await self._decider.before(Asked(call, name, tool_input))
            changed = decision.input if isinstance(decision, Allowed) else tool_input
            self._calls[_identity(name, changed)] = call
            return answer_before(self._form, tool_input, decision)
        call = str(given.get("tool_use_id") or self._calls.pop(_identity(name, tool_input), ""))
        ok, output = read_result(given.get("tool_response"))
        return answer_after(self._form, await self._decider.after(call, output, ok=ok))

    def _new_call(self) -> str:
        self._last_call += 1
        return f"gate-{self._last_call}"


def answer_before(form: HookForm, tool_input: Mapping[str, Any], decision: Decision) -> dict[str, Any]:
    """What the CLI wants to hear before a call."""
    if not isinstance(decision, Allowed):
        if form == "gemini":
            return {"decision": "deny", "reason": decision.text}
        return _of_codex(permissionDecision="deny", permissionDecisionReason=decision.text)
    if decision.input == tool_input:
        return {}
    if form == "gemini":
        changed = {"hookEventName": "BeforeTool", "tool_input": dict(decision.input)}
        return {"decision": "allow", "hookSpecificOutput": changed}
    return _of_codex(permissionDecision="allow", updatedInput=dict(decision.input))


def answer_after(form: HookForm, replaced: str | None) -> dict[str, Any]:
    """What the CLI wants to hear after a call: nothing, or the text that the model gets as its result."""
    if replaced is None:
        return {}
    return {"decision": "deny" if form == "gemini" else "block", "reason": replaced}


def read_result(response: Any) -> tuple[bool, str]:
    """Whether a call went well, and its output, as the hook after it is told."""
    if isinstance(response, str):
        return True, response
    if isinstance(response, Mapping):
        shown = response.get("returnDisplay") or response.get("llmContent") or ""
        return not response.get("error"), shown if isinstance(shown, str) else msgspec.json.encode(shown).decode()
    return True, msgspec.json.encode(response).decode()


def key_name(key: str) -> str:
    return "".join(character if character.isalnum() else "_" for character in key)[-80:]


def _identity(name: str, tool_input: Mapping[str, Any]) -> str:
    return f"{name} {msgspec.json.encode(tool_input, order='deterministic').decode()}"


def _of_codex(**parts: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **parts}}
