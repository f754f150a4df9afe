"""Runs that were: listed, looked at, run again, debugged and ended, without a server."""

import json
import re

import pytest

from tests.doors.cli.command_line import CommandLine, Said
from tests.doors.cli.debug_bench import Folder, Person

SHOP = """\
    name: shop
    inputs: {who: {default: world}}
    steps:
      - {id: hello, run: "echo hello ${{ .inputs.who }}; echo ran >> hello.ran"}
      - parallel:
          - {id: lint, run: "echo linted; echo ran >> lint.ran"}
          - {id: tests, run: "echo Testing; sleep 0.3; cat repaired"}
      - {id: package, run: echo packed}
    """


def id_of(said: Said) -> str:
    """The run that a `--json` run tells of."""
    return str(said.events[-1]["run"])


def test_runs_are_listed_with_the_newest_first(cli: CommandLine) -> None:
    cli.write("good.yaml", "name: good\nsteps: [{run: 'true'}]")
    cli.write("flow.yaml", SHOP)
    first, second = id_of(cli.run("run", "good.yaml", "--json")), id_of(cli.run("run", "flow.yaml", "--json"))

    newest, oldest = cli.run("runs").lines

    assert re.fullmatch(rf"{second}  ✘ failed     \S+ \S+ +\S+ s  shop  at 2.tests", newest)
    assert re.fullmatch(rf"{first}  ✔ passed     \S+ \S+ +\S+ s  good", oldest)
    assert cli.run("runs", "--status", "passed").lines == [oldest]
    assert cli.run("runs", "--flow", "shop").lines == cli.run("runs", "SHO").lines == [newest]
    assert cli.run("runs", "--limit", "1").lines == [newest, "there are more: raise --limit to show them"]
    told = [json.loads(line) for line in cli.run("runs", "--json").lines]
    assert [(run["id"], run["status"]) for run in told] == [(second, "failed"), (first, "passed")]
    assert told[0]["failures"][0]["step"] == "2.tests"


def test_what_the_steps_wrote_can_be_read_afterwards(cli: CommandLine) -> None:
    cli.write("flow.yaml", SHOP)
    run = id_of(cli.run("run", "flow.yaml", "--json", "-i", "who=you"))

    assert cli.run("logs", run).lines[:2] == ["hello | hello you", "2.lint | linted"]
    assert cli.run("logs", run, "tests").lines == ["Testing", "cat: repaired: No such file or directory"]
    assert cli.run("logs", run, "--search", "TESTING").lines == ["2.tests | Testing"]
    assert cli.run("logs", run, "hello", "--follow").lines == ["hello you"]
    assert cli.run("logs", run, "package").lines == []
    assert "no step 'nope'" in cli.run("logs", run, "nope").err
    assert "there is no run 'nope'" in cli.run("logs", "nope").err


def test_a_run_that_goes_on_elsewhere_can_be_followed_and_ended(cli: CommandLine) -> None:
    cli.write(
        "flow.yaml",
        """\
        steps: [{id: nap, run: "echo up; sleep 0.4; echo still here; exec sleep 1000"}]
        cleanup: [{run: echo cleaned}]
        """,
    )
    started = cli.start("run", "flow.yaml")
    started.read_until("nap | up")
    (line,) = cli.run("runs", "--status", "running").lines
    run = line.split()[0]
    reader = cli.start("logs", run, "nap", "--follow")
    reader.read_until("still here")

    ended = cli.run("cancel", run)

    assert ended.lines == [f"{run} cancelled"]
    assert "cleanup-1 | cleaned" in started.wait().lines
    assert reader.wait().code == 0
    again = cli.run("cancel", run)
    assert (again.code, again.err) == (2, f"pitstop: run {run} has already ended\n")


def test_a_run_is_run_again_with_the_flow_and_the_inputs_that_it_had(cli: CommandLine) -> None:
    cli.write("flow.yaml", SHOP)
    run = id_of(cli.run("run", "flow.yaml", "--json", "-i", "who=you"))
    cli.write("flow.yaml", SHOP.replace("packed", "something else"))
    cli.write("repaired", "")

    again = cli.run("rerun", run)
    changed = cli.run("rerun", run, "--use-file", "-i", "who=all")

    assert (again.code, changed.code) == (0, 0)
    assert {"hello | hello you", "package | packed"} <= set(again.lines)
    assert {"hello | hello all", "package | something else"} <= set(changed.lines)


def test_from_a_step_nothing_runs_again_that_ran_beside_it_and_passed(cli: CommandLine) -> None:
    cli.write("flow.yaml", SHOP)
    run = id_of(cli.run("run", "flow.yaml", "--json"))
    cli.write("repaired", "")

    again = cli.run("rerun", run, "--from", "tests")

    assert again.code == 0
    assert "package | packed" in again.lines
    assert (cli.folder / "lint.ran").read_text() == (cli.folder / "hello.ran").read_text() == "ran\n"
    assert cli.run("run", "flow.yaml", "--from", "tests").code == 0
    assert (cli.folder / "lint.ran").read_text() == "ran\n"
    assert "from tests" in cli.run("runs").lines[0]


def test_a_failed_run_is_debugged_where_it_failed(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = Folder(tmp_path_factory.mktemp("shop"))
    with Person(folder, "run", "ci.yaml") as person:
        assert person.leaves() == 1
    run = next((folder.path / "state/runs").iterdir()).name

    with Person(folder, "debug", run) as person:
        person.reads("● stop 1  checks.tests  before checks.tests  ci.yaml:14", "(checks.tests)")
        person.enters("sh sed -i s/10/12/ shop.conf")
        person.reads("(checks.tests)")
        person.enters("c")
        person.reads("✔ checks.tests  passed", "✔ package  passed", "the run passed")
        assert person.leaves() == 0


def test_a_run_that_failed_in_a_folder_of_its_own_names_a_command_that_begins_again(cli: CommandLine) -> None:
    cli.write("flow.yaml", "steps: [{id: bad, run: exit 3}]")

    said = cli.run("run", "flow.yaml", "--workspace", "fresh")

    assert said.lines[-1].endswith("debug flow.yaml --workspace fresh --break bad")


def test_the_step_to_debug_is_the_one_that_ended_the_run(cli: CommandLine) -> None:
    cli.write(
        "flow.yaml",
        """\
        steps:
          - {id: flaky, run: exit 4, continue_on_error: true}
          - {id: bad, run: exit 3}
        """,
    )

    said = cli.run("run", "flow.yaml")

    assert said.lines[-1].endswith("debug flow.yaml --from bad")
    assert not any(line.startswith("flaky failed (") for line in said.lines)


def test_what_was_handed_on_is_told_with_its_place(cli: CommandLine) -> None:
    cli.write("flow.yaml", "steps: [{run: 'echo made > made.txt', artifacts: '*.txt'}]")

    said = cli.run("run", "flow.yaml")

    (place,) = [line.removeprefix("artifacts: ") for line in said.lines if line.startswith("artifacts: ")]
    assert place.startswith(str(cli.home))
    assert [path.read_text() for path in cli.home.glob("runs/*/artifacts/made.txt")] == ["made\n"]


def test_an_artifact_is_printed(cli: CommandLine) -> None:
    cli.write("flow.yaml", "steps: [{run: 'echo made > made.txt', artifacts: '*.txt'}]")
    run = cli.run("run", "flow.yaml", "--json").events[0]["inputs"]["run"]["id"]

    said = cli.run("artifacts", run, "made.txt")

    assert (said.code, said.out, said.err) == (0, "made\n", "")


def test_an_artifact_with_an_odd_name_is_listed_on_one_line_and_printed_by_it(cli: CommandLine) -> None:
    cli.write("flow.yaml", """steps: [{shell: bash, run: "echo made > $PITSTOP_ARTIFACTS/$'a\\nb\\x1b[1m'"}]""")
    run = cli.run("run", "flow.yaml", "--json").events[0]["inputs"]["run"]["id"]

    (name,) = cli.run("artifacts", run).lines

    assert name == r"a\nb\x1b[1m"
    assert cli.run("artifacts", run, name).out == "made\n"
    assert cli.run("artifacts", run, "a\nb\x1b[1m").out == "made\n"


def test_a_step_is_told_to_have_started_before_what_it_says(cli: CommandLine) -> None:
    cli.write("flow.yaml", "steps: [{id: up, wait: {file: flow.yaml}}, {id: ask, approve: Ship it?}]")

    lines = cli.run("run", "flow.yaml").lines

    for step in ("up", "ask"):
        about = [line for line in lines if line.startswith(f"{step} ")]
        assert about[0].startswith(f"{step} started")
