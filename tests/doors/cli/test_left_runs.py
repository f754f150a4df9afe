"""Local runs that outlive their process: left without a terminal, or killed, and debugged afterwards by their ids."""

import json
import os
import signal
from pathlib import Path
from typing import Any

from tests.doors.cli.command_line import CommandLine
from tests.doors.cli.debug_bench import Folder, Person

SHOP = """\
    name: shop
    steps:
      - {id: build, run: echo built >> built.txt}
      - {id: tests, run: echo testing; test -e repaired}
    cleanup:
      - {id: tidy, run: touch tidied}
    """
HANGING = """\
    steps:
      - {id: build, run: echo built >> built.txt}
      - {id: hang, run: 'echo began >> began.txt; echo hanging; until test -e go; do sleep 0.05; done'}
    """


def record_of(cli: CommandLine) -> tuple[str, dict[str, Any]]:
    """The only run and its record, as it is on the disk."""
    (path,) = cli.home.glob("runs/*/run.json")
    return path.parent.name, json.loads(path.read_text())


def kill(cli: CommandLine) -> str:
    """Kill the process of the only run, in the middle of an event; gives the run."""
    run, record = record_of(cli)
    os.kill(record["owner"], signal.SIGKILL)
    return run


def cut_off(cli: CommandLine, run: str) -> None:
    with (cli.home / "runs" / run / "events.jsonl").open("a") as log:
        log.write('{"schema":1,"kind":"step.fin')


def test_a_run_that_was_left_is_inspected_and_repaired_by_one_command_after_the_other(cli: CommandLine) -> None:
    cli.write("flow.yaml", SHOP)
    assert cli.run("run", "flow.yaml", "--debug-on-error", "--workspace", "fresh").code == 77
    run, _ = record_of(cli)
    assert f"{run}  ◆ paused" in cli.run("runs").out
    assert "paused at tests (stop 1)" in cli.run("runs").out

    looked = cli.run("debug", run, "-c", "where", "-c", "sh cat built.txt")
    assert (looked.code, "built" in looked.lines) == (77, True)
    assert "stop 1" in looked.lines[0]
    assert "build" not in looked.lines[0]
    refused = cli.run("debug", run, "-c", "until nowhere", "-c", "retry")
    assert (refused.code, "left paused" in refused.lines[-1]) == (2, True)
    failed = cli.run("debug", run, "-c", "retry")
    assert (failed.code, "stop 2" in failed.out) == (77, True)
    said = cli.run("debug", run, "-c", "sh touch repaired", "-c", "retry")

    assert said.code == 0, said.out
    assert "✔ tidy" in said.out
    assert "■" not in cli.run("runs").out
    assert list((cli.home / "workspaces").iterdir()) == []


def test_a_run_that_was_killed_while_it_was_paused_is_back_at_its_stop(cli: CommandLine) -> None:
    cli.write("flow.yaml", SHOP)
    started = cli.start("run", "flow.yaml", "--debug-on-error", "--attachable")
    started.read_until("paused at tests")
    run = kill(cli)
    started.wait_quietly()
    cut_off(cli, run)
    assert f"debug {run}` resumes it" in cli.run("runs").out

    cli.write("repaired", "")
    said = cli.run("debug", run, "-c", "retry")

    assert (said.code, said.lines[0].partition("  ")[0]) == (0, "● stop 1")
    assert (cli.folder / "built.txt").read_text() == "built\n"


def test_a_run_that_was_killed_at_a_step_is_paused_before_it_runs_again(cli: CommandLine) -> None:
    cli.write("flow.yaml", HANGING)
    started = cli.start("run", "flow.yaml")
    started.read_until("hang | hanging")
    run = kill(cli)
    started.wait_quietly()

    paused = cli.run("debug", run, "-c", "where")
    assert (paused.code, (cli.folder / "began.txt").read_text()) == (77, "began\n")
    assert "before hang" in paused.lines[0]
    cli.write("go", "")
    said = cli.run("debug", run, "-c", "continue")

    assert said.code == 0, said.out
    assert (cli.folder / "built.txt").read_text() == "built\n"
    assert (cli.folder / "began.txt").read_text() == "began\nbegan\n"


def test_of_two_commands_that_resume_a_run_one_is_told_which_process_has_it(cli: CommandLine) -> None:
    cli.write("flow.yaml", HANGING)
    assert cli.run("run", "flow.yaml", "--break", "hang").code == 77
    started = cli.start("debug", record_of(cli)[0], "-c", "continue")
    started.read_until("hanging")
    run, record = record_of(cli)

    refused = cli.run("debug", run, "-c", "where")

    assert (refused.code, f"in another process ({record['owner']})" in refused.err) == (2, True)
    cli.write("go", "")
    assert started.wait().code == 0


def test_a_run_that_was_left_is_cancelled_with_its_cleanup(cli: CommandLine) -> None:
    cli.write("flow.yaml", SHOP)
    cli.run("run", "flow.yaml", "--debug-on-error")
    run, _ = record_of(cli)

    said = cli.run("cancel", run)

    assert (said.code, said.out) == (0, f"{run} cancelled\n")
    assert (cli.folder / "tidied").exists()
    assert "already ended" in cli.run("cancel", run).err


def test_leave_at_the_prompt_leaves_the_run_for_the_next_prompt(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    with Person(folder) as author:
        author.reads("● stop 1", "(main)")
        author.enters("n")
        author.reads("● stop 2", "(main)")
        author.enters("leave")
        author.reads("left paused", "returns to it")
        assert author.leaves() == 77
    (run,) = [path.name for path in (tmp_path / "state" / "runs").iterdir()]

    with Person(folder, "debug", run) as visitor:
        shown = visitor.reads("● stop 2", "(main)")
        assert "stop 1" not in shown
        visitor.enters("detach")
        visitor.reads("the run failed")
        assert visitor.leaves() == 1
