"""A test whose part is missing does not run, is named, and fails the run."""

import os
from pathlib import Path

import pytest

from tests.parts import NEEDED_BY_FIXTURE, find_missing
from tests.suite.conftest import ROOT, Run

SUITE = """
import pytest

@pytest.fixture
def docker():
    assert False, "it is not even set up"

def test_with_nothing():
    pass

@pytest.mark.needs("fish")
def test_of_a_shell():
    assert False

def test_in_a_container(docker):
    pass

def test_that_skips_itself():
    pytest.skip("no disk")
"""


@pytest.mark.parametrize("workers", [(), ("-n1",)], ids=["one process", "a worker"])
def test_what_could_not_run_is_listed_with_its_package_and_fails_the_run(
    run_suite: Run, bare_machine: Path, monkeypatch: pytest.MonkeyPatch, workers: tuple[str, ...]
) -> None:
    monkeypatch.setenv("PATH", str(bare_machine))

    result = run_suite("tests/doors/test_it.py", SUITE, *workers)

    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "=* 1 passed, 3 skipped in *",
            "could not run:",
            "  tests/doors/test_it.py::test_of_a_shell: needs fish (apt-get install fish)",
            "  tests/doors/test_it.py::test_in_a_container: needs busybox (apt-get install busybox-static)*",
            "  tests/doors/test_it.py::test_that_skips_itself: no disk",
        ]
    )


def test_one_who_is_not_root_is_told_what_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    assert find_missing()["root"] == "run as root"


def test_every_part_that_a_test_can_need_has_a_package() -> None:
    listed = {line.split()[0] for line in (ROOT / "tests/set_up.sh").read_text().splitlines() if len(line.split()) == 2}

    assert {part for parts in NEEDED_BY_FIXTURE.values() for part in parts} <= listed | {"root"}
