import json
import shlex
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pitstop.steps.agents.reports import (
    Began,
    Called,
    Finished,
    Refused,
    Report,
    Returned,
    Said,
    Tokens,
    Typed,
    Warned,
)
from pitstop.steps.agents.streams.lines import LARGEST_LINE_BYTES, LineSplitter
from pitstop.steps.agents.streams.stream import stream_named

NAMES = ("claude", "codex", "gemini", "opencode", "aider", "lines")


def as_lines(*values: dict[str, Any] | str) -> bytes:
    written = (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in values)
    return "".join(f"{line}\n" for line in written).encode()


def read(name: str, chunks: Iterable[bytes], exit_code: int | None = 0) -> list[Report]:
    splitter, stream = LineSplitter(), stream_named(name)
    reports: list[Report] = []
    for chunk in chunks:
        for line in splitter.feed(chunk):
            reports += stream.read(line)
    for line in splitter.finish():
        reports += stream.read(line)
    return [*reports, *stream.finish(exit_code)]


def read_lines(name: str, *values: dict[str, Any] | str, exit_code: int | None = 0) -> list[Report]:
    return read(name, [as_lines(*values)], exit_code)


def end_of(name: str, *values: dict[str, Any] | str, exit_code: int | None = 0) -> Finished:
    end = read_lines(name, *values, exit_code=exit_code)[-1]
    assert isinstance(end, Finished)
    return end


def assistant(*blocks: dict[str, Any], parent: str | None = None, **more: Any) -> dict[str, Any]:
    return {"type": "assistant", "message": {"id": "m1", "content": blocks}, "parent_tool_use_id": parent, **more}


def tool_use(call: str, name: str, **tool_input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": name, "input": tool_input}


def tool_result(call: str, content: Any, **more: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call, "content": content, **more}
    return {"type": "user", "message": {"role": "user", "content": [block]}, "parent_tool_use_id": None}


def delta(text: str, parent: str | None = None) -> dict[str, Any]:
    event = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
    return {"type": "stream_event", "event": event, "parent_tool_use_id": parent}


def item(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"item.{kind}", "item": fields}


SHELL_ITEM = {"id": "i1", "type": "command_execution", "command": "/bin/bash -lc 'echo one; exit 3'"}
INIT = {"type": "system", "subtype": "init", "session_id": "s1", "model": "sonnet", "tools": ["Bash"], "cwd": "/w"}
RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "num_turns": 4,
    "result": "All done.",
    "total_cost_usd": 0.25,
    "usage": {"input_tokens": 60, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 40, "output_tokens": 30},
    "permission_denials": [],
}
TURN_COMPLETED = {
    "type": "turn.completed",
    "usage": {"input_tokens": 400, "cached_input_tokens": 40, "output_tokens": 30, "reasoning_output_tokens": 0},
}

# By stream: what the CLI wrote, and the reports of it
RECORDED: dict[str, tuple[bytes, list[Report]]] = {
    "claude": (
        as_lines(
            INIT,
            {"type": "system", "subtype": "status", "status": "requesting"},
            {"type": "stream_event", "event": {"type": "message_start", "message": {"id": "m1"}}},
            delta("Looking – "),
            delta("at 🏎."),
            assistant({"type": "text", "text": "Looking – at 🏎."}),
            {"type": "stream_event", "event": {"type": "content_block_stop", "index": 0}},
            assistant(tool_use("c1", "Bash", command="echo one; exit 3")),
            assistant(tool_use("c2", "Read", file_path="/w/a.txt")),
            tool_result("c2", [{"type": "text", "text": "1\thello"}, {"type": "image", "source": {}}]),
            {"type": "control_request", "request_id": "r1", "request": {"subtype": "can_use_tool"}},
            tool_result("c1", "Exit code 3\none", is_error=True),
            assistant({"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "All done."}),
            RESULT,
        ),
        [
            Began("s1", "sonnet"),
            Typed("Looking – "),
            Typed("at 🏎."),
            Said("Looking – at 🏎."),
            Called("c1", "Bash", "shell", {"command": "echo one; exit 3"}, (), "echo one; exit 3"),
            Called("c2", "Read", "read", {"file_path": "/w/a.txt"}, ("/w/a.txt",)),
            Returned("c2", True, "1\thello\n[image]"),
            Returned("c1", False, "Exit code 3\none"),
            Said("All done."),
            Finished("passed", "All done.", "", 4, 0.25, Tokens(105, 30, 40)),
        ],
    ),
    "codex": (
        as_lines(
            {"type": "thread.started", "thread_id": "t1"},
            item("completed", id="i0", type="error", message="model metadata not found"),
            item("completed", id="i0", type="error", message="model metadata not found"),
            {"type": "turn.started"},
            item("completed", id="i9", type="reasoning", text="hm"),
            item("started", **SHELL_ITEM, aggregated_output="", exit_code=None, status="in_progress"),
            item("completed", **SHELL_ITEM, aggregated_output="one\n", exit_code=3, status="failed"),
            item(
                "completed", id="i2", type="file_change", changes=[{"path": "/w/a", "kind": "add"}], status="completed"
            ),
            item("started", id="i3", type="todo_list", items=[{"text": "x", "completed": False}]),
            item("completed", id="i4", type="agent_message", text="All done."),
            TURN_COMPLETED,
        ),
        [
            Began("t1"),
            Warned("model metadata not found"),
            Called("i1", "command_execution", "shell", {"command": "echo one; exit 3"}, (), "echo one; exit 3"),
            Returned("i1", False, "one\n"),
            Called("i2", "file_change", "edit", {"changes": [{"path": "/w/a", "kind": "add"}]}, ("/w/a",)),
            Returned("i2", True),
            Said("All done."),
            Finished("passed", "All done.", "", 1, None, Tokens(400, 30, 40)),
        ],
    ),
    "gemini": (
        as_lines(
            {"type": "init", "timestamp": "t", "session_id": "s1", "model": "gemini-2.5-pro"},
            {"type": "message", "role": "user", "content": "Please do it."},
            {"type": "message", "role": "assistant", "content": "Look", "delta": True},
            {"type": "message", "role": "assistant", "content": "ing.", "delta": True},
            {"type": "tool_use", "tool_name": "replace", "tool_id": "c1", "parameters": {"file_path": "a.txt"}},
            {"type": "tool_use", "tool_name": "read_file", "tool_id": "c2", "parameters": {"file_path": "b.txt"}},
            {
                "type": "tool_result",
                "tool_id": "c2",
                "status": "error",
                "output": "x",
                "error": {"message": "no b.txt"},
            },
            {"type": "tool_result", "tool_id": "c1", "status": "success", "output": "ok"},
            {"type": "error", "severity": "warning", "message": "Loop detected"},
            {"type": "message", "role": "assistant", "content": "All done.", "delta": True},
            {"type": "result", "status": "success", "stats": {"input_tokens": 300, "output_tokens": 30, "cached": 40}},
        ),
        [
            Began("s1", "gemini-2.5-pro"),
            Typed("Look"),
            Typed("ing."),
            Said("Looking."),
            Called("c1", "replace", "edit", {"file_path": "a.txt"}, ("a.txt",)),
            Called("c2", "read_file", "read", {"file_path": "b.txt"}, ("b.txt",)),
            Returned("c2", False, "no b.txt"),
            Returned("c1", True, "ok"),
            Warned("Loop detected"),
            Typed("All done."),
            Said("All done."),
            Finished("passed", "All done.", "", None, None, Tokens(300, 30, 40)),
        ],
    ),
    "opencode": (
        as_lines(
            {"type": "step_start", "sessionID": "s1", "part": {"type": "step-start"}},
            {
                "type": "tool_use",
                "sessionID": "s1",
                "part": {
                    "callID": "c1",
                    "tool": "bash",
                    "state": {"status": "completed", "input": {"command": "ls"}, "output": "a.txt\n"},
                },
            },
            {
                "type": "tool_use",
                "sessionID": "s1",
                "part": {
                    "callID": "c2",
                    "tool": "read",
                    "state": {"status": "error", "input": {"filePath": "b.txt"}, "error": "no b.txt"},
                },
            },
            {
                "type": "step_finish",
                "sessionID": "s1",
                "part": {
                    "cost": 0.5,
                    "tokens": {"input": 10, "output": 5, "reasoning": 1, "cache": {"read": 3, "write": 2}},
                },
            },
            {"type": "text", "sessionID": "s1", "part": {"type": "text", "text": "All done."}},
            {"type": "step_finish", "sessionID": "s1", "part": {"cost": 0.25, "tokens": {"input": 1, "output": 1}}},
        ),
        [
            Began("s1"),
            Called("c1", "bash", "shell", {"command": "ls"}, (), "ls"),
            Returned("c1", True, "a.txt\n"),
            Called("c2", "read", "read", {"filePath": "b.txt"}, ("b.txt",)),
            Returned("c2", False, "no b.txt"),
            Said("All done."),
            Finished("passed", "All done.", "", 2, 0.75, Tokens(16, 7, 3)),
        ],
    ),
    "aider": (
        as_lines(
            "Model: gpt-4o with diff edit format",
            "",
            "I changed the file.",
            "Tokens: 2.3k sent, 1.1k cache hit, 120 received. Cost: $0.01 message, $0.01 session.",
            "Applied edit to a.txt",
            "Tokens: 12k sent, 80 received.",
            "Cost: $0.04 message, $0.05 session.",
        ),
        [
            Began(None, "gpt-4o"),
            Said("Model: gpt-4o with diff edit format"),
            Said("I changed the file."),
            Said("Tokens: 2.3k sent, 1.1k cache hit, 120 received. Cost: $0.01 message, $0.01 session."),
            Said("Applied edit to a.txt"),
            Said("Tokens: 12k sent, 80 received."),
            Said("Cost: $0.04 message, $0.05 session."),
            Finished(
                "passed",
                "Model: gpt-4o with diff edit format\n\nI changed the file.\n"
                "Tokens: 2.3k sent, 1.1k cache hit, 120 received. Cost: $0.01 message, $0.01 session.\n"
                "Applied edit to a.txt\nTokens: 12k sent, 80 received.\nCost: $0.04 message, $0.05 session.",
                "",
                None,
                0.05,
                Tokens(14_300, 200, 1_100),
            ),
        ],
    ),
    "lines": (
        as_lines("first – 🏎", '{"type": "result"}', "last\r"),
        [
            Said("first – 🏎"),
            Said('{"type": "result"}'),
            Said("last"),
            Finished("passed", 'first – 🏎\n{"type": "result"}\nlast'),
        ],
    ),
}


@pytest.mark.parametrize("name", NAMES)
def test_what_a_cli_wrote_becomes_reports(name: str) -> None:
    written, reports = RECORDED[name]

    assert read(name, [written]) == reports


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25)
@given(cuts=st.data())
def test_chunks_may_be_cut_anywhere(name: str, cuts: st.DataObject) -> None:
    written, reports = RECORDED[name]
    places = sorted(cuts.draw(st.sets(st.integers(0, len(written)), max_size=20)))
    chunks = [written[start:end] for start, end in zip([0, *places], [*places, len(written)], strict=True)]

    assert read(name, chunks) == reports


@pytest.mark.parametrize("name", NAMES)
def test_a_flood_of_single_bytes_and_a_missing_last_newline_change_nothing(name: str) -> None:
    written, reports = RECORDED[name]

    assert read(name, [bytes([byte]) for byte in written.removesuffix(b"\n")]) == reports


def test_lines_end_with_or_without_a_carriage_return_and_may_be_empty() -> None:
    splitter = LineSplitter()

    assert splitter.feed(b"a\r\n\nb\r") == [b"a", b""]
    assert splitter.feed(b"\nc") == [b"b"]
    assert splitter.finish() == [b"c"]
    assert splitter.finish() == []


CHUNK = b"x" * (1 << 20)
TOO_MANY = [CHUNK] * 17


@pytest.mark.parametrize(
    "chunks", [[*TOO_MANY, b"\n"], [b"".join(TOO_MANY) + b"\n"], [CHUNK, b"".join(TOO_MANY[1:]), b"\n"]]
)
@pytest.mark.parametrize("name", ["claude", "lines"])
def test_a_line_that_is_too_long_is_dropped_with_a_warning_and_the_next_ones_are_read(
    name: str, chunks: list[bytes]
) -> None:
    written, reports = RECORDED[name]

    warning, *others = read(name, [*chunks, written])

    assert warning == Warned("pitstop: dropped a line of 17.0 MB, because the limit is 16 MB")
    assert others == reports


def test_a_line_of_the_largest_size_is_read_and_one_that_never_ends_is_not_held() -> None:
    splitter = LineSplitter()
    assert [len(line) for line in splitter.feed(b"x" * LARGEST_LINE_BYTES + b"\n")] == [LARGEST_LINE_BYTES]

    for _ in range(64):
        assert splitter.feed(CHUNK) == []

    assert splitter.finish() == [b"pitstop: dropped a line of 64.0 MB, because the limit is 16 MB"]


def test_bad_utf_8_and_half_an_emoji_are_replaced() -> None:
    broken = as_lines(assistant({"type": "text", "text": "a-b"})).replace(b"a-b", b"a\xffb")
    cut = as_lines(assistant({"type": "text", "text": "a-b"})).replace(b"a-b", rb"a\ud83db")

    assert read("claude", [broken, cut])[:-1] == [Said("a\ufffdb"), Said("a?b")]
    assert read("lines", [b"a\xffb\n"])[0] == Said("a\ufffdb")


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "opencode"])
def test_a_line_that_is_no_json_object_is_a_warning(name: str) -> None:
    lines = ("", "  ", "Error: no key", '{"type": "result"', "[1]", "7", "{" * 5000, '{"type": "unheard.of"}')

    *warnings, end = read_lines(name, *lines, exit_code=1)

    assert warnings == [Warned(line) for line in lines[2:-1]]
    assert end == Finished("failed", None, f"{name} ended without a result (exit code 1): {lines[-2]}"), end


def test_the_last_warning_says_why_there_is_no_result() -> None:
    end = end_of("claude", INIT, "Error: no key", exit_code=None)

    assert end.reason == "claude ended without a result (exit code unknown): Error: no key"


MORE_LINES: list[dict[str, Any]] = [
    {
        "type": "system",
        "subtype": "api_retry",
        "attempt": 1,
        "max_retries": 2,
        "retry_delay_ms": 5,
        "error_status": 500,
    },
    {"type": "system", "subtype": "permission_denied", "tool_use_id": "c1", "decision_reason": "by a rule"},
    {**RESULT, "subtype": "error_max_turns", "errors": ["x"], "modelUsage": {"model": {"inputTokens": 1}}},
    item(
        "completed",
        id="m",
        type="mcp_tool_call",
        server="s",
        tool="t",
        arguments={},
        result={"content": [{"text": "x"}]},
    ),
    item("completed", id="w", type="web_search", query="x", status="declined", error={"message": "x"}),
    {"type": "turn.failed", "error": {"message": "x"}},
    {"type": "result", "status": "error", "error": {"message": "x"}, "stats": {}},
    {"type": "error", "severity": "error", "message": "x", "error": {"name": "x", "data": {"message": "x"}}},
]
JSON_LINES = [
    json.loads(line) for name in ("claude", "codex", "gemini", "opencode") for line in RECORDED[name][0].splitlines()
]
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["type", "id", "text"]), inner, max_size=2)
    ),
    max_leaves=4,
)


def places_in(value: Any) -> Iterator[tuple[str | int, ...]]:
    """The way to each part of a JSON value."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        yield (name,)
        yield from ((name, *place) for place in places_in(part))


@st.composite
def damaged_lines(draw: st.DrawFn) -> dict[str, Any]:
    """A line of a CLI with a part of it replaced by any other JSON."""
    line: dict[str, Any] = json.loads(json.dumps(draw(st.sampled_from(JSON_LINES + MORE_LINES))))
    *way, last = draw(st.sampled_from(list(places_in(line))))
    part: Any = line
    for name in way:
        part = part[name]
    part[last] = draw(ANY_JSON)
    return line


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "opencode"])
@settings(max_examples=60)
@given(values=st.lists(damaged_lines(), max_size=4), exit_code=st.none() | st.integers(-1, 255))
def test_json_of_any_shape_becomes_reports_that_can_be_stored_and_the_agent_finishes(
    name: str, values: list[dict[str, Any]], exit_code: int | None
) -> None:
    reports = read_lines(name, *values, exit_code=exit_code)

    assert msgspec.json.encode(reports)
    assert any(isinstance(report, Finished) for report in reports)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40)
@given(written=st.binary(max_size=200), exit_code=st.none() | st.integers(-1, 255))
def test_any_bytes_are_read_and_the_agent_finishes(name: str, written: bytes, exit_code: int | None) -> None:
    assert isinstance(read(name, [written], exit_code)[-1], Finished)


def test_a_subagent_has_calls_and_texts_below_the_call_that_began_it() -> None:
    reports = read_lines(
        "claude",
        assistant(tool_use("t1", "Agent", prompt="Look"), tool_use("t2", "Task", prompt="Search")),
        {
            **tool_result("t1", ""),
            "message": {"content": [{"type": "text", "text": "Look"}]},
            "parent_tool_use_id": "t1",
        },
        delta("two", parent="t2"),
        assistant({"type": "text", "text": "two"}, tool_use("b", "Grep", pattern="x", path="src"), parent="t2"),
        assistant(tool_use("a", "Bash", command="ls"), parent="t1"),
        tool_result("b", "none"),
        tool_result("a", "a.txt"),
        tool_result("t2", "nothing found"),
        tool_result("t1", "one file"),
        {
            **RESULT,
            "result": "",
            "modelUsage": {"big": {"inputTokens": 7, "cacheReadInputTokens": 2}, "small": {"outputTokens": 3}},
        },
    )

    assert reports == [
        Called("t1", "Agent", "task", {"prompt": "Look"}),
        Called("t2", "Task", "task", {"prompt": "Search"}),
        Said("two", "t2"),
        Called("b", "Grep", "search", {"pattern": "x", "path": "src"}, ("src",), None, "t2"),
        Called("a", "Bash", "shell", {"command": "ls"}, (), "ls", "t1"),
        Returned("b", True, "none"),
        Returned("a", True, "a.txt"),
        Returned("t2", True, "nothing found"),
        Returned("t1", True, "one file"),
        Finished("passed", None, "", 4, 0.25, Tokens(9, 3, 2)),
    ]


def test_a_call_and_the_start_of_a_session_are_reported_once() -> None:
    call = assistant(tool_use("c1", "Bash", command="ls"))

    reports = read_lines("claude", INIT, call, call, INIT, {**INIT, "session_id": "s2"})

    assert [type(report) for report in reports] == [Began, Called, Began, Finished]


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        ({"is_error": True, "result": "API Error: 400"}, "API Error: 400"),
        (
            {"subtype": "error_max_turns", "errors": ["Reached maximum number of turns (3)"]},
            "Reached maximum number of turns (3)",
        ),
        ({"subtype": "error_during_execution", "errors": [], "result": None}, "error_during_execution"),
    ],
)
def test_claude_fails_with_the_reason_that_it_gives(result: dict[str, Any], reason: str) -> None:
    end = end_of("claude", assistant({"type": "text", "text": "Looking."}), {**RESULT, **result})

    assert (end.status, end.text, end.reason) == ("failed", "Looking.", reason)


def test_claude_warns_of_retries_and_of_failed_requests_and_says_what_it_refuses_itself() -> None:
    retry = {"attempt": 1, "max_retries": 10, "retry_delay_ms": 1500, "error_status": 529}

    reports = read_lines(
        "claude",
        {"type": "system", "subtype": "api_retry", **retry},
        {"type": "system", "subtype": "api_retry", **retry, "error_status": None},
        {"type": "system", "subtype": "informational", "level": "warning", "content": "a hook denied it"},
        {"type": "system", "subtype": "informational", "level": "info", "content": "fine"},
        {"type": "system", "subtype": "permission_denied", "tool_use_id": "c1", "decision_reason": "by a rule"},
        assistant({"type": "text", "text": "API Error: 400"}, error="unknown"),
        RESULT,
    )

    assert reports[:-1] == [
        Warned("request to the model failed (HTTP status 529); retry 1 of 10 in 1.5 s"),
        Warned("request to the model failed (the connection failed); retry 1 of 10 in 1.5 s"),
        Warned("a hook denied it"),
        Refused("c1", "by a rule"),
        Warned("API Error: 400"),
    ]


def test_codex_passes_when_it_recovers_from_an_error() -> None:
    end = end_of("codex", {"type": "error", "message": "Reconnecting... 1/5"}, TURN_COMPLETED)

    assert (end.status, end.reason, end.turns) == ("passed", "", 1)


@pytest.mark.parametrize(
    ("last", "exit_code", "reason"),
    [
        ({"type": "turn.failed", "error": {"message": "no credit"}}, 1, "no credit"),
        ({"type": "error", "message": '{"error": {"message": "bad request"}}'}, 1, "bad request"),
        ({"type": "turn.failed"}, 0, "codex reported an error"),
        ({"type": "turn.started"}, 1, "codex failed (exit code 1)"),
    ],
)
def test_codex_fails_when_its_last_turn_or_its_exit_code_does(
    last: dict[str, Any], exit_code: int, reason: str
) -> None:
    end = end_of("codex", TURN_COMPLETED, last, exit_code=exit_code)

    assert (end.status, end.reason) == ("failed", reason)


def test_codex_calls_of_other_kinds_are_reported() -> None:
    mcp = {"id": "m", "type": "mcp_tool_call", "server": "db", "tool": "query", "arguments": {"sql": "select 1"}}
    agent = {"id": "a", "type": "collab_tool_call", "tool": "spawn_agent", "prompt": "Look"}
    search = {"id": "w", "type": "web_search"}

    reports = read_lines(
        "codex",
        item("started", **mcp, status="in_progress"),
        item("started", **agent, status="in_progress"),
        item("started", **search, query=""),
        item("completed", **search, query="pit stops"),
        item("completed", **agent, status="completed"),
        item("completed", **mcp, status="completed", result={"content": [{"type": "text", "text": "1"}]}),
        item("completed", **{**mcp, "id": "n"}, status="failed", error={"message": "no table"}),
        item("completed", **SHELL_ITEM, aggregated_output="not here", exit_code=None, status="declined"),
    )

    assert reports[:-1] == [
        Called("m", "mcp__db__query", "mcp", {"sql": "select 1"}),
        Called("a", "spawn_agent", "task", {"tool": "spawn_agent", "prompt": "Look"}),
        Called("w", "web_search", "web", {"query": "pit stops"}),
        Returned("w", True),
        Returned("a", True),
        Returned("m", True, "1"),
        Called("n", "mcp__db__query", "mcp", {"sql": "select 1"}),
        Returned("n", False, "no table"),
        Called("i1", "command_execution", "shell", {"command": "echo one; exit 3"}, (), "echo one; exit 3"),
        Refused("i1", "not here"),
    ]


def codex_command(command: str) -> str | None:
    called = read_lines("codex", item("started", id="i1", type="command_execution", command=command))[0]
    assert isinstance(called, Called)
    return called.command


@given(script=st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_a_codex_command_is_what_the_agent_wrote_without_the_shell_around_it(script: str) -> None:
    assert codex_command(f"/bin/bash -lc {shlex.quote(script)}") == script


@pytest.mark.parametrize(
    ("command", "script"),
    [
        ('/bin/bash -lc "echo \\"it\'s\\" "\'$HOME\'', 'echo "it\'s" $HOME'),
        ("zsh -lc ls", "ls"),
        ("bash -c 'ls' -a", "bash -c 'ls' -a"),
        ("bash -c 'ls", "bash -c 'ls"),
        ("git status", "git status"),
    ],
)
def test_a_codex_command_that_is_no_single_script_stays_as_it_is(command: str, script: str) -> None:
    assert codex_command(command) == script


@pytest.mark.parametrize(
    ("exit_code", "words"),
    [(42, "did not accept its input"), (53, "reached its turn limit"), (1, "ended without a result (exit code 1)")],
)
def test_the_exit_code_of_gemini_is_explained(exit_code: int, words: str) -> None:
    text = {"type": "message", "role": "assistant", "content": "Looking.", "delta": True}

    typed, said, end = read_lines("gemini", text, exit_code=exit_code)

    assert (typed, said) == (Typed("Looking."), Said("Looking."))
    assert isinstance(end, Finished)
    assert (end.status, end.text) == ("failed", "Looking.")
    assert words in end.reason


@pytest.mark.parametrize(
    ("error", "reason"), [({"error": {"message": "[API Error]"}}, "[API Error]"), ({}, "The model returned nothing.")]
)
def test_gemini_fails_with_the_error_of_its_result_or_the_one_before(error: dict[str, Any], reason: str) -> None:
    before = {"type": "error", "severity": "error", "message": "The model returned nothing."}

    end = end_of("gemini", before, {"type": "result", "status": "error", **error}, exit_code=1)

    assert (end.status, end.reason) == ("failed", reason)


def test_opencode_fails_with_an_error_that_no_step_follows() -> None:
    step = {"type": "step_finish", "part": {"cost": 1}}
    error = {"type": "error", "error": {"name": "APIError", "data": {"message": "no credit"}}}

    assert end_of("opencode", error, step).status == "passed"
    assert end_of("opencode", step, error).reason == "no credit"
    assert end_of("opencode", step, exit_code=1).reason == "opencode failed (exit code 1)"


@pytest.mark.parametrize(("name", "who"), [("lines", "the command"), ("aider", "aider")])
@pytest.mark.parametrize(("exit_code", "words"), [(2, "exit code 2"), (None, "exit code unknown")])
def test_the_exit_code_is_the_verdict_on_a_command_that_writes_text(
    name: str, who: str, exit_code: int | None, words: str
) -> None:
    assert end_of(name, "text", exit_code=exit_code) == Finished("failed", "text", f"{who} failed ({words})")


def test_aider_fails_when_its_last_request_does() -> None:
    error = 'litellm.AuthenticationError: AnthropicException - {"type": "error", "error":'
    answered = "Tokens: 100 sent, 10 received."

    assert end_of("aider", "Aider v0.86.2").reason == "its model gave no answer"
    assert end_of("aider", answered, error, "Check your API key.").reason == error
    assert end_of("aider", error, "Retrying in 0.2 seconds...", answered).status == "passed"


def test_the_last_words_of_a_command_are_of_bounded_size() -> None:
    end = end_of("lines", *(f"{number:01023}" for number in range(1000)))

    assert end.text is not None
    assert end.text.split("\n") == [f"{number:01023}" for number in range(984, 1000)]


def test_each_agent_has_a_stream_of_its_own() -> None:
    assert stream_named("claude") is not stream_named("claude")
    with pytest.raises(KeyError):
        stream_named("nonsense")
