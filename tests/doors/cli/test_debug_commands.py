"""The lines that can be typed at the prompt, and what is said of those that cannot."""

from typing import Any

import pytest

from pitstop.doors.cli.breakpoint_text import read_breakpoint
from pitstop.doors.cli.debug.actions import ACTIONS
from pitstop.doors.cli.debug.arguments import Answer, Assignment, Destination, Injection, LogPart, Verdict
from pitstop.doors.cli.debug.commands import allowed_commands, parse
from pitstop.doors.cli.debug.table import GROUPS, TABLE
from pitstop.errors import BadCommand
from pitstop.service.debugging import VERBS
from pitstop.service.runs import BreakpointRequest


@pytest.mark.parametrize(
    ("line", "name", "argument"),
    [
        ("n", "next", None),
        ("s", "step", None),
        ("r", "return", None),
        ("c", "continue", False),
        ("continue all", "continue", True),
        ("until package", "until", "package"),
        ("p .vars | keys", "p", ".vars | keys"),
        ("pp .", "pp", "."),
        (".vars.region", "p", ".vars.region"),
        ("w", "where", None),
        ("l", "list", None),
        ("l .", "list", 0),
        ("l 14", "list", 14),
        ("frame checks.tests", "frame", "checks.tests"),
        ("log", "log", LogPart(None, 20)),
        ("log tests", "log", LogPart("tests", 20)),
        ("log 5", "log", LogPart(None, 5)),
        ("log tests 5", "log", LogPart("tests", 5)),
        ("diff", "diff", None),
        ("diff 3 9", "diff", (3, 9)),
        ('set .vars.region = "us"', "set", Assignment(".vars.region", "us")),
        ('set @run .vars.odd = {"a": [1]}', "set", Assignment(".vars.odd", {"a": [1]}, "run")),
        ("set .n=3", "set", Assignment(".n", 3)),
        ("unset .vars.region", "unset", Assignment(".vars.region")),
        ("skip", "skip", Verdict("skipped")),
        ('skip {"tag": "v1"}', "skip", Verdict("skipped", {"tag": "v1"})),
        ("skip use make", "skip", Verdict("skipped", message="use make")),
        ("force passed 12 tests passed", "force", Verdict("passed", {"output": "12 tests passed"})),
        ("force failed no disk", "force", Verdict("failed", message="no disk")),
        ("force failed", "force", Verdict("failed")),
        ('force passed {"tag": "v1"}', "force", Verdict("passed", {"tag": "v1"})),
        ("config", "config", None),
        ('config script="make"', "config", {"script": "make"}),
        ("config reset", "config", {}),
        ('inject run {"script": "ls"}', "inject", Injection(None, {"uses": "run", "with": {"script": "ls"}})),
        ('inject before {"run": "ls"}', "inject", Injection("before", {"run": "ls"})),
        ("inject", "inject", None),
        ("set .vars.n 42", "set", Assignment(".vars.n", 42)),
        ('set .vars.s "a = b"', "set", Assignment(".vars.s", "a = b")),
        ('set @run .vars["a b"][0] {"x": 1}', "set", Assignment('.vars["a b"][0]', {"x": 1}, "run")),
        ("vars --by-size", "vars", True),
        ("uninject a+1", "uninject", "a+1"),
        ("inject after run ls -l", "inject", Injection("after", {"uses": "run", "with": {"script": "ls -l"}})),
        ("inject sleep", "inject", Injection(None, {"uses": "sleep", "with": {}})),
        ("back", "back", Destination(None, False)),
        ("back !", "back", Destination(None, True)),
        ("rewind 12", "rewind", Destination(12, False)),
        ("rewind 12 !", "rewind", Destination(12, True)),
        ("goto package", "goto", Destination("package", False)),
        ("goto package !", "goto", Destination("package", True)),
        ("clear 1 2", "clear", (1, 2)),
        ("disable slow", "disable", "slow"),
        ("sh", "sh", None),
        ("sh make test", "sh", "make test"),
        ("answer y looks good", "answer", Answer(True, "looks good")),
        ("extend 10", "extend", 600.0),
        ("help break", "help", "break"),
        ("q", "quit", None),
        ("scope", "scope", {}),
        (
            'cancel_frame frame="checks.tests" reason="no = need"',
            "cancel_frame",
            {"frame": "checks.tests", "reason": "no = need"},
        ),
    ],
)
def test_a_line_is_a_command(line: str, name: str, argument: Any) -> None:
    spec, given = parse(line)

    assert (spec.name, given) == (name, argument)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("tests", {"step": "tests"}),
        ("2.lint:after", {"step": "2.lint", "position": "after"}),
        ("*:error", {"position": "error"}),
        (":error", {"position": "error"}),
        (":14", {"file": "", "line": 14}),
        ("ci.yaml:14:after", {"file": "ci.yaml", "line": 14, "position": "after"}),
        ("type:run", {"kind": "run"}),
        ("tests if .vars.n > 5", {"step": "tests", "condition": ".vars.n > 5"}),
        ("tests if if .a then .b else .c end", {"step": "tests", "condition": "if .a then .b else .c end"}),
        ("tests hits >= 3", {"step": "tests", "hits": ">= 3"}),
        ("tests if .a hits % 2 group slow", {"step": "tests", "condition": ".a", "hits": "% 2", "group": "slow"}),
        ('tests log "n is ${{ .vars.n }}"', {"step": "tests", "log": "n is ${{ .vars.n }}"}),
        ("tests if .a log 'said \"x\"'", {"step": "tests", "condition": ".a", "log": 'said "x"'}),
        ("change .vars.n", {"state": ".vars.n"}),
        (
            'change .vars.n equals "eu" if .a',
            {"state": ".vars.n", "equals": "eu", "has_equals": True, "condition": ".a"},
        ),
    ],
)
def test_a_breakpoint_is_read(text: str, parts: dict[str, Any]) -> None:
    assert read_breakpoint(text) == BreakpointRequest(**parts)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("re", "'re' is ambiguous: return, retry, rewind or restart"),
        ("contniue", "unknown command 'contniue': did you mean 'continue'?"),
        ("xyzzy", "unknown command 'xyzzy': `help` lists all commands"),
        ("n 3", "next: it takes no argument, but got '3'; usage: next"),
        ("p", "p: it needs an argument; usage: p JQ"),
        ("set .a = eu", "set: invalid JSON eu: text needs quotes; usage: set [@LAYER] PATH [=] JSON"),
        ("set .a = {", "property name enclosed in double quotes"),
        ("set .a == 3", "set: it takes a path and a JSON value"),
        ("skip [1]", "skip: [1] is not a JSON object; usage: skip [JSON | REASON]"),
        ("force broken", "force: it needs an outcome: passed, failed, skipped"),
        ("b tests:later", "break: 'tests:later': invalid position 'later': use before, after, error, or a line"),
        ("b tests of something", "break: invalid breakpoint 'tests of something'"),
        ("clear", "clear: it takes breakpoint numbers, or the name of a group"),
        ("rewind soon", "rewind: it takes the number of a point, as `history` shows it"),
        ("answer maybe", "answer: it takes y or n; usage: answer y|n [COMMENT]"),
        (
            "cancel_frame tests",
            "it takes arguments of the form name=JSON; usage: cancel_frame frame=JSON [reason=JSON]",
        ),
    ],
)
def test_what_is_no_command_is_told_in_one_line(line: str, said: str) -> None:
    with pytest.raises(BadCommand) as refused:
        parse(line)

    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("begun", "name"), [("ne", "next"), ("cont", "continue"), ("forc", "force"), ("his", "history")]
)
def test_the_beginning_of_a_name_is_enough_where_it_can_be_no_other(begun: str, name: str) -> None:
    assert next(spec.name for spec in TABLE if spec.name.startswith(begun)) == name
    assert parse(f"{begun} passed" if name == "force" else begun)[0].name == name


def test_every_command_of_the_table_is_carried_out_and_in_a_group_of_the_help() -> None:
    assert {spec.name for spec in TABLE} == set(ACTIONS)
    assert {spec.group for spec in TABLE} == set(GROUPS)


def test_the_verbs_of_a_stop_are_told_as_commands() -> None:
    allowed = allowed_commands(("continue", "step_over", "retry", "step_back"))

    assert allowed == {"Moving": ["next", "continue"], "Changing": ["retry"], "Time travel": ["back"]}


def test_every_verb_of_the_debugger_can_be_said_at_the_prompt() -> None:
    spoken = {name for spec in TABLE for name in (spec.name, *spec.speaks)}

    assert spoken >= set(VERBS)
    assert {name for spec in TABLE for name in spec.speaks} <= set(VERBS)
