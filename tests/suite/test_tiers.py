"""What is in which tier."""

import pytest

from tests.suite.conftest import ROOT, Run
from tests.tiers import FAST, HEAVY, is_in


def test_every_place_that_is_listed_is_there() -> None:
    assert [place for place in (*FAST, *HEAVY) if not (ROOT / place).exists()] == []


@pytest.mark.parametrize(
    ("path", "is_fast"),
    [
        ("tests/plan/test_scope.py", True),
        ("tests/plan/test_scope.py::test_x[a/b]", True),
        ("tests/steps/test_node.py::test_x", True),
        ("tests/steps/test_run.py", False),
        ("tests/planning/test_x.py", False),
    ],
)
def test_a_path_or_a_test_is_in_a_place(path: str, is_fast: bool) -> None:
    assert is_in(FAST, path) is is_fast


def test_fast_leaves_out_all_that_is_not(run_suite: Run) -> None:
    run_suite("tests/doors/test_it.py", "def test_slow(): pass")

    result = run_suite("tests/engine/test_it.py", "def test_quick(): pass", "--fast", "-v")

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*test_quick PASSED*"])


def test_what_is_heavy_runs_first_and_on_one_worker(run_suite: Run) -> None:
    run_suite("tests/app/test_it.py", "".join(f"def test_light_{number}(): pass\n" for number in range(6)))
    heavy = "".join(f"def test_heavy_{number}(): pass\n" for number in range(6))

    result = run_suite("tests/chaos/test_it.py", heavy, "-n2", "--dist=loadgroup", "--no-loadscope-reorder", "-v")

    result.assert_outcomes(passed=12)
    passed = [(line.split()[0], line.split("::")[1].strip()) for line in result.outlines if "PASSED" in line]
    (worker,) = {worker for worker, name in passed if "heavy" in name}
    assert [name for each, name in passed if each == worker][:6] == [f"test_heavy_{number}" for number in range(6)]
