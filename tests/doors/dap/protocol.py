"""What holds for every conversation: each message is one of the protocol, and comes when it may."""

import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator
from jsonschema.exceptions import best_match

Message = dict[str, Any]
Trace = list[tuple[str, Message]]

LARGEST = 2**31
MOVES = ("continue", "next", "stepIn", "stepOut", "stepBack", "reverseContinue", "restartFrame", "goto")


@cache
def schema() -> dict[str, Any]:
    """The official schema, which debugpy brings along."""
    found = find_spec("debugpy")
    assert found is not None and found.origin is not None
    folder = Path(found.origin).parent / "_vendored/pydevd/_pydevd_bundle/_debug_adapter"
    loaded: dict[str, Any] = json.loads((folder / "debugProtocol.json").read_text())
    again = loaded["definitions"]["RestartArguments"]["properties"]["arguments"]
    again["anyOf"] = again.pop("oneOf")  # whatever fits `launch` fits `attach` too, so never only one of them
    return loaded


@cache
def validator(definition: str) -> Draft7Validator:
    return Draft7Validator({"$ref": f"#/definitions/{definition}", "definitions": schema()["definitions"]})


def definition_of(message: Message) -> str | None:
    """The name of what the message has to be; None for one that is our own."""
    if message["type"] == "response" and not message["success"]:
        return "ErrorResponse"
    name = message["event"] if message["type"] == "event" else message["command"]
    found = f"{name[0].upper()}{name[1:]}{message['type'].capitalize()}"
    return found if found in schema()["definitions"] else None


def check_messages(trace: Trace) -> None:
    """Every message, both ways, fits the schema; what is of no known kind was never answered as if it were."""
    for sender, message in trace:
        definition = definition_of(message)
        if definition is None:
            assert message.get("event", "").startswith("pitstop/") or sender == "client", message
            continue
        error = best_match(validator(definition).iter_errors(message))
        assert error is None, f"{sender}: {error.message} in {message}"
        assert sender == "client" or not _has_null(message), message


def _has_null(value: Any) -> bool:
    """Whether there is a null where a list, or anything else, is due: only `dataId` may be one."""
    if isinstance(value, dict):
        return any(_has_null(child) for name, child in value.items() if name != "dataId")
    if isinstance(value, list):
        return any(map(_has_null, value))
    return value is None


def check_order(trace: Trace) -> None:
    """The rules of order that a trace alone can tell."""
    said = [message for sender, message in trace if sender == "adapter"]
    assert [message["seq"] for message in said] == list(range(1, len(said) + 1))
    _check_beginning(said)
    _check_responses(trace)
    _check_moves(trace)
    _check_end(said)
    _check_threads(said)
    _check_references(trace)
    _check_outputs(said)


def _is_event(message: Message, name: str) -> bool:
    return bool(message["type"] == "event" and message["event"] == name)


def _is_response(message: Message, command: str) -> bool:
    return bool(message["type"] == "response" and message["command"] == command)


def _check_beginning(said: list[Message]) -> None:
    """`initialized` comes after the answer to `initialize`, before that to `launch`, and before anything of a run."""
    first = next((index for index, each in enumerate(said) if _is_event(each, "initialized")), None)
    if first is None:
        return
    assert any(_is_response(each, "initialize") for each in said[:first])
    assert not any(
        _is_response(each, name) and each["success"] for each in said[:first] for name in ("launch", "attach")
    )
    early = [each for each in said[:first] if each["type"] == "event" and each["event"] != "output"]
    assert early == []
    assert [each for each in said[first + 1 :] if _is_event(each, "initialized")] == [], "once is enough"


def _check_responses(trace: Trace) -> None:
    """One answer to each request, after it."""
    asked: list[int] = []
    for sender, message in trace:
        if message["type"] == "request" and sender == "client":
            asked.append(message["seq"])
        elif message["type"] == "response" and sender == "adapter":
            assert message["request_seq"] in asked, f"nobody asked for {message}"
            asked.remove(message["request_seq"])


def _check_moves(trace: Trace) -> None:
    """The answer to a move comes before the stop that it leads to; nothing stops twice without going on."""
    waiting: set[int] = set()
    is_stopped = False
    for sender, message in trace:
        if sender == "client" or message["type"] == "request":
            if message["command"] in MOVES:
                waiting.add(message["seq"])
        elif message["type"] == "response":
            if message["request_seq"] in waiting:
                waiting.discard(message["request_seq"])
                is_stopped = is_stopped and not message["success"]
            elif message["success"] and message["command"] in ("terminateThreads", "restart"):
                is_stopped = False
        elif message["event"] == "continued":
            is_stopped = False
        elif message["event"] == "stopped":
            body = message["body"]
            assert not (is_stopped and body["allThreadsStopped"]), f"stopped twice: {message}"
            is_stopped = True
            assert body["reason"] and body["threadId"] > 0 and isinstance(body["hitBreakpointIds"], list), body
            assert "allThreadsStopped" in body, body


def _check_end(said: list[Message]) -> None:
    """`exited`, then `terminated`, once each, and nothing of the run after them."""
    ends = [each["event"] for each in said if each["type"] == "event" and each["event"] in ("exited", "terminated")]
    assert ends in ([], ["exited", "terminated"], ["terminated"])
    if "terminated" in ends:
        last = next(index for index, each in enumerate(said) if _is_event(each, "terminated"))
        after = [
            each for each in said[last:] if each["type"] == "event" and each["event"] not in ("terminated", "output")
        ]
        assert after == []


def _check_threads(said: list[Message]) -> None:
    """A thread that stops is one that is listed whenever threads are asked for; the list is never empty."""
    stopped: int | None = None
    for message in said:
        if _is_event(message, "stopped"):
            stopped = message["body"]["threadId"]
        elif _is_event(message, "continued") or (message["type"] == "response" and message["command"] in MOVES):
            stopped = None
        elif _is_event(message, "thread") and message["body"]["reason"] == "exited":
            stopped = None if stopped == message["body"]["threadId"] else stopped
        elif _is_response(message, "threads") and message["success"]:
            listed = [each["id"] for each in message["body"]["threads"]]
            assert listed and (stopped is None or stopped in listed), message


def _check_references(trace: Trace) -> None:
    """Numbers of frames and values are small, and never mean another thing: what was asked for anew has a new one."""
    frames: set[int] = set()
    values: set[int] = set()
    for sender, message in trace:
        if sender != "adapter" or message["type"] != "response" or not message["success"]:
            continue
        body = message.get("body") or {}
        for frame in body.get("stackFrames", ()):
            assert frame["id"] not in frames and 0 < frame["id"] < LARGEST, f"frame {frame['id']} again"
            assert frame["line"] >= 0 and frame["column"] >= 0, frame
            path = frame.get("source", {}).get("path", "/")
            assert path.startswith(("/", "file:/")) or frame["source"].get("sourceReference"), frame
            frames.add(frame["id"])
        for holder in (*body.get("scopes", ()), *body.get("variables", ()), body):
            number = holder.get("variablesReference", 0)
            assert number == 0 or (number not in values and number < LARGEST), f"value {number} again"
            values |= {number} - {0}


def _check_outputs(said: list[Message]) -> None:
    for message in said:
        if _is_event(message, "output"):
            body = message["body"]
            assert body["category"] in ("console", "stdout", "stderr") and body["output"].endswith("\n"), body
        elif _is_event(message, "continued"):
            assert "allThreadsContinued" in message["body"], message


def check_conversation(trace: Trace) -> None:
    check_messages(trace)
    check_order(trace)
