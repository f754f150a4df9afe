"""The first five minutes: `make demo` fails, says how to go on, and what it says works."""

import re
import shutil
from pathlib import Path

import pytest

from tests.stories.clone import Clone, Person

pytestmark = pytest.mark.skipif(not all(map(shutil.which, ("make", "bash"))), reason="needs make and bash")

DEBUG_LINE = re.compile(r"(?:debug it: +|^ +)?(\S*pitstop debug \S.*)$")


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path)


def test_the_demo_fails_and_says_what_where_and_how_to_debug_it(clone: Clone) -> None:
    before = clone.files()
    demo = clone.runs("make demo")
    assert demo.returncode == 0, demo.stdout  # it failed as it should
    end = demo.stdout.splitlines()[-18:]
    assert "checks.tests failed (build/demo/flow.yaml:8): exit code 1" in end
    assert "  | ValueError: could not convert string to float: '0,19'" in end
    assert line_number(clone, "- id: tests") == 8
    assert debug_command(demo.stdout).startswith(".venv/bin/pitstop debug build/demo/flow.yaml ")
    assert clone.files() == before


def test_a_demo_that_does_not_fail_as_it_should_is_an_error(clone: Clone) -> None:
    (clone.path / "examples/broken/flow.yaml").write_text("steps: [{run: 'true'}]\n")
    assert clone.runs("make demo").returncode != 0


def test_the_command_from_the_screen_stops_there_a_shell_repairs_it_and_a_retry_passes(clone: Clone) -> None:
    command = debug_command(clone.runs("make demo").stdout)
    with Person(clone, command) as person:
        person.reads("before checks.tests  build/demo/flow.yaml:8", "→   8        - id: tests", "(checks.tests)")
        person.enters("c")
        person.reads("ValueError: could not convert string to float: '0,19'", "✘ checks.tests  failed")
        person.reads("error checks.tests  build/demo/flow.yaml:8", "step failed", "retry", "(checks.tests)")

        person.enters("sh")
        person.reads("exit or Ctrl-D returns")
        person.enters("sed -i.bak 's/0,19/0.19/' shop/settings.json && echo repaired by ha''nd")
        person.reads("repaired by hand\n")
        person.ends_shell()

        person.reads("(checks.tests)")
        person.enters("retry")
        person.reads("✔ checks.tests#2  passed", "✔ package  passed", "✔ smoke  passed", "✔ price  passed")
        person.reads("✔ the run passed, intervened", "retried checks.tests")
        assert person.leaves() == 0
    repaired = clone.path / "build/demo/shop/settings.json"
    assert '"tax_rate": "0.19"' in repaired.read_text(encoding="utf-8")
    assert clone.runs(".venv/bin/pitstop run build/demo/flow.yaml --workspace build/demo").returncode == 0


def test_a_terminal_shows_the_same_end(clone: Clone) -> None:
    with Person(clone, "make demo") as person:
        person.reads("checks.tests", "failed", "build/demo/flow.yaml:8", "pitstop debug build/demo/flow.yaml")
        assert person.leaves() == 0
        assert debug_command(person.said)


def debug_command(said: str) -> str:
    """The last command on the screen that debugs the run."""
    found = [match[1] for line in said.splitlines() if (match := DEBUG_LINE.search(line.rstrip()))]
    return found[-1]


def line_number(clone: Clone, text: str) -> int:
    lines = (clone.path / "examples/broken/flow.yaml").read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)
