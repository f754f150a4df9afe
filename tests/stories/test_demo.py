"""`make demo-graph`: somebody who has just cloned Pitstop sees a graph being debugged, without touching a key."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "examples" / "debug_a_graph.py"


@pytest.fixture(scope="module")
def said() -> str:
    demo = subprocess.run(
        [sys.executable, DEMO], stdin=subprocess.DEVNULL, capture_output=True, timeout=90, encoding="utf-8", check=False
    )
    assert (demo.returncode, demo.stderr) == (0, "")
    return demo.stdout


def test_it_stops_at_the_entry_and_where_a_condition_holds(said: str) -> None:
    assert stops_in(said)[:2] == ["1 before fetch", "2 after fetch"]
    assert "breakpoint (breakpoint 2, .changed | length > 2)" in said


def test_it_steps_through_branches_one_at_a_time(said: str) -> None:
    branches = stops_in(said)[2:5]
    assert {stop.partition(" ")[2] for stop in branches} == {"before lint", "before types", "before tests"}
    assert stops_in(said)[5:7] == ["6 before layout", "7 before docs"]
    assert "main running  lint paused  types paused  tests paused" in said


def test_it_shows_what_changed_between_two_stops(said: str) -> None:
    assert "+ .checks[0] 'lint: 3 files'" in said
    assert "~ .database.port 54321 → 5432" in said


def test_it_stops_at_the_failure_and_repairs_it(said: str) -> None:
    assert stops_in(said)[7:] == ["8 error tests", "9 after tests#2"]
    assert "ConnectionError: no database answers at localhost:54321" in said
    assert "{'host': 'localhost', 'port': 54321}, set by fetch" in said


def test_it_ends_with_the_result_what_was_done_by_hand_and_what_to_read_next(said: str) -> None:
    end = said[said.index("How it ended") :]
    assert re.search(r"status\s+passed", end)
    assert "at stop 8 in tests: .database.port was set to 5432" in end
    assert "retried tests" in end
    assert "docs/guides/debug-a-graph.md" in end
    assert (ROOT / "docs/guides/debug-a-graph.md").exists()


def test_it_has_no_colours_where_there_is_no_terminal(said: str) -> None:
    assert "\033" not in said


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
def test_it_has_colours_in_a_terminal() -> None:
    ours, theirs = os.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    with subprocess.Popen([sys.executable, DEMO], stdin=subprocess.DEVNULL, stdout=theirs, env=environment) as demo:
        os.close(theirs)
        first = os.read(ours, 200)
        while demo.poll() is None:
            try:
                os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
    os.close(ours)
    assert b"\033[1m" in first
    assert demo.returncode == 0


def stops_in(said: str) -> list[str]:
    return [f"{number} {where}" for number, where in re.findall(r"● stop (\d+)  (\w+ \S+)", said)]
