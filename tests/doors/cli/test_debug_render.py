"""What is shown at the prompt, as text without its colours."""

from collections.abc import Iterable
from typing import Any

from rich.text import Text

from pitstop.doors.cli.breakpoint_text import read_breakpoint
from pitstop.doors.cli.debug import listings, render
from pitstop.doors.cli.debug.commands import find
from pitstop.errors import StaleStop
from pitstop.runs.stop_info import OutcomeInfo
from pitstop.service.debugging import (
    BreakpointInfo,
    ChangeInfo,
    ConfigInfo,
    FrameInfo,
    StopInfo,
    VariableInfo,
    VariablePage,
)
from pitstop.service.flows import StepInfo
from pitstop.service.runs import BreakpointRequest, RunSummary

TESTS = StepInfo("checks.tests", "run", "Unit tests", id="tests", parent="checks", file="ci.yaml", line=4)
FLOW = "name: shop\nsteps:\n  - id: checks\n    run: tests\n  - id: last\n    run: 'true'\n"


def stop_at(position: Any = "before", **more: Any) -> StopInfo:
    parts: dict[str, Any] = {
        "id": 3,
        "frame": "tests",
        "step": "checks.tests",
        "occurrence": "checks.tests#2",
        "position": position,
        "reasons": ("breakpoint",),
        "breakpoints": (2, 5),
        "problems": (),
        "outcome": None,
        "allowed": ("continue", "step_over", "retry", "evaluate"),
    }
    return StopInfo(**{**parts, **more})


def plain(lines: Iterable[Text]) -> list[str]:
    return [line.plain for line in lines]


def test_a_stop_tells_first_where_it_is() -> None:
    title = render.stop_title(stop_at("error"), TESTS, "cyan")

    assert title.plain == "● stop 3  tests  error checks.tests#2  Unit tests  ci.yaml:4"


def test_a_stop_tells_every_reason_the_error_and_what_is_wrong_with_a_condition() -> None:
    failed = OutcomeInfo(status="failed", error_type="CommandFailed", error="exit code 3\n  the price is wrong")
    stop = stop_at("error", reasons=("breakpoint", "failure"), outcome=failed, problems=("breakpoint 2: no such key",))

    assert plain(render.stop_reasons(stop)) == [
        "  breakpoint 2, 5, step failed",
        "  CommandFailed: exit code 3",
        "    the price is wrong",
        "  ! breakpoint 2: no such key",
    ]


def test_a_step_that_will_be_skipped_says_so() -> None:
    assert "  its `if` is false: it will be skipped" in plain(render.stop_reasons(stop_at(will_run=False)))


def test_only_the_verbs_that_a_stop_allows_are_offered() -> None:
    assert render.stop_verbs(stop_at()).plain == "  can  next continue · retry"


def test_the_source_has_an_arrow_at_the_current_line_and_dots_at_breakpoints() -> None:
    shown = plain(render.source_lines(FLOW, 4, 4, {3: True, 5: False}, around=2))

    assert shown == [
        "   2  steps:",
        " ● 3    - id: checks",
        "→  4      run: tests",
        " ○ 5    - id: last",
        "   6      run: 'true'",
    ]


def test_dots_are_where_the_flow_has_the_place_of_a_breakpoint() -> None:
    breakpoints = [
        BreakpointInfo(id=1, request=BreakpointRequest(enabled=False), paths=("checks.tests",)),
        BreakpointInfo(id=2, request=BreakpointRequest(), paths=("gone",)),
    ]

    assert render.breakpoint_dots(breakpoints, {"checks.tests": TESTS}, "ci.yaml") == {4: False}
    assert render.breakpoint_dots(breakpoints, {"checks.tests": TESTS}, "other.yaml") == {}


def test_changes_are_short_and_say_how_many_there_are_more() -> None:
    changes = [
        ChangeInfo(path=".steps.tests", kind="added", after={"status": "passed"}),
        ChangeInfo(path=".vars.region", kind="changed", before="eu", after="us"),
        ChangeInfo(path=".vars.old", kind="removed", before=1),
    ]

    assert plain(render.change_lines(changes, most=2)) == [
        '  + .steps.tests {"status": "passed"}',
        '  ~ .vars.region "eu" → "us"',
        "  … 1 more: diff",
    ]
    assert plain(render.change_lines(changes))[2] == "  - .vars.old 1"


def test_a_long_value_is_cut_where_it_is_only_mentioned() -> None:
    assert render.short("x" * 500).endswith("…")
    assert len(render.short("x" * 500)) == render.SHORT_CHARACTERS


def test_an_error_is_one_line() -> None:
    assert render.error_line(StaleStop(4)).plain.startswith("✘ stop 4 has already ended")
    assert "\n" not in render.error_line("one\n  two").plain


def test_each_frame_has_a_colour_of_its_own() -> None:
    frames = [f"frame {number}" for number in range(len(render.FRAME_STYLES))]

    assert len({render.frame_style(frame, frames) for frame in frames}) == len(frames)


def test_frames_are_listed_with_the_selected_one_marked() -> None:
    frames = [FrameInfo("main", "shop", None, "running"), FrameInfo("tests", "tests", "main", "paused")]

    assert plain(listings.frame_list(frames, [stop_at()], "tests")) == [
        "   main   running",
        "→  tests  paused   stop 3  before checks.tests#2",
    ]


def test_a_breakpoint_is_listed_as_it_can_be_typed() -> None:
    for text in (
        "tests:after if .n > 5 hits >= 3 group slow",
        "type:run:error",
        "ci.yaml:14",
        'change .n equals "eu"',
        '* log "n is ${{ .n }}"',
    ):
        breakpoint = BreakpointInfo(id=7, request=read_breakpoint(text), paths=("somewhere",))
        assert listings.breakpoint_line(breakpoint).plain == f"● 7  {text}"


def test_a_breakpoint_tells_its_hits_and_whether_it_is_off_or_nowhere() -> None:
    request = BreakpointRequest(step="tests", once=True, enabled=False)
    line = listings.breakpoint_line(BreakpointInfo(id=7, request=request, hit_count=2))

    assert line.plain == "○ 7  tests once  hit 2 times  off  the flow has no such location"


def test_variables_are_listed_with_their_layer_and_what_set_them() -> None:
    found = VariableInfo(name="vars", path=".vars", type="object", preview="{}", layer="run", set_by="input")

    assert plain(listings.variable_list(VariablePage((found,), 1))) == [".vars  {}  run  set by input"]


def test_config_shows_what_is_written_what_it_would_be_and_what_keeps_it_from_that() -> None:
    preview = ConfigInfo(
        {"script": "make ${{ .n }}", "env": {"A": "1"}, "stdin": "${{ .x | }}"},
        {"script": "make 3", "env": {"A": "1"}},
        problems={".stdin": "syntax error"},
    )

    assert plain(listings.config_lines(preview)) == [
        '  script "make ${{ .n }}"',
        '    = "make 3"',
        '  env {"A": "1"}',
        '  stdin "${{ .x | }}"',
        "  ! .stdin: syntax error",
    ]


def test_help_has_every_command_or_all_of_one() -> None:
    everything = "\n".join(plain(listings.help_lines()))
    one = plain(listings.help_lines(find("break")))

    assert "n      next" in everything
    assert "force passed|failed|skipped [TEXT]" in everything
    assert one[0].startswith("break [PLACE")
    assert any("b tests:after if .vars.errors > 5" in line for line in one)


def test_a_pass_by_hand_is_not_taken_for_a_clean_pass() -> None:
    summary = RunSummary("1", "passed", intervened=True)

    assert plain(listings.summary_lines(summary, ["retried tests"])) == [
        "✔ the run passed, intervened (modified in debugger)",
        "  · retried tests",
    ]
    assert plain(listings.summary_lines(RunSummary("1", "passed"), [])) == ["✔ the run passed"]
