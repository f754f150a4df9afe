"""`pitstop debug` with commands and no terminal: for scripts, CI and programs."""

import asyncio
import signal
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from pitstop.doors.cli.debug.command import debug_command
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.runs.past_run import PastRun
from pitstop.service.runs import RunInfo
from tests.doors.cli.debug_bench import COMMAND, SECONDS, Folder
from tests.service.desk import Desk


@pytest.fixture
def shop(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_commands_are_carried_out_in_order_and_a_move_waits_for_its_stop(shop: Folder) -> None:
    said = shop.script("b tests", "c", "p .vars", "q", code=130)

    assert "\x1b" not in said
    lines = said.splitlines()
    order = [
        "(main) b tests",
        "● 2  tests",
        "(main) c",
        '{"retries": 2}',
        "tidy │ tidying up",
        "■ the run was cancelled",
    ]
    assert [line for line in lines if line in order] == order
    assert "● stop 2  checks.tests  before checks.tests  ci.yaml:14" in lines


def test_saved_breakpoints_are_used_and_changed_by_a_script_only_if_it_says_so(shop: Folder) -> None:
    shop.script("b deps", "q", code=130)
    shop.script("b tests", "watch .vars", "q", code=130, options=("--saved",))

    unsaid = shop.script("b", "q", code=130)
    said = shop.script("b", "clear all", "q", code=130, options=("--saved",))
    later = shop.script("b", "q", code=130, options=("--saved",))

    assert "saved" not in unsaid
    assert "● 2" not in unsaid
    assert said.startswith("1 saved breakpoints and 1 watches: `break` and `watches` list them")
    assert "● 2  tests" in said
    assert later.startswith("0 saved breakpoints and 1 watches")


def test_a_wrong_command_is_named_before_the_run_starts(shop: Folder) -> None:
    (shop.path / "script").write_text("# first\ncontinue\n\nbrake tests\n")

    typed = shop.run("-c", "n", "-c", "contineu")
    read = shop.run("-x", "script")

    assert (typed.returncode, typed.stdout) == (2, "")
    assert typed.stderr == ("pitstop debug: -c 2: contineu: unknown command 'contineu': did you mean 'continue'?\n")
    assert (read.returncode, read.stdout) == (2, "")
    assert "script:4: brake tests: unknown command 'brake': did you mean 'break'?" in read.stderr


def test_a_verb_without_a_command_of_its_own_is_said_with_its_fields(shop: Folder) -> None:
    said = shop.script("b tests", "c", "scope", "cancel_frame", "q", code=2)

    assert '"retries": 2' in said
    assert "cancel_frame: Object missing required field `frame`" in said


def test_a_repaired_run_passes_and_says_that_it_was_intervened_in(shop: Folder) -> None:
    said = shop.script("c", "sh sed -i s/10/12/ shop.conf && echo repaired; exit 4", "retry")

    lines = [line for line in said.splitlines() if "lint" not in line]  # which goes on beside it
    assert lines[lines.index("repaired") + 1] == "exit code 4"
    assert "✔ the run passed, intervened" in said
    assert "detached" not in said  # it was over when the commands were


def test_when_the_commands_are_done_the_run_goes_on_to_its_end(shop: Folder) -> None:
    said = shop.script("n", code=1)

    assert "detached: the run continues without pausing" in said
    assert "✘ the run failed" in said


def test_a_command_that_fails_ends_the_run_and_is_told_by_the_exit_code(shop: Folder) -> None:
    said = shop.script("n", "b nowhere", "c", code=2)

    assert "✘ the flow has no step 'nowhere'" in said
    assert "-c 2: b nowhere: the command failed, so the run is cancelled" in said
    assert "■ the run was cancelled" in said
    assert "(main) c" not in said
    assert "tidy │ tidying up" in said


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("retry", "✘ retry is not possible before deps; possible: next step return continue"),
        ("p .vars |", "✘ expression '.vars |'"),
        ("until nowhere", "✘ the plan has no step 'nowhere'"),
        ("undo", "✘ stop 1 has no edit to undo"),
        ("rewind 999", "✘ the history has no point 999"),
        ("frame nowhere", "✘ there is no frame 'nowhere'"),
        ("clear 9", "✘ there is no breakpoint 9"),
        ("set .vars.a.b.c[0].x = 1", None),
        ("sh", "✘ sh: there is no terminal for a shell"),
        ("shell step", "✘ sh: there is no terminal for a shell; `next` runs the step without one"),
        ("answer y", "✘ no step is waiting for approval"),
    ],
)
def test_what_is_refused_is_told_in_one_line(shop: Folder, command: str, said: str | None) -> None:
    told = shop.script(command, "q", code=130 if said is None else 2)

    assert said is None or any(line.startswith(said) for line in told.splitlines())


def test_commands_that_come_after_the_end_are_told(shop: Folder) -> None:
    said = shop.script("c", "force passed", "p .vars", "q")

    assert "the run ended before these commands: p .vars, q" in said


def test_commands_are_read_from_a_file(shop: Folder) -> None:
    (shop.path / "look.txt").write_text("# where the price comes from\n\nc\nlog tests\n")

    ended = shop.run("-x", "look.txt", "-c", "q")

    assert ended.returncode == 130
    lines = [line for line in ended.stdout.splitlines() if "lint" not in line]  # which goes on beside it
    at = lines.index("(checks.tests) log tests")
    assert lines[at : at + 3] == ["(checks.tests) log tests", "the price is wrong", "(checks.tests) q"]
    assert shop.run("-x", "nowhere.txt").returncode == 2


def test_without_a_terminal_and_commands_it_says_which_ones_go_on(shop: Folder) -> None:
    ended = shop.run()

    assert (ended.returncode, ended.stdout) == (77, "")
    assert "there is no terminal to debug ci.yaml in" in ended.stderr
    assert "pitstop debug ci.yaml -c continue" in ended.stderr
    assert not (shop.path / "shop.conf").exists()


def test_every_kind_of_edit_can_be_scripted(shop: Folder) -> None:
    said = shop.script(
        "set .vars.retries = 9",
        "unset .vars.retries",
        "undo",
        "p .vars.retries",
        "inject run echo put in by hand",
        "until checks",
        'config script="echo never"',
        "config reset",
        "b package:after",
        'skip {"done": true}',
        "p .steps.package.outputs.tag",
        'force passed {"tag": "v2"}',
        code=0,
    )

    assert "\n9\n" in said
    assert '\n"v1"\n' in said
    assert "deps+1 │ put in by hand" in said
    assert "✔ the run passed, intervened" in said
    for told in (
        "set .vars.retries at deps",
        "injected run before deps",
        "skipped checks",
        "forced package to",
    ):
        assert f"· {told}" in said


def test_looking_around_changes_nothing(shop: Folder) -> None:
    said = shop.script(
        "b package", "n", "w", "l", "frames", "vars", "config", "history", "diff", "h", "h break", code=1
    )

    assert "intervened" not in said


def test_a_breakpoint_writes_and_does_not_stop(shop: Folder) -> None:
    said = shop.script('b lint log "in ${{ .inputs.region }}"', "b tests", "c", "force passed", code=0)

    assert "» in eu" in said
    assert "stop 2  checks.tests" in said


def test_secrets_are_not_shown(shop: Folder) -> None:
    ended = shop.run(
        "--secret", "TOKEN=verysecretvalue", "-c", "p .secrets.TOKEN", "-c", "vars", "-c", "export out.json", "-c", "q"
    )

    assert ended.returncode == 130
    assert '"***"' in ended.stdout
    assert "verysecretvalue" not in ended.stdout + (shop.path / "out.json").read_text()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_and_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    folder = Folder(
        tmp_path, "steps: [{id: slow, run: echo begun; exec sleep 600}]\ncleanup: [{id: tidy, run: echo tidying up}]\n"
    )
    with subprocess.Popen(
        [*COMMAND, "ci.yaml", "-c", "c"],
        cwd=folder.path,
        env=folder.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as command:
        assert command.stdout is not None
        for line in command.stdout:
            if line == "slow │ begun\n":
                break
        command.send_signal(number)
        rest = command.stdout.read()
    assert "tidy │ tidying up\n" in rest
    assert "■ the run was cancelled" in rest
    assert command.returncode == 130
    assert folder.left_running() == {}


def test_a_reader_who_has_gone_ends_it_quietly(shop: Folder) -> None:
    assert said_to_nobody(shop, "c", "vars") == b""


def test_a_reader_who_has_gone_is_not_waited_for_where_cleanup_fails(tmp_path: Path) -> None:
    folder = Folder(tmp_path, "steps: [{id: one, run: 'true'}]\ncleanup: [{id: tidy, run: echo > tidied; exit 7}]\n")

    assert said_to_nobody(folder, "b tidy", "vars") == b""
    assert (tmp_path / "tidied").exists()


def said_to_nobody(folder: Folder, *commands: str) -> bytes:
    """What is said to standard error when nobody reads the output."""
    words = [*COMMAND, "ci.yaml", *(word for command in commands for word in ("-c", command))]
    with subprocess.Popen(
        words, cwd=folder.path, env=folder.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
    ) as debug:
        assert debug.stdout is not None
        debug.stdout.close()
        debug.stdout = None
        try:
            _, said = debug.communicate(timeout=SECONDS)
        finally:
            debug.kill()
    assert debug.returncode != 0
    assert folder.left_running() == {}
    return said


def test_a_cleanup_that_fails_does_not_hold_up_the_end(tmp_path: Path) -> None:
    folder = Folder(tmp_path, "steps: [{id: one, run: 'true'}]\ncleanup: [{id: tidy, run: exit 7}]\n")

    said = folder.script("b tidy", "q", code=130)

    assert "✘ tidy  failed" in said
    assert "■ the run was cancelled" in said


def test_a_run_that_ends_just_as_somebody_comes_to_debug_it_begins_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(tmp_path)
    ended, _ = asyncio.run(desk.run(desk.write("steps: [{id: one, run: exit 3}]\n")))
    info = PastRun.info

    async def as_it_was(run: PastRun) -> RunInfo:
        monkeypatch.undo()
        return replace(await info(run), status="running")

    monkeypatch.setattr(PastRun, "info", as_it_was)
    code = debug_command([ended.run, "-c", "q"], lambda: desk.service, Interrupts())

    assert code == 130
    assert "● stop 1  main  before one" in capsys.readouterr().out
