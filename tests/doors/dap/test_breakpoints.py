"""Where a run stops: at lines, at steps by name, at failures, at values that change."""

from pathlib import Path
from typing import Any

import pytest

from tests.doors.dap.adapter_client import AdapterClient
from tests.doors.dap.flows import BROKEN, SHOP, line_of

LAST = line_of("shop.yaml", "id: last")
TURN = line_of("shop.yaml", "id: turn")


async def occurrence(adapter: AdapterClient) -> str:
    """Where the run stops next."""
    name: str = (await adapter.stack(await adapter.stopped(), levels=1))[0]["name"]
    return name


# --- At lines --------------------------------------------------------------------------------------------------------


async def test_a_breakpoint_moves_to_the_step_that_owns_its_line(adapter: AdapterClient, folder: Path) -> None:
    (told,) = await adapter.launch("shop.yaml", lines=(LAST + 1,))

    assert told["verified"]
    assert (told["line"], told["column"], told["endLine"]) == (LAST, 5, LAST + 1)
    assert told["source"]["path"] == str(folder / "shop.yaml")
    stop = await adapter.stopped()
    assert (stop["reason"], stop["hitBreakpointIds"]) == ("breakpoint", [told["id"]])
    assert stop["description"] == "Paused before step last"


@pytest.mark.parametrize(
    ("line", "step"),
    [
        (line_of("shop.yaml", "name: shop"), "id: version"),  # above the first step
        (line_of("shop.yaml", "id: checks") - 1, "id: checks"),  # an empty line
        (line_of("shop.yaml", "parallel:"), "id: checks"),
        (line_of("shop.yaml", "echo right"), "id: right"),
        (line_of("shop.yaml", "times: 3"), "id: loop"),
    ],
)
async def test_each_line_belongs_to_a_step(adapter: AdapterClient, line: int, step: str) -> None:
    (told,) = await adapter.launch("shop.yaml", lines=(line,))

    assert (told["verified"], told["line"]) == (True, line_of("shop.yaml", step))


async def test_there_is_one_answer_for_each_breakpoint_in_the_same_order(adapter: AdapterClient) -> None:
    told = await adapter.launch("shop.yaml", lines=(LAST, 9999, TURN, LAST + 1))

    assert [each["verified"] for each in told] == [True, False, True, True]
    assert [each["line"] for each in told] == [LAST, 9999, TURN, LAST]
    assert (told[1]["reason"], told[1]["message"]) == ("failed", "there is no step on or after this line")
    assert len({each["id"] for each in told}) == 4


async def test_a_file_that_is_not_of_the_flow_has_no_breakpoints(adapter: AdapterClient, folder: Path) -> None:
    """VS Code sends the breakpoints of all files to every session."""
    await adapter.launch("shop.yaml", stopOnEntry=True)
    other = str(folder / "main.c")
    (told,) = (await adapter.ask("setBreakpoints", source={"path": other}, breakpoints=[{"line": 3}]))["breakpoints"]

    assert (told["verified"], told["reason"]) == (False, "failed")
    assert told["message"] == "main.c is not a file of shop.yaml"


async def test_a_new_set_replaces_the_old_one_also_while_it_is_stopped(adapter: AdapterClient, folder: Path) -> None:
    (first,) = await adapter.launch("shop.yaml", lines=(7,))
    await adapter.stopped()
    path = {"path": str(folder / "shop.yaml")}
    both = (await adapter.ask("setBreakpoints", source=path, breakpoints=[{"line": 7}, {"line": TURN}]))["breakpoints"]
    assert both[0]["id"] == first["id"], "one that was there already is the same"
    await adapter.ask("setBreakpoints", source=path, breakpoints=[{"line": LAST}])
    await adapter.ask("continue", threadId=1)

    assert await occurrence(adapter) == "last"


async def test_a_flow_that_is_called_twice_stops_at_the_same_line_twice(adapter: AdapterClient, folder: Path) -> None:
    await adapter.initialize()
    launching = adapter.send("launch", {"program": str(folder / "caller.yaml")})
    await adapter.event("initialized")
    path = {"path": str(folder / "called.yaml")}
    (told,) = (await adapter.ask("setBreakpoints", source=path, breakpoints=[{"line": 6}]))["breakpoints"]
    await adapter.ask("configurationDone")
    await adapter.answer(launching)

    stop = await adapter.stopped()
    frames = await adapter.stack(stop)
    assert [Path(each["source"]["path"]).name for each in frames] == ["called.yaml", "caller.yaml", "caller.yaml"]
    await adapter.ask("continue", threadId=1)
    assert (await adapter.stopped())["hitBreakpointIds"] == [told["id"]]


async def test_a_condition_is_jq(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", breakpoints=[{"line": TURN, "condition": ".repeat.index == 2"}])

    assert await occurrence(adapter) == "loop[2].turn"


async def test_a_condition_that_cannot_be_worked_out_stops_and_says_why(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", breakpoints=[{"line": LAST, "condition": ".vars | keys[0] + 1"}])

    stop = await adapter.stopped()
    assert "cannot be added" in stop["description"]
    assert "cannot be added" in adapter.output("stderr")


async def test_invalid_jq_is_refused_when_it_is_set(adapter: AdapterClient, folder: Path) -> None:
    bad: list[dict[str, Any]] = [
        {"line": LAST, "condition": ".vars | nothing"},
        {"line": TURN, "logMessage": "it is {nope}"},
        {"line": TURN, "condition": ".vars.total == 0"},
    ]
    told = await adapter.launch("shop.yaml", breakpoints=bad, stopOnEntry=True)
    assert [each["verified"] for each in told] == [False, False, True]
    assert told[0]["message"].startswith("invalid condition '.vars | nothing': nothing/0 is not defined")
    assert told[1]["message"].startswith("invalid log message 'nope': nope/0 is not defined")
    assert (told[0]["line"], told[0]["reason"]) == (LAST, "failed")
    await adapter.stopped()

    again = await adapter.ask("setBreakpoints", source={"path": str(folder / "shop.yaml")}, breakpoints=bad)
    assert [each["verified"] for each in again["breakpoints"]] == [False, False, True]
    wrong = {"condition": "1 +"}
    found = await adapter.ask("setFunctionBreakpoints", breakpoints=[{"name": "last", **wrong}, {"name": "last"}])
    found["breakpoints"] += (await adapter.ask("setDataBreakpoints", breakpoints=[{"dataId": ".vars", **wrong}]))[
        "breakpoints"
    ]
    found["breakpoints"] += (
        await adapter.ask("setExceptionBreakpoints", filters=[], filterOptions=[{"filterId": "failed", **wrong}])
    )["breakpoints"]
    assert [each["verified"] for each in found["breakpoints"]] == [False, True, False, False]
    assert all("invalid condition '1 +'" in each["message"] for each in found["breakpoints"] if not each["verified"])
    assert "invalid condition" in (await adapter.refusal("evaluate", expression="break last if 1 +")).message


async def test_a_log_message_that_fails_is_shown_as_it_was_written(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", breakpoints=[{"line": LAST, "logMessage": "it is {.vars.region + 1}"}])
    await adapter.ended()

    assert "it is {.vars.region + 1} (" in adapter.output("console")
    assert "${{" not in adapter.output("console")


async def test_a_hit_count_says_which_hits_stop(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", breakpoints=[{"line": TURN, "hitCondition": ">= 2"}])

    assert await occurrence(adapter) == "loop[1].turn"
    await adapter.ask("continue", threadId=1)
    assert await occurrence(adapter) == "loop[2].turn"


async def test_a_hit_count_that_is_none_is_refused_with_a_hint(adapter: AdapterClient) -> None:
    (told,) = await adapter.launch("shop.yaml", breakpoints=[{"line": TURN, "hitCondition": "often"}])

    assert (told["verified"], told["message"]) == (
        False,
        "invalid hit condition 'often': use for example >= 3, == 5 or % 2",
    )
    assert await adapter.ended() == 0


async def test_a_logpoint_writes_and_never_stops(adapter: AdapterClient) -> None:
    wanted = [{"line": TURN, "logMessage": 'turn {.repeat.index} of {{"a": 3} | .a} in {.vars.region}'}]
    await adapter.launch("shop.yaml", breakpoints=wanted)
    await adapter.ended()

    lines = [each for each in adapter.events_named("output") if each["category"] == "console"]
    assert [each["output"] for each in lines] == [f"turn {number} of 3 in eu\n" for number in range(3)]
    assert lines[0]["line"] == TURN
    assert adapter.events_named("stopped") == adapter.events_named("continued") == []


async def test_a_breakpoint_can_be_after_a_step_or_at_its_failure(adapter: AdapterClient) -> None:
    line = line_of("broken.yaml", "id: start")
    wanted = [{"line": line, "mode": "after"}, {"line": line_of("broken.yaml", "id: connect"), "mode": "error"}]
    await adapter.launch("broken.yaml", breakpoints=wanted)

    assert await occurrence(adapter) == "start (after)"
    assert "Outputs" in await adapter.scopes({"threadId": 1})
    await adapter.ask("continue", threadId=1)
    assert await occurrence(adapter) == "connect (error)"


async def test_the_usual_mode_can_be_another_one(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", lines=(LAST,), breakpointMode="after")

    assert await occurrence(adapter) == "last (after)"


async def test_breakpoints_move_when_the_file_is_edited(adapter: AdapterClient, folder: Path) -> None:
    (told,) = await adapter.launch("shop.yaml", lines=(LAST,), stopOnEntry=True)
    await adapter.stopped()
    (folder / "shop.yaml").write_text("# one line more\n" + SHOP)

    changed = await adapter.event("breakpoint")
    assert changed["reason"] == "changed"
    assert (changed["breakpoint"]["id"], changed["breakpoint"]["line"]) == (told["id"], LAST + 1)
    await adapter.ask("continue", threadId=1)
    assert (await adapter.stack(await adapter.stopped()))[0]["line"] == LAST + 1


async def test_a_step_that_was_written_since_cannot_be_stopped_at(adapter: AdapterClient, folder: Path) -> None:
    await adapter.launch("broken.yaml", lines=(4,), stopOnEntry=True)
    await adapter.stopped()
    (folder / "broken.yaml").write_text(BROKEN.replace("steps:\n", "steps:\n  - id: new\n    run: echo new\n"))
    await adapter.event("breakpoint")
    path = {"path": str(folder / "broken.yaml")}
    (told,) = (await adapter.ask("setBreakpoints", source=path, breakpoints=[{"line": 4}], sourceModified=True))[
        "breakpoints"
    ]

    assert "restart" in told["message"]


async def test_breakpoint_locations_are_where_steps_begin(adapter: AdapterClient, folder: Path) -> None:
    await adapter.launch("shop.yaml", stopOnEntry=True)
    source = {"path": str(folder / "shop.yaml")}

    found = await adapter.ask("breakpointLocations", source=source, line=1, endLine=LAST)
    names = ("version", "checks", "left", "right", "loop", "turn", "last")
    assert [each["line"] for each in found["breakpoints"]] == [line_of("shop.yaml", f"id: {name}") for name in names]
    assert await adapter.ask("breakpointLocations", source={"path": "/none"}, line=1) == {"breakpoints": []}


async def test_a_client_may_count_lines_from_0_and_write_uris(adapter: AdapterClient, folder: Path) -> None:
    await adapter.initialize(linesStartAt1=False, columnsStartAt1=False, pathFormat="uri")
    launching = adapter.send("launch", {"program": str(folder / "shop.yaml")})
    await adapter.event("initialized")
    uri = (folder / "shop.yaml").as_uri()
    (told,) = (await adapter.ask("setBreakpoints", source={"path": uri}, breakpoints=[{"line": LAST - 1}]))[
        "breakpoints"
    ]
    await adapter.ask("configurationDone")
    await adapter.answer(launching)

    assert (told["verified"], told["line"], told["column"]) == (True, LAST - 1, 4)
    (frame, *_) = await adapter.stack(await adapter.stopped())
    assert (frame["line"], frame["column"], frame["source"]["path"]) == (LAST - 1, 4, uri)


# --- By name ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "place"),
    [("last", "last"), ("loop.turn", "loop[0].turn"), ("repeat", "loop"), ("version:after", "version (after)")],
)
async def test_a_function_breakpoint_is_a_step_or_a_type(adapter: AdapterClient, name: str, place: str) -> None:
    await adapter.launch("shop.yaml", stopOnEntry=True)
    await adapter.stopped()
    (told,) = (await adapter.ask("setFunctionBreakpoints", breakpoints=[{"name": name}]))["breakpoints"]
    await adapter.ask("continue", threadId=1)

    stop = await adapter.stopped()
    assert told["verified"]
    assert (stop["reason"], stop["hitBreakpointIds"]) == ("function breakpoint", [told["id"]])
    assert (await adapter.stack(stop))[0]["name"] == place


async def test_a_function_breakpoint_takes_a_condition_and_a_hit_count(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", stopOnEntry=True)
    await adapter.stopped()
    wanted = [{"name": "turn", "condition": ".repeat.index > 0", "hitCondition": "2"}]
    await adapter.ask("setFunctionBreakpoints", breakpoints=wanted)
    await adapter.ask("continue", threadId=1)

    assert await occurrence(adapter) == "loop[2].turn"


async def test_an_unknown_function_is_told_with_the_nearest_one(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", stopOnEntry=True)
    (told,) = (await adapter.ask("setFunctionBreakpoints", breakpoints=[{"name": "versoin"}]))["breakpoints"]

    assert not told["verified"]
    assert told["message"].endswith("did you mean version?")


# --- At failures -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("failed", ["handled", "again", "again#2", "slow", "fatal"]),
        ("uncaught", ["fatal"]),
        ("retry", ["again"]),
        ("timeout", ["slow"]),
    ],
)
async def test_a_filter_says_which_failures_stop(adapter: AdapterClient, name: str, places: list[str]) -> None:
    await adapter.launch("failures.yaml", filters=(name,))
    for place in places:
        stop = await adapter.stopped()
        assert stop["reason"] == "exception"
        assert (await adapter.stack(stop))[0]["name"] == f"{place} (error)"
        await adapter.ask("continue", threadId=1)

    assert await adapter.ended() == 1


async def test_a_client_that_sends_no_filters_has_the_ones_that_are_on_by_default(adapter: AdapterClient) -> None:
    """As dap-mode without any breakpoint."""
    await adapter.initialize()
    launching = adapter.send("launch", {"program": str(adapter.folder / "broken.yaml")})
    await adapter.event("initialized")
    await adapter.ask("configurationDone")
    assert (await adapter.answer(launching))["success"]

    assert (await adapter.stopped())["reason"] == "exception"


async def test_a_filter_takes_a_condition_on_the_error(adapter: AdapterClient) -> None:
    """VS Code sends the filters with options, and none in the other list."""
    await adapter.launch("failures.yaml", stopOnEntry=True)
    await adapter.stopped()
    options = [{"filterId": "failed", "condition": '.message | test("code 3")'}]
    told = await adapter.ask("setExceptionBreakpoints", filters=[], filterOptions=options)
    await adapter.ask("continue", threadId=1)

    assert [each["verified"] for each in told["breakpoints"]] == [True]
    assert await occurrence(adapter) == "fatal (error)"


async def test_a_filter_that_there_is_not_is_not_verified(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", stopOnEntry=True)
    told = await adapter.ask("setExceptionBreakpoints", filters=["failed", "raised"])

    assert [each["verified"] for each in told["breakpoints"]] == [True, False]


async def test_exception_info_has_the_end_of_the_log(adapter: AdapterClient) -> None:
    await adapter.launch("broken.yaml", filters=("failed",))
    stop = await adapter.stopped()
    told = await adapter.ask("exceptionInfo", threadId=stop["threadId"])

    assert stop["text"].startswith("CommandFailed: exit code 1")
    assert (told["exceptionId"], told["breakMode"]) == ("CommandFailed", "unhandled")
    assert told["details"]["stackTrace"] == "connecting to 54321"


async def test_exception_info_of_a_thread_that_has_not_failed_is_refused(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", stopOnEntry=True)
    await adapter.stopped()

    assert "not paused at a failure" in (await adapter.refusal("exceptionInfo", threadId=1)).message


# --- At values -------------------------------------------------------------------------------------------------------


async def test_a_data_breakpoint_stops_when_the_value_changes(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", lines=(line_of("shop.yaml", "id: checks"),))
    stop = await adapter.stopped()
    steps = (await adapter.state(stop))["steps"]["variablesReference"]
    told = await adapter.ask("dataBreakpointInfo", variablesReference=steps, name="last")
    assert told == {"dataId": ".steps.last", "description": ".steps.last", "accessTypes": ["write"], "canPersist": True}
    (breakpoint,) = (await adapter.ask("setDataBreakpoints", breakpoints=[{"dataId": ".steps.last"}]))["breakpoints"]
    await adapter.ask("continue", threadId=1)

    stop = await adapter.stopped()
    assert (stop["reason"], stop["hitBreakpointIds"]) == ("data breakpoint", [breakpoint["id"]])
    assert (await adapter.stack(stop))[0]["name"] == "last (after)"


async def test_what_is_only_told_cannot_be_watched_and_its_data_id_is_null(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", stopOnEntry=True)
    scopes = await adapter.scopes(await adapter.stopped())
    told = await adapter.ask("dataBreakpointInfo", variablesReference=scopes["Step"]["variablesReference"], name="path")

    assert told["dataId"] is None
    assert (await adapter.ask("dataBreakpointInfo", name=".vars.region"))["dataId"] == ".vars.region"
    assert (await adapter.ask("dataBreakpointInfo", name="1 + 1"))["dataId"] is None


async def test_a_data_breakpoint_on_no_path_is_not_verified(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", stopOnEntry=True)
    (told,) = (await adapter.ask("setDataBreakpoints", breakpoints=[{"dataId": "region"}]))["breakpoints"]

    assert not told["verified"]
