"""What is known of a breakpoint from the values alone, before anything is asked."""

from typing import Any

import pytest

from pitstop.debugger.breakpoints import Breakpoint
from pitstop.debugger.matching import Watched, passes
from tests.debugger.bench import debugging, graph
from tests.debugger.test_breakpoints import session_with

FRAME = "main"


@pytest.mark.parametrize(
    ("parts", "is_passed"),
    [
        ({}, False),
        ({"enabled": False}, True),
        ({"position": "error"}, True),
        ({"position": "after"}, False),
        ({"condition": ".n == 2"}, True),
        ({"condition": ".n == 1"}, False),
        ({"condition": ".n.wrong == 1"}, False),
        ({"condition": '.n | tostring == "2"'}, False),
        ({"condition": lambda state: False}, False),
        ({"condition": ".n == 2", "position": "after"}, False),
    ],
)
def test_a_breakpoint_that_is_not_hit_for_sure_need_not_be_asked_about(parts: dict[str, Any], is_passed: bool) -> None:
    assert passes([Breakpoint(1, **parts)], FRAME, "before", {"n": 1}, {}) is is_passed


@pytest.mark.parametrize(
    ("parts", "before", "is_passed"),
    [
        ({"state": ".n"}, {}, False),
        ({"state": ".n"}, {(1, FRAME): 1}, True),
        ({"state": ".n"}, {(1, FRAME): 2}, False),
        ({"state": ".n"}, {(1, "another"): 1}, False),
        ({"state": ".n + 1"}, {(1, FRAME): 1}, False),
        ({"state": ".n.wrong"}, {(1, FRAME): 1}, False),
        ({"state": ".n", "equals": 1}, {(1, FRAME): 2}, False),
        ({"state": ".n", "equals": 1}, {(1, FRAME): 1}, True),
        ({"state": ".n", "equals": 3}, {(1, FRAME): 2}, True),
    ],
)
def test_a_value_that_has_not_changed_need_not_be_asked_about(
    parts: dict[str, Any], before: Watched, is_passed: bool
) -> None:
    assert passes([Breakpoint(1, **parts)], FRAME, "after", {"n": 1}, before) is is_passed


def test_a_value_that_is_not_the_awaited_one_is_remembered() -> None:
    watched: Watched = {(1, FRAME): 2}
    breakpoint = Breakpoint(1, state=".n", equals=3)

    assert passes([breakpoint], FRAME, "before", {"n": 3}, watched) is False
    assert passes([breakpoint], FRAME, "before", {"n": 4}, watched) is True
    assert watched == {(1, FRAME): 4}


async def test_a_node_that_changed_a_watched_value_can_be_retried_and_followed_by_a_step() -> None:
    app = graph("a > b > c", b=lambda state: {"n": state["n"] + 1})

    async with debugging(app, {"n": 0}, session_with(state=".n")) as run:
        stop = await run.stop()
        assert str(stop.step) == "b"
        await run.session.inject(stop, lambda state: {"injected": state["n"]}, "after")
        await run.session.retry(stop)
        await run.trail("continue_")

        assert (await run.end()).state == {"a": "done", "n": 1, "injected": 1, "c": "done"}
