"""The table of limits is what holds, and each of its rows has a test."""

import re
from pathlib import Path

import pytest

from pitstop import limits
from pitstop.definition.plain import MOST_SECRETS
from pitstop.limits import DEFAULTS
from pitstop.settings import read_settings

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reference/limits.md"
SECTIONS, _, _ = PAGE.read_text().partition("## HTTP")  # which the tests of that door cover
ROWS = re.findall(r"^\| (?P<what>.+?) \| (?P<limit>[\d,]+) \| (?P<setting>`\w+`)? ?\|", SECTIONS, re.MULTILINE)

TESTED = {  # the number that holds, and where a test goes beyond it
    "bytes of a flow": (limits.FLOW_BYTES, "definition/test_flow_mistakes.py::test_what_is_no_yaml_that_can_be_read"),
    "values in a flow": (limits.FLOW_VALUES, "definition/test_size_checks.py::test_a_flow_beyond_a_limit"),
    "nesting of values": (
        limits.VALUE_LEVELS,
        "definition/test_flow_mistakes.py::test_a_chain_of_aliases_is_as_deep_as_what_it_stands_for",
    ),
    "nesting of steps": (
        limits.STEP_LEVELS,
        "plan/test_planner_flow.py::test_flows_that_call_each_other_without_end_end",
    ),
    "steps in a flow": (DEFAULTS.step_limit, "definition/test_size_checks.py::test_a_flow_beyond_a_limit"),
    "names in each": (limits.VARIABLES, "definition/test_size_checks.py::test_a_flow_beyond_a_limit"),
    "characters of a name": (limits.NAME_CHARACTERS, "definition/test_size_checks.py::test_a_flow_beyond_a_limit"),
    "secrets in one list": (MOST_SECRETS, "definition/test_flow_mistakes.py::test_a_list_of_secrets_has_a_limit"),
    "combinations of a": (DEFAULTS.matrix_limit, "definition/test_size_checks.py::test_a_flow_beyond_a_limit"),
    "iterations of a": (DEFAULTS.iteration_limit, "definition/test_size_checks.py::test_a_flow_beyond_a_limit"),
    "frames open": (DEFAULTS.frame_limit, "engine/test_parallel.py::test_branches_in_branches_above_the_limit_fail"),
}


def test_each_row_has_a_test() -> None:
    untested = [what for what, _, _ in ROWS if not what.startswith(tuple(TESTED))]
    assert (len(ROWS), untested) == (len(TESTED), [])


@pytest.mark.parametrize(("what", "limit", "setting"), ROWS, ids=[row[0] for row in ROWS])
def test_a_row_is_what_holds(what: str, limit: str, setting: str) -> None:
    number, test = next(tested for name, tested in TESTED.items() if what.startswith(name))
    file, _, name = test.partition("::")

    assert limit == f"{number:,}"
    assert f"def {name}(" in (ROOT / "tests" / file).read_text()
    if setting:
        assert read_settings({setting.strip("`"): "7"}) != read_settings({})
