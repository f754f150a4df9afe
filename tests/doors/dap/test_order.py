"""The rules of order, and the mistakes that real clients trip over, besides what every trace is held to."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pitstop.doors.dap.protocol import arguments, messages
from tests.doors.dap.adapter_client import AdapterClient
from tests.doors.dap.flows import line_of
from tests.doors.dap.protocol import check_conversation, schema

CHECKS = line_of("shop.yaml", "id: checks")


def said(adapter: AdapterClient) -> list[str]:
    """What the adapter said, in order: events by name, answers by `command!`."""
    return [
        message["event"] if message["type"] == "event" else f"{message['command']}!"
        for sender, message in adapter.trace
        if sender == "adapter"
    ]


async def test_a_session_begins_in_the_order_of_the_protocol(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", stopOnEntry=True)
    await adapter.stopped()

    begin = [each for each in said(adapter) if each not in ("setBreakpoints!", "setExceptionBreakpoints!", "output")]
    assert begin[:3] == ["initialize!", "initialized", "launch!"]
    assert begin.index("configurationDone!") < begin.index("process") < begin.index("thread") < begin.index("stopped")


async def test_nothing_runs_before_the_configuration_is_done(adapter: AdapterClient, folder: Path) -> None:
    (folder / "mark.yaml").write_text("name: mark\nsteps:\n  - run: touch mark\n")
    await adapter.initialize()
    await adapter.ask("launch", program=str(folder / "mark.yaml"))
    await adapter.ask("threads")
    assert not (folder / "mark").exists()
    await adapter.ask("configurationDone")
    await adapter.ended()

    assert (folder / "mark").exists()


@pytest.mark.parametrize("command", ["continue", "next", "stepIn", "stepOut", "stepBack", "reverseContinue"])
async def test_the_answer_to_a_move_comes_before_its_stop(adapter: AdapterClient, command: str) -> None:
    await adapter.launch("shop.yaml", lines=(7, CHECKS, line_of("shop.yaml", "id: last")))
    await adapter.stopped()
    await adapter.ask("continue", threadId=1)
    await adapter.stopped()
    await adapter.ask(command, threadId=1)
    await adapter.stopped()

    tail = [each for each in said(adapter) if each in ("stopped", f"{command}!")]
    assert tail[-2:] == [f"{command}!", "stopped"]


async def test_no_continued_is_told_for_what_the_client_asked_for(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", lines=(7,))
    await adapter.stopped()
    await adapter.ask("next", threadId=1)
    await adapter.stopped()
    await adapter.ask("continue", threadId=1)
    await adapter.ended()

    assert adapter.events_named("continued") == []


async def test_stopped_tells_everything_that_any_client_needs(adapter: AdapterClient) -> None:
    (told,) = await adapter.launch("shop.yaml", lines=(7,))
    stop = await adapter.stopped()

    assert stop == {
        "reason": "breakpoint",
        "description": "Paused before step version",
        "threadId": 1,
        "allThreadsStopped": True,
        "hitBreakpointIds": [told["id"]],
    }
    await adapter.ask("next", threadId=1)
    assert (await adapter.stopped())["hitBreakpointIds"] == [], "a list, also when it is empty"


async def test_every_stack_frame_has_a_line_a_column_and_a_whole_path(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", lines=(line_of("shop.yaml", "id: turn"),))
    for frame in await adapter.stack(await adapter.stopped()):
        assert frame["line"] >= 1 and frame["column"] >= 1
        assert frame["endLine"] == frame["line"], "a client that selects the frame has the cursor in its first line"
        assert frame["endColumn"] > frame["column"]
        assert Path(frame["source"]["path"]).is_absolute()


async def test_every_output_has_a_category_that_all_clients_show_and_ends_with_a_line(adapter: AdapterClient) -> None:
    await adapter.launch("failures.yaml")
    await adapter.ended()

    told = adapter.events_named("output")
    assert told and all(each["category"] in ("console", "stdout", "stderr") for each in told)
    assert all(each["output"].endswith("\n") for each in told)


async def test_the_header_is_the_canonical_one(adapter: AdapterClient) -> None:
    """The client of these tests reads no other, and counts bytes; here it has letters that are several bytes long."""
    await adapter.initialize()
    refused = await adapter.refusal("launch", program="/grüße/世界.yaml")

    assert "世界" in refused.message


async def test_an_unchanged_breakpoint_is_not_told_again(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", lines=(7,))
    await adapter.stopped()
    await adapter.ask("continue", threadId=1)
    await adapter.ended()

    assert adapter.events_named("breakpoint") == []


async def test_the_misspelt_capabilities_are_spelt_as_the_protocol_has_them(adapter: AdapterClient) -> None:
    told = await adapter.initialize()

    assert told["supportTerminateDebuggee"] and told["supportSuspendDebuggee"]
    assert not {"supportsTerminateDebuggee", "supportsSuspendDebuggee"} & set(told)


async def test_what_is_not_done_is_not_promised(adapter: AdapterClient) -> None:
    told = await adapter.initialize()

    for name in ("Modules", "ReadMemory", "WriteMemory", "Disassemble"):
        assert f"supports{name}Request" not in told
    for name in ("SteppingGranularity", "ExceptionOptions", "ValueFormattingOptions", "InstructionBreakpoints"):
        assert f"supports{name}" not in told
    assert "supportsANSIStyling" not in told, "only to a client that shows colours"


@pytest.mark.parametrize("module", [arguments, messages])
def test_our_messages_are_those_of_the_official_schema(module: object) -> None:
    """Each field has its name there, and what the schema requires is always sent."""
    definitions = schema()["definitions"]
    checked = 0
    for name, struct in vars(module).items():
        if not (isinstance(struct, type) and issubclass(struct, msgspec.Struct)):
            continue
        definition = definitions.get(NAMES.get(name, name))
        if definition is None or name in ("Request", "Response", "Event", "Message"):
            continue
        parts = definition["allOf"][-1] if "allOf" in definition else definition
        parts = parts["properties"]["body"] if name.endswith("Event") else parts
        fields = {field.encode_name: field.required for field in msgspec.structs.fields(struct)}
        assert set(fields) <= set(parts["properties"]) | LATER, name
        if issubclass(struct, messages.Message):
            assert set(parts.get("required", ())) <= {field for field, required in fields.items() if required}, name
        checked += 1
    assert checked > 5


LATER = {"asAddress", "mode", "breakpointModes", "supportsANSIStyling"}  # of versions after the one that debugpy brings
NAMES = {
    "InitializeArguments": "InitializeRequestArguments",
    "GivenSource": "Source",
    "FilterOptions": "ExceptionFilterOptions",
    "Target": "StepInTarget",
}


async def test_traces_that_break_a_rule_are_found(adapter: AdapterClient) -> None:
    """The judge of every conversation is judged here."""
    await adapter.launch("shop.yaml", stopOnEntry=True)
    await adapter.stopped()
    good = json.dumps(adapter.trace)
    wrongs: list[Callable[[list[Any]], object]] = [
        lambda trace: trace.append(trace[-1]),
        lambda trace: trace[-1][1]["body"].pop("reason"),
        lambda trace: trace[-1][1]["body"].update(threadId=None),
        lambda trace: trace[-1][1]["body"].update(hitBreakpointIds=None),
        lambda trace: trace[-1][1]["body"].pop("allThreadsStopped"),
        lambda trace: trace[1][1].update(seq=7),
        lambda trace: trace.pop(0),
        lambda trace: _say(trace, "initialized"),
        lambda trace: _say(trace, "terminated"),
        lambda trace: _say(trace, "output", {"category": "important", "output": "text\n"}),
        lambda trace: _say(trace, "output", {"category": "console", "output": "no end"}),
        lambda trace: _say(trace, "continued", {"threadId": 1}),
        lambda trace: _answer(trace, "threads", {"threads": []}),
        lambda trace: _answer(trace, "threads", {"threads": [{"id": 7, "name": "another"}]}),
        lambda trace: _answer(trace, "threads", {"threads": None}),
        lambda trace: _answer(trace, "stackTrace", {"stackFrames": [FRAME, FRAME]}),
        lambda trace: _answer(trace, "stackTrace", {"stackFrames": [{**FRAME, "source": {"path": "shop.yaml"}}]}),
        lambda trace: _answer(trace, "stackTrace", {"stackFrames": [_without(FRAME, "column")]}),
        lambda trace: _answer(trace, "evaluate", {"result": "{}", "variablesReference": 2**31}),
        lambda trace: _move(trace),
    ]
    for wrong in wrongs:
        trace = [(sender, message) for sender, message in json.loads(good)]
        wrong(trace)
        with pytest.raises((AssertionError, KeyError, TypeError)):
            check_conversation(trace)


FRAME = {"id": 77, "name": "x", "line": 1, "column": 1, "source": {"path": "/shop.yaml"}}


def _without(message: dict[str, Any], name: str) -> dict[str, Any]:
    return {each: value for each, value in message.items() if each != name}


def _next_seq(trace: list[Any], sender: str) -> int:
    return 1 + max(int(message["seq"]) for who, message in trace if who == sender)


def _say(trace: list[Any], event: str, body: dict[str, Any] | None = None) -> None:
    seq = _next_seq(trace, "adapter")
    trace.append(("adapter", {"seq": seq, "type": "event", "event": event, "body": body or {}}))
    if event == "terminated":  # and something of the run after it
        _say(trace, "thread", {"reason": "started", "threadId": 9})


def _answer(trace: list[Any], command: str, body: dict[str, Any]) -> None:
    arguments = {"threadId": 1, "expression": "."}
    asked = {"seq": _next_seq(trace, "client"), "type": "request", "command": command, "arguments": arguments}
    trace.append(("client", asked))
    answer = {"type": "response", "request_seq": asked["seq"], "success": True, "command": command, "body": body}
    trace.append(("adapter", {"seq": _next_seq(trace, "adapter"), **answer}))


def _move(trace: list[Any]) -> None:
    """The stop overtakes the answer to the move that it comes from."""
    stop = trace[-1][1]["body"]
    _answer(trace, "next", {})
    answer = trace.pop()
    _say(trace, "stopped", stop)
    answer[1]["seq"] += 1
    trace.append(answer)


def test_a_trace_without_mistakes_is_found_good() -> None:
    trace: list[Any] = [
        ("client", {"seq": 1, "type": "request", "command": "initialize", "arguments": {"adapterID": "x"}})
    ]
    answer = {"seq": 1, "type": "response", "request_seq": 1, "success": True, "command": "initialize"}
    trace.append(("adapter", answer))
    _say(trace, "initialized")
    _answer(trace, "threads", {"threads": [{"id": 1, "name": "main"}]})
    _answer(trace, "stackTrace", {"stackFrames": [FRAME]})
    _say(trace, "output", {"category": "console", "output": "text\n"})
    check_conversation(trace)
