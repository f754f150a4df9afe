"""The gate of Claude Code: its control protocol on standard input and output, which refuses calls when it ends."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from pitstop.steps.agents.gates.gate import Allowed, Asked, Decider

HOOK_SECONDS = 86_400  # a hook that times out does not hold a call any more
_MARK = b'"control_'  # the beginning of each type of message; whatever else a line has comes later
_SUBAGENT = b'"task_started"'
_BEGINNING = 60
_BEFORE, _AFTER = "before", "after"

Write = Callable[[bytes], Awaitable[None]]


class ControlGate:
    """A call is held at `can_use_tool`, which has no timeout. If the input ends, the CLI refuses the call."""

    def __init__(self, write: Write, decider: Decider) -> None:
        self._write = write
        self._decider = decider
        self._callers: dict[str, str] = {}  # the calls that started subagents, by the ids of these

    async def begin(self, prompt: str) -> None:
        hooks = {
            "PreToolUse": [_hook(_BEFORE)],
            "PostToolUse": [_hook(_AFTER)],
            "PostToolUseFailure": [_hook(_AFTER)],
        }
        await self._send({"type": "control_request", "request_id": "begin", "request": _initialize(hooks)})
        message = {"role": "user", "content": prompt}
        await self._send({"type": "user", "message": message, "parent_tool_use_id": None})

    async def interrupt(self) -> None:
        await self._send({"type": "control_request", "request_id": "interrupt", "request": {"subtype": "interrupt"}})

    def takes(self, line: bytes) -> bool:
        if _SUBAGENT in line[:_BEGINNING]:
            self._learn(line)
        return _MARK in line[:_BEGINNING]

    def _learn(self, line: bytes) -> None:
        """Remember which call has started a subagent: its own calls name only the subagent."""
        with suppress(msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError):
            said: Any = msgspec.json.decode(line)
            self._callers[said["task_id"]] = said["tool_use_id"]

    async def read(self, line: bytes) -> None:
        try:
            said: Any = msgspec.json.decode(line)
            request, number = said["request"], said["request_id"]
            subtype = request["subtype"]
        except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError):
            return  # an answer to a request of ours, or nothing that can be answered
        try:
            answer = await self._answer(subtype, request)
        except (KeyError, TypeError, AttributeError):
            await self._reply(number, {"subtype": "error", "error": f"{subtype}: unexpected form of the request"})
            return
        if answer is None:
            await self._reply(number, {"subtype": "error", "error": f"{subtype} is not supported"})
        else:
            await self._reply(number, {"subtype": "success", "response": answer})

    async def _answer(self, subtype: str, request: Mapping[str, Any]) -> dict[str, Any] | None:
        match subtype:
            case "hook_callback" if request["callback_id"] == _BEFORE:
                return _of_hook("PreToolUse", permissionDecision="ask")  # so that `can_use_tool` follows
            case "hook_callback":
                return await self._after(request["input"])
            case "can_use_tool":
                return await self._before(request)
        return None

    async def _before(self, request: Mapping[str, Any]) -> dict[str, Any]:
        call, caller = str(request.get("tool_use_id") or ""), self._callers.get(str(request.get("agent_id")))
        asked = Asked(call, str(request["tool_name"]), dict(request["input"]), caller)
        decision = await self._decider.before(asked)
        if isinstance(decision, Allowed):
            return {"behavior": "allow", "updatedInput": dict(decision.input)}
        return {"behavior": "deny", "message": decision.text}

    async def _after(self, given: Mapping[str, Any]) -> dict[str, Any]:
        ok = given["hook_event_name"] == "PostToolUse"
        response = given.get("tool_response") if ok else given.get("error")
        replaced = await self._decider.after(str(given["tool_use_id"]), _text_of(response), ok=ok)
        if replaced is None:
            return {}
        if not ok:
            return _of_hook("PostToolUseFailure", additionalContext=replaced)
        changed = _with_text(response, replaced)
        if changed is None:  # then the CLI keeps its result, and tells this as well
            return {"decision": "block", "reason": replaced}
        return _of_hook("PostToolUse", updatedToolOutput=changed)

    async def _reply(self, number: str, response: Mapping[str, Any]) -> None:
        await self._send({"type": "control_response", "response": {"request_id": number, **response}})

    async def _send(self, message: Mapping[str, Any]) -> None:
        await self._write(msgspec.json.encode(message) + b"\n")


def _text_of(response: Any) -> str:
    """The result of a call as text: a shell has streams, a read file its content."""
    match response:
        case str():
            return response
        case {"stdout": str(out), "stderr": str(errors)}:
            return f"{out}\n{errors}".strip("\n")
        case {"file": {"content": str(content)}}:
            return content
    return msgspec.json.encode(response).decode()


def _with_text(response: Any, text: str) -> Any:
    """The result with this text; None for one of a form that is not known, which the CLI would not take."""
    match response:
        case {"stdout": str(), "stderr": str()}:
            return {**response, "stdout": text, "stderr": ""}
        case {"file": {"content": str()}}:
            return {**response, "file": {**response["file"], "content": text}}
        case str():
            return text
    return None


def _hook(name: str) -> dict[str, Any]:
    return {"matcher": ".*", "hookCallbackIds": [name], "timeout": HOOK_SECONDS}


def _initialize(hooks: Mapping[str, Any]) -> dict[str, Any]:
    return {"subtype": "initialize", "hooks": hooks}


def _of_hook(event: str, **parts: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, **parts}}
