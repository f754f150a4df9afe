"""What Tab offers."""

import pytest

from pitstop.doors.cli.debug.completion import Words, complete

WORDS = Words(
    step_names={"deps": "Install", "tests": "tests", "2.tests": "tests"},
    frame_names=["main", "tests"],
    breakpoint_names={"1": "*:error", "2": "tests", "slow": "group"},
    watch_names=[".vars.region"],
    scope={
        "vars": {"region": "eu", "odd key": 1, "rows": [{"price": 3}]},
        "steps": {"tests": {"status": "passed"}},
    },
)


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("con", ["continue", "context", "config"]),
        ("until te", ["tests"]),
        ("u te", []),  # until, unset, unwatch or undo?
        ("unt 2", ["2.tests"]),
        ("log de", ["deps"]),
        ("b te", ["tests"]),
        ("b tests:", ["before", "after", "error"]),
        ("b tests:a", ["after"]),
        ("b tests i", ["if"]),
        ("b tests if .vars.re", ["region"]),
        ("frame m", ["main"]),
        ("clear ", ["1", "2", "slow"]),
        ("disable s", ["slow"]),
        ("unwatch .", [".vars.region"]),
        ("force p", ["passed"]),
        ("help wat", ["watch", "watches"]),
        ("p .", ["vars", "steps"]),
        (".va", ["vars"]),
        ("p .vars.", ["region", '"odd key"', "rows"]),
        ("p .vars.rows[0].", ["price"]),
        ("p .steps | keys, .vars.r", ["region", "rows"]),
        ("set .vars.reg", ["region"]),
        ("p .nowhere.", []),
        ("nonsense x", []),
    ],
)
def test_what_can_follow_is_offered(typed: str, offered: list[str]) -> None:
    assert [each.text for each in complete(typed, WORDS)] == offered


def test_a_completion_replaces_what_was_begun_and_says_what_it_is() -> None:
    (step,) = complete("until de", WORDS)
    (key,) = complete("p .vars.ro", WORDS)

    assert (step.text, step.replaces, step.meaning) == ("deps", 2, "Install")
    assert (key.text, key.replaces, key.meaning) == ("rows", 2, "1 items")
