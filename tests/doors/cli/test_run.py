"""`pitstop run` without a terminal: lines, JSON, exit codes, and parts of flows."""

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.doors.cli.command_line import PITSTOP, CommandLine

ITSELF = shlex.join(PITSTOP)  # as it was started

BROKEN = """\
    name: shop
    inputs: {who: {default: world}, times: {default: 1}}
    steps:
      - id: hello
        run: |
          echo "hello ${{ .inputs.who }}"
          echo "greeted=${{ .inputs.who }}" >> "$PITSTOP_OUTPUT"
          echo ran >> hello.ran
      - parallel:
          - {id: lint, run: echo linted}
          - {id: tests, run: "echo testing; cat repaired"}
      - id: package
        run: echo "packaged for ${{ .steps.hello.outputs.greeted }}"
    """


def test_a_flow_that_passes_is_told_line_by_line_and_exits_with_0(cli: CommandLine) -> None:
    cli.write("flow.yaml", "steps: [{id: greet, run: 'echo hello; echo oops >&2'}]")

    said = cli.run("run", "flow.yaml")

    assert said.code == 0
    assert said.err == ""
    assert said.lines[:2] == ["flow started", "greet started: echo hello; echo oops >&2"]
    assert sorted(said.lines[2:4]) == ["greet | hello", "greet | oops"]
    assert said.lines[4].startswith("greet passed after ")
    assert said.lines[5].startswith("flow passed after ")


def test_the_last_lines_of_a_failure_say_what_where_and_how_to_debug_it(cli: CommandLine) -> None:
    cli.write("flow.yaml", BROKEN)

    said = cli.run("run", "flow.yaml")

    assert said.code == 1
    *_, what, tail, why, ending, command = said.lines
    assert what == "2.tests failed (flow.yaml:11): exit code 1"
    assert (tail, why) == ("  | testing", "  | cat: repaired: No such file or directory")
    assert ending.startswith("shop failed after ")
    assert command == f"debug it: {ITSELF} debug flow.yaml --from 2.tests"


def test_inputs_are_read_as_what_the_flow_wants_them_to_be(cli: CommandLine) -> None:
    cli.write(
        "flow.yaml",
        "inputs: {n: {default: 1}, t: {default: ''}}\nsteps: [{check: '.inputs.n == 3 and .inputs.t == \"3\"'}]",
    )
    cli.write("given.yaml", "n: 4\nt: '3'")

    assert cli.run("run", "flow.yaml", "-i", "n=3", "-i", "t=3").code == 0
    assert cli.run("run", "flow.yaml", "--inputs", "given.yaml", "-i", "n=3").code == 0
    assert cli.run("run", "flow.yaml", "--inputs", "given.yaml").code == 1


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["-i", "nope=1"], "flow 'shop' has no input `nope`"),
        (["-i", "times=many"], "input `times` must be a number"),
        (["-i", "who"], "use NAME=VALUE"),
        (["--inputs", "missing.yaml"], "No such file"),
        (["--secret", "NOBODY_HAS_THIS"], "no such variable in the environment"),
        (["--break", "testz"], "did you mean 'tests'?"),
        (["--break", "tests:never"], "--break 'tests:never'"),
        (["--from", "testz"], "did you mean 'tests'?"),
        (["--only", "testz"], "did you mean 'tests'?"),
        (["--workspace", "missing"], "is not a folder"),
        (["--bogus"], "unrecognized arguments"),
    ],
)
def test_bad_usage_is_told_before_anything_runs(cli: CommandLine, words: list[str], reason: str) -> None:
    cli.write("flow.yaml", BROKEN)

    said = cli.run("run", "flow.yaml", *words)

    assert said.code == (1 if "--workspace" in words else 2)
    assert reason in said.err
    assert not (cli.folder / "hello.ran").exists()


def test_json_has_one_event_per_line_with_a_schema_version(cli: CommandLine) -> None:
    cli.write("flow.yaml", BROKEN)

    said = cli.run("run", "flow.yaml", "--json")

    assert said.code == 1
    assert {event["schema"] for event in said.events} == {1}
    kinds = [event["kind"] for event in said.events]
    assert kinds[0] == "run.started"
    assert kinds[-2:] == ["run.ended", "cli.ended"]
    numbers = [event["number"] for event in said.events if "number" in event]
    assert numbers == [*range(1, len(numbers) + 1)]
    assert {"step.output", "step.started", "step.finished", "frame.opened"} <= set(kinds)
    last = said.events[-1]
    assert last["exit_code"] == 1
    assert last["next"] == [f"{ITSELF} debug flow.yaml --from 2.tests"]
    assert last["failures"][0]["place"] == "flow.yaml:11"
    assert last["failures"][0]["log"] == ["testing", "cat: repaired: No such file or directory"]


def test_a_secret_shows_nowhere_and_is_not_kept_either(cli: CommandLine) -> None:
    cli.write(
        "flow.yaml",
        """\
        steps:
          - id: leak
            secrets: [TOKEN, TYPED]
            run: |
              echo "it is $TOKEN, or $TYPED"; printf %s "$TOKEN" | base64
              echo "token=$TOKEN" >> "$PITSTOP_OUTPUT"
          - fail: "no entry with ${{ .secrets.TOKEN }} and ${{ .secrets.PIN }}"
        """,
    )
    secrets = ("--secret", "TOKEN", "--secret", "TYPED=correct horse", "--secret", "PIN=7")

    for form in ("--json", "--plain"):
        said = cli.run("run", "flow.yaml", *secrets, form, env={"TOKEN": "hunter2-hunter2"})

        assert said.code == 1
        assert "it is ***, or ***" in said.out
        kept = b"".join(path.read_bytes() for path in cli.home.rglob("*") if path.is_file())
        for secret in ("hunter2-hunter2", "correct horse", "aHVudGVyMi1odW50ZXIy"):
            assert secret not in said.out + said.err
            assert secret.encode() not in kept
    started = json.loads(next(cli.home.glob("runs/*/events.jsonl")).read_text().splitlines()[0])
    assert started["inputs"]["secrets"] == {"TOKEN": "***", "TYPED": "***", "PIN": "***"}


def test_a_run_from_a_step_takes_the_outcomes_of_the_last_run(cli: CommandLine) -> None:
    cli.write("flow.yaml", BROKEN)
    assert cli.run("run", "flow.yaml", "-i", "who=you").code == 1
    cli.write("repaired", "yes")

    said = cli.run("run", "flow.yaml", "--from", "tests")

    assert said.code == 0
    assert "package | packaged for you" in said.lines
    assert (cli.folder / "hello.ran").read_text() == "ran\n"
    assert "hello started" not in said.out


def test_a_run_from_a_step_that_was_never_reached_says_where_the_last_one_ended(cli: CommandLine) -> None:
    cli.write("flow.yaml", BROKEN)
    assert "no earlier run of this flow" in cli.run("run", "flow.yaml", "--from", "package").err
    cli.run("run", "flow.yaml")

    said = cli.run("run", "flow.yaml", "--from", "package")

    assert said.code == 1
    assert "did not reach 'package'; it failed at '2.tests'" in said.err


def test_one_step_alone_sees_what_the_last_run_knows(cli: CommandLine) -> None:
    cli.write("flow.yaml", BROKEN)
    cli.run("run", "flow.yaml")

    said = cli.run("run", "flow.yaml", "--only", "package")

    assert said.code == 0
    assert "package | packaged for world" in said.lines
    assert "tests" not in said.out
    assert cli.run("run", "flow.yaml", "--from", "tests").code == 1  # of the last whole run


def test_a_dry_run_shows_the_plan_with_the_inputs_in_it_and_runs_nothing(cli: CommandLine) -> None:
    cli.write("flow.yaml", BROKEN)

    said = cli.run("run", "flow.yaml", "--dry-run", "-i", "who=you")

    assert said.code == 0
    assert 'run: echo "hello you" …' in said.out
    assert "${{ .steps.hello.outputs.greeted }}" in said.out
    assert "input who (string) = 'you'" in said.out
    assert not (cli.folder / "hello.ran").exists()


def test_a_stop_without_a_terminal_leaves_the_run_with_77_and_the_commands_that_resume_it(cli: CommandLine) -> None:
    cli.write("flow.yaml", BROKEN)

    said = cli.run("run", "flow.yaml", "--break", 'tests if .inputs.who == "world"')

    assert said.code == 77
    assert "testing" not in said.out
    run = said.lines[-1].rpartition(" ")[2]
    assert said.lines[-4:] == [
        "shop is paused at 2.tests (flow.yaml:11), stop 1: no terminal to debug in",
        f"inspect it: {ITSELF} debug {run} -c where -c vars -c leave",
        f"resume it: {ITSELF} debug {run} -c continue",
        f"debug it: {ITSELF} debug {run}",
    ]
    assert cli.run("run", "flow.yaml", "--break", "tests if false").code == 1


def test_a_failure_without_a_terminal_can_be_a_stop_too_and_the_last_line_of_json_says_so(cli: CommandLine) -> None:
    cli.write("flow.yaml", "steps: [{id: bad, secrets: [KEY], run: exit 3}]\ncleanup: [{run: 'touch cleaned; exit 4'}]")

    said = cli.run("run", "flow.yaml", "--debug-on-error", "--json", "--secret", "KEY=s3cret")

    assert said.code == 77
    (stop,) = [event for event in said.events if event["kind"] == "debug.stopped"]
    left = said.events[-1]
    debug = f"{ITSELF} debug {left['run']} --secret KEY"
    assert stop["next"] == [debug]
    assert left["next"] == [debug, f"{debug} -c where -c vars -c leave", f"{debug} -c retry"]
    shown = [left[name] for name in ("kind", "stop", "step", "place", "exit_code")]
    assert shown == ["cli.left", 1, "bad", "flow.yaml:1", 77]
    assert not (cli.folder / "cleaned").exists()


def test_a_stop_of_a_run_that_is_not_stored_ends_it_as_nobody_can_resume_it(cli: CommandLine) -> None:
    cli.write("flow.yaml", "steps: [{id: bad, run: exit 3}]\ncleanup: [{run: 'touch cleaned; exit 4'}]")
    cli.home.mkdir()
    (cli.home / "runs").symlink_to("/proc/nowhere")

    said = cli.run("run", "flow.yaml", "--debug-on-error")

    assert said.code == 77
    assert said.lines[-2:] == [
        "paused at bad (flow.yaml:1): no terminal to debug in",
        f"debug it: {ITSELF} debug flow.yaml --from bad",
    ]
    assert (cli.folder / "cleaned").exists()


def test_a_fresh_workspace_is_gone_afterwards_but_its_artifacts_are_kept(cli: CommandLine) -> None:
    cli.write("here", "")
    cli.write("flow.yaml", "steps: [{run: 'test ! -e here && echo made > made.txt', artifacts: '*.txt'}]")

    said = cli.run("run", "flow.yaml", "--workspace", "fresh")

    assert said.code == 0
    assert not (cli.folder / "made.txt").exists()
    assert [path.read_text() for path in cli.home.glob("runs/*/artifacts/**/made.txt")] == ["made\n"]
    assert list((cli.home / "workspaces").iterdir()) == []


def test_in_place_the_home_is_that_of_the_user(cli: CommandLine, tmp_path: Path) -> None:
    cli.write("flow.yaml", 'steps: [{run: echo "home is $HOME"}]')

    assert f"1 | home is {tmp_path}" in cli.run("run", "flow.yaml", env={"HOME": str(tmp_path)}).lines


@pytest.mark.parametrize(
    ("level", "shown", "hidden"),
    [("error", "", "tried"), ("warning", "bad is retried", "| said"), ("debug", "frame.opened frame=main", "\0")],
)
def test_the_log_level_says_how_much_is_told(cli: CommandLine, level: str, shown: str, hidden: str) -> None:
    cli.write("flow.yaml", "steps: [{id: bad, run: 'echo said; exit 1', retry: {times: 1}}]")

    said = cli.run("run", "flow.yaml", "--log-level", level)

    told, failed, _ = said.out.partition("bad#2 failed (")
    assert failed
    assert shown in told
    assert hidden not in told


def test_the_log_of_a_step_can_be_looked_at_afterwards(cli: CommandLine) -> None:
    cli.write("flow.yaml", "steps: [{id: bad, run: 'printf \"no newline\"; exit 1'}]")

    said = cli.run("run", "flow.yaml")

    assert "bad | no newline" in said.lines
    assert [path.read_text() for path in cli.home.glob("runs/*/logs/bad.log")] == ["no newline"]


def test_a_reader_that_goes_away_ends_the_run(cli: CommandLine) -> None:
    cli.write("flow.yaml", "steps: [{run: 'yes'}]")
    started = cli.start("run", "flow.yaml")
    started.read_until("y")

    started.out.close()

    assert started.wait_quietly() == 130


def test_approval_without_a_person_fails_and_says_why(cli: CommandLine) -> None:
    cli.write("flow.yaml", "steps: [{id: ask, approve: Ship it?}]")

    said = cli.run("run", "flow.yaml")

    assert said.code == 1
    assert "no user can approve 'Ship it?'" in said.out


def test_a_state_folder_that_cannot_be_made_is_told(cli: CommandLine) -> None:
    cli.write("flow.yaml", "steps: [{run: 'true'}]")

    said = cli.run("run", "flow.yaml", env={"PITSTOP_HOME": "/proc/nowhere"})

    assert said.code == 1
    assert "/proc/nowhere" in said.err


def test_a_disk_that_is_full_for_the_log_does_not_end_the_run(cli: CommandLine) -> None:
    cli.write("flow.yaml", "steps: [{run: 'seq 200000'}]")

    limited = ["sh", "-c", 'ulimit -f 200; trap "" XFSZ; exec "$@"', "sh", *cli.command("run", "flow.yaml")]
    said = subprocess.run(limited, cwd=cli.folder, env=cli.environment, capture_output=True, text=True, check=False)

    assert "Traceback" not in said.stderr
    assert "1 | 1\n" in said.stdout


def test_it_runs_though_its_standard_files_are_closed(cli: CommandLine) -> None:
    cli.write("flow.yaml", "steps: [{run: echo done > done; cat}]")
    command = 'exec "$@" <&- >&- 2>&-'
    ended = subprocess.run(
        ["sh", "-c", command, "sh", *cli.command("run", "flow.yaml")], cwd=cli.folder, env=cli.environment, check=False
    )

    assert ended.returncode == 0
    assert (cli.folder / "done").read_text() == "done\n"
