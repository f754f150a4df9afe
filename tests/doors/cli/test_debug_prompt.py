"""The whole prompt, as a person at a terminal has it."""

import os
from pathlib import Path

import pytest

from tests.doors.cli.debug_bench import CTRL_C, CTRL_D, TAB, UP, Folder, Person

SLOW = """\
steps:
  - id: slow
    run: echo begun; read line < fifo; echo "got $line"
  - id: next
    run: echo done
cleanup:
  - id: tidy
    run: echo tidying up
"""
ASKING = """\
steps:
  - id: greet
    run: |
      read -p "name? " name
      echo "hello $name $(test -t 0 && echo on a terminal)"
      echo "name=$name" >> "$PITSTOP_OUTPUT"
  - id: last
    run: "true"
"""


@pytest.fixture
def shop(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.fixture
def slow(tmp_path: Path) -> Folder:
    os.mkfifo(tmp_path / "fifo")
    return Folder(tmp_path, SLOW)


def test_a_failing_step_is_repaired_in_a_shell_and_tried_again(shop: Folder) -> None:
    with Person(shop) as person:
        person.reads(
            "● stop 1  main  before deps  Install  ci.yaml:7", "can  next step", "→   7    - id: deps", "(main)"
        )
        person.enters("c")
        person.reads("tests │ the price is wrong", "✘ checks.tests  failed")
        person.reads("stop 2  checks.tests  error checks.tests  ci.yaml:14", "CommandFailed: exit code 3", "retry")
        person.reads("(checks.tests)")

        person.enters("sh")
        person.reads("exit or Ctrl-D returns")
        person.enters("echo step=$PITSTOP_STEP tty=$(test -t 0 && echo yes)")
        person.reads("step=checks.tests tty=yes")
        person.enters("sed -i s/10/12/ shop.conf && echo repaired by hand")
        person.reads("repaired by hand\n")
        person.ends_shell()

        person.reads("(checks.tests)")
        person.enters("retry")
        person.reads("tests │ the price is right", "✔ checks.tests#2  passed", "✔ package  passed", "tidy │ tidying up")
        person.reads("✔ the run passed, intervened", "retried checks.tests")
        assert person.leaves() == 0


def test_a_step_that_reads_input_gets_the_terminal(tmp_path: Path) -> None:
    asking = Folder(tmp_path, ASKING)
    with Person(asking) as person:
        person.reads("before greet", "(main)")
        person.enters("shell step")
        person.reads("the command of greet in this terminal", "name? ")
        person.enters("Ada")
        person.reads("hello Ada on a terminal", "[pitstop] greet passed", "after greet", "(main)")
        person.enters("p .steps.greet.outputs.name")
        person.reads('"Ada"', "(main)")
        person.enters("log greet")
        person.reads("hello Ada on a terminal", "(main)")
        person.enters("c")
        person.reads("✔ last  passed", "✔ the run passed, intervened", "forced greet to passed")
        assert person.leaves() == 0
        assert "greet │" not in person.said  # it was seen in the terminal


def test_the_command_that_a_failed_run_names_stops_at_the_failure(shop: Folder) -> None:
    with Person(shop, "run", "ci.yaml") as person:
        assert person.leaves() == 1
        *_, last = person.said.rstrip().splitlines()
    _, _, command = last.partition(" -m pitstop ")
    assert command == "debug ci.yaml --from checks.tests"

    with Person(shop, *command.split()) as person:
        person.reads("● stop 1  checks.tests  before checks.tests  ci.yaml:14", "(checks.tests)")
        person.enters("n")
        person.reads("tests │ the price is wrong", "stop 2  checks.tests  error checks.tests", "(checks.tests)")
        person.enters("sh sed -i s/10/12/ shop.conf")
        person.reads("(checks.tests)")
        person.enters("retry")
        person.reads("✔ checks.tests#2  passed", "✔ the run passed, intervened")
        assert person.leaves() == 0
        assert "installed" not in person.said  # what came before is not run again


def test_a_run_that_fails_is_handed_to_the_prompt_with_its_workspace_alive(shop: Folder) -> None:
    with Person(shop, "run", "ci.yaml", "--debug-on-error") as person:
        person.reads("● stop 1  checks.tests  error checks.tests  ci.yaml:14", "(checks.tests)")
        person.enters("sh cat shop.conf")
        person.reads("price = 10", "(checks.tests)")
        person.enters("c")
        person.reads("✘ the run failed")
        assert person.leaves() == 1


def test_a_step_that_asks_is_answered_at_the_prompt(tmp_path: Path) -> None:
    with Person(Folder(tmp_path, "steps: [{id: ask, approve: Ship it?}]\n")) as person:
        person.reads("(main)")
        person.enters("c")
        person.reads("ask │ waiting for approval: Ship it?", "(main running)")
        person.enters("answer y looks good")
        person.reads("✔ ask  passed", "✔ the run passed")
        assert person.leaves() == 0


def test_the_shell_has_the_size_of_the_window_and_follows_it(shop: Folder) -> None:
    with Person(shop) as person:
        person.reads("(main)")
        person.enters("sh")
        person.reads("Ctrl-D returns")
        person.enters("stty size")
        person.reads("40 120")
        person.resizes(30, 99)
        person.enters("stty size")
        person.reads("30 99")
        person.enters("exit")
        person.reads("(main)")
        person.enters("q")
        person.reads("[y/N]")
        person.enters("y")
        assert person.leaves() == 130


def test_frames_stop_side_by_side_and_the_selected_one_stays(shop: Folder) -> None:
    with Person(shop) as person:
        person.reads("(main)")
        person.enters("n")
        person.reads("stop 2  main  before checks", "(main)")
        person.enters("s")
        told = person.reads("stop 3  checks.", "  before checks.", "stop 4  checks.", "  before checks.", " selects it")
        is_lint_first = "stop 3  checks.lint" in told  # nobody says which branch is there first
        lint, tests, selected = (3, 4, "checks.lint") if is_lint_first else (4, 3, "checks.tests")
        person.reads(f"({selected})")

        person.enters("frames")
        arrows = ("→", " ") if is_lint_first else (" ", "→")
        person.reads("main          paused", f"{arrows[0]}  checks.lint   paused  stop {lint}")
        person.reads(f"{arrows[1]}  checks.tests  paused  stop {tests}", f"({selected})")
        person.enters("frame checks.tests")
        person.reads(f"● stop {tests}  checks.tests", "(checks.tests)")
        person.enters("w")
        person.reads(
            "main          checks        parallel  ci.yaml:10", "→  checks.tests  checks.tests  run       ci.yaml:14"
        )

        person.reads("(checks.tests)")
        person.enters("skip")  # it is gone then, and only lint is left to look at
        person.reads(f"● stop {lint}  checks.lint  before checks.lint", "(checks.lint)")
        person.enters("c all")
        person.reads("✔ package  passed", "✔ the run passed, intervened", "skipped checks.tests")
        assert person.leaves() == 0


def test_breakpoints_are_set_shown_in_the_source_switched_and_removed(shop: Folder) -> None:
    with Person(shop) as person:
        person.reads("(main)")
        person.enters("b package if .vars.retries >")
        person.reads("✘ invalid condition '.vars.retries >': syntax error", "(main)")
        person.enters("b package if .vars | error")
        person.reads("● 2  package if .vars | error", "(main)")
        person.enters("b tests")
        person.reads("● 3  tests", "(main)")
        person.enters("disable 3")
        person.reads("○ 3  tests  off", "(main)")
        person.enters("b nowhere")
        person.reads("✘ the flow has no step 'nowhere'", "(main)")
        person.enters("until checks")
        person.reads(" ○ 14        - id: tests", "(main)")
        person.enters("force passed")
        said = person.reads("stop 3  main  before package", "(main)")
        assert "! breakpoint 2: expression" in said  # a condition that cannot be evaluated stops, and says why
        person.enters("clear all")
        person.reads("no breakpoints", "(main)")
        person.enters("c")
        person.reads("✔ the run passed")
        assert person.leaves() == 0


def test_tab_completes_commands_steps_and_paths(shop: Folder) -> None:
    with Person(shop) as person:
        person.reads("(main)")
        person.types(f"unt{TAB}")
        person.reads("until")
        person.types(f" pack{TAB}")
        person.reads("package")
        person.types(CTRL_C)  # clears the line: what comes is a line of its own
        person.types(f"p .va{TAB}")
        person.reads("p .va", "rs")
        person.types(f".ret{TAB}")
        person.reads(".ret", "ries")
        person.enters(" + 40")
        person.reads("\n42", "(main)")
        person.types(CTRL_D)
        person.reads("Cancel the run?")
        person.enters("y")
        assert person.leaves() == 130


def test_an_empty_line_repeats_the_last_move_and_lines_are_remembered(shop: Folder) -> None:
    with Person(shop) as person:
        person.reads("(main)")
        person.enters("n")
        person.reads("stop 2  main  before checks", "(main)")
        person.enters("p .steps.deps.status")
        person.reads('"passed"', "(main)")
        person.enters("")
        person.reads("stop 3  checks.tests  error")  # over the parallel step there was a failure inside it
        person.reads("(checks.tests)")
        person.types(CTRL_D)
        person.reads("Cancel the run?")
        person.types(CTRL_D)
        assert person.leaves() == 130
    with Person(shop) as person:
        person.reads("(main)")
        person.types(f"{UP}\r")
        person.reads("p .steps.deps.status", "null", "(main)")
        person.enters("q")
        person.reads("Cancel the run?")
        person.enters("y")
        assert person.leaves() == 130


def test_ctrl_c_clears_a_line_pauses_what_runs_and_ends_nothing(slow: Folder) -> None:
    with Person(slow) as person:
        person.reads("(main)")
        person.types("something")
        person.reads("something")
        person.types(CTRL_C)
        person.types(CTRL_C)
        person.reads("nothing is running in this frame", "(main)")
        person.enters("c")
        person.reads("slow │ begun", "(main running)")
        person.enters("p .vars")
        person.reads("✘ frame main is running; `pause` or Ctrl-C pauses it", "(main running)")
        person.types(CTRL_C)
        person.reads("pausing main: each will pause at its next step")
        (slow.path / "fifo").write_text("word\n")
        person.reads("slow │ got word", "stop 2  main  after slow", "pause requested", "(main)")
        person.enters("c")
        person.reads("✔ next  passed", "✔ the run passed")
        assert "intervened" not in person.said
        assert person.leaves() == 0


def test_quitting_asks_cancels_what_runs_and_cleans_up(slow: Folder) -> None:
    with Person(slow) as person:
        person.reads("(main)")
        person.enters("c")
        person.reads("slow │ begun", "(main running)")
        person.enters("q")
        person.reads("Cancel the run? main will be cancelled, then cleanup runs. [y/N]")
        person.enters("n")
        person.reads("(main running)")
        person.types(CTRL_D)
        person.reads("[y/N]")
        person.enters("y")
        person.reads("■ slow  cancelled", "tidy │ tidying up", "■ the run was cancelled")
        assert person.leaves() == 130


def test_a_run_that_ends_takes_the_prompt_with_it(slow: Folder) -> None:
    with Person(slow) as person:
        person.reads("(main)")
        person.enters("detach")
        person.reads("slow │ begun", "(main running)")
        person.types("half a li")
        person.reads("half a li")
        (slow.path / "fifo").write_text("word\n")
        person.reads("✔ next  passed", "✔ the run passed")
        assert person.leaves() == 0


def test_values_are_edited_and_time_goes_back(shop: Folder) -> None:
    with Person(shop) as person:
        person.reads("(main)")
        person.enters("watch .vars.retries")
        person.reads(".vars.retries = 2", "(main)")
        person.enters("set .vars.retries = 5")
        person.reads(".vars.retries = 5", "(main)")
        person.enters("n")
        person.reads("stop 2  main  before checks", "back", "+ .steps.deps", ".vars.retries = 5", "(main)")
        person.enters("back")
        person.reads("before deps", ".vars.retries = ", "(main)")
        person.enters("undo")
        person.reads("(main)")
        person.enters("history")
        person.reads("before deps", "(main)")
        person.enters("q")
        person.reads("[y/N]")
        person.enters("y")
        assert person.leaves() == 130


def test_the_prompt_follows_the_commands_of_the_command_line(shop: Folder) -> None:
    with Person(shop, "debug", "ci.yaml", "-c", "b package", "-c", "n") as person:
        person.reads("(main) b package", "● 2  package", "(main) n", "● stop 2  main  before checks")
        person.reads("(main)")
        person.enters("b")
        person.reads("● 2  package", "(main)")
        person.types(CTRL_D)
        person.reads("Cancel the run?")
        person.enters("y")
        assert person.leaves() == 130


def test_a_flood_of_output_leaves_the_prompt_usable(tmp_path: Path) -> None:
    flood = "steps: [{id: flood, run: seq 1 200000; echo the end of it}, {id: last, run: echo done}]\n"
    with Person(Folder(tmp_path, flood)) as person:
        person.reads("(main)")
        person.enters("b last")
        person.reads("● 2  last", "(main)")
        person.enters("c")
        person.reads("flood │ the end of it", "● stop 2  main  before last", "(main)")
        person.enters("p 40 + 2")
        person.reads("\n42")
        person.enters("c")
        person.reads("✔ the run passed")
        assert person.leaves() == 0
