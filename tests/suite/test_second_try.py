"""A failed test that uses real parts gets a second try, alone; no other does."""

import pytest

from tests.second_try import MOST
from tests.suite.conftest import Run

FLAKY = """
from pathlib import Path
import pytest

def test_that_passes():
    pass

@pytest.mark.needs("npm")
@pytest.mark.parametrize("word", ["a b::c"])
def test_that_fails_once(word):
    mark = Path("was here")
    if not mark.exists():
        mark.touch()
        pytest.fail("the machine was busy")
"""
BROKEN = "def test_that_fails(): assert False, 'always'\n"
LEAKY = """
from pathlib import Path
import pytest

@pytest.fixture
def checked():
    yield
    mark = Path("was here")
    if not mark.exists():
        mark.touch()
        pytest.fail("something is left")

def test_that_leaves_something(checked):
    pass
"""
NAME = "tests/doors/test_it.py::test_that_fails_once[a b::c]"


@pytest.mark.parametrize("workers", [(), ("-n2", "--dist", "loadgroup")], ids=["one process", "workers"])
def test_one_that_passes_the_second_time_is_named_last_and_the_run_is_green(
    run_suite: Run, workers: tuple[str, ...]
) -> None:
    result = run_suite("tests/doors/test_it.py", FLAKY, "--second-try", *workers)

    assert result.ret == 0
    assert result.outlines[-2:] == ["flaky:", f"  {NAME}"]
    result.stdout.re_match_lines([".*first try of.*", ".*the machine was busy.*", "=+ 1 passed, 1 flaky in .*"])
    result.stdout.no_fnmatch_line("*FAILED*")


def test_one_that_fails_twice_fails_the_run(run_suite: Run) -> None:
    result = run_suite("tests/doors/test_it.py", FLAKY + BROKEN, "--second-try")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*second try of*test_that_fails *", "=* 1 failed, 1 passed, 1 flaky in *"])
    assert result.outlines[-2:] == ["flaky:", f"  {NAME}"]


@pytest.mark.parametrize("folder", ["engine", "simulation"])
def test_a_core_test_has_no_second_try(run_suite: Run, folder: str) -> None:
    result = run_suite(f"tests/{folder}/test_it.py", FLAKY, "--second-try")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["=* 1 failed, 1 passed in *"])
    result.stdout.no_fnmatch_line("*second try*")


def test_without_the_option_there_is_none(run_suite: Run) -> None:
    result = run_suite("tests/doors/test_it.py", FLAKY)

    assert result.ret == 1
    result.stdout.no_fnmatch_line("flaky:")


def test_what_was_left_behind_stays_an_error(run_suite: Run) -> None:
    result = run_suite("tests/doors/test_it.py", LEAKY, "--second-try")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["=* 1 passed, 1 error in *"])


def test_a_file_that_cannot_be_read_is_an_error(run_suite: Run) -> None:
    result = run_suite("tests/doors/test_it.py", "import no_such_module", "--second-try")

    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.no_fnmatch_line("*second try*")


def test_when_very_many_fail_it_is_not_the_machine(run_suite: Run) -> None:
    many = f"import pytest\n@pytest.mark.parametrize('n', range({MOST + 1}))\ndef test_it(n): assert False\n"

    result = run_suite("tests/doors/test_it.py", many, "--second-try", "-q")

    assert result.ret == 1
    result.stdout.no_fnmatch_line("*second try*")
