"""The small commands: help, version, steps, schema, show, init, doctor and completion."""

import json
import re

import pytest

from pitstop.__main__ import COMMANDS
from tests.doors.cli.command_line import CommandLine

FLOW = """\
    name: shop
    inputs: {who: {description: Whom to greet}}
    steps:
      - {id: hello, name: Say hello, run: echo hello}
      - parallel:
          - {id: lint, run: ruff check .}
          - {id: tests, run: pytest, if: .inputs.who}
    cleanup: [{run: rm -rf dist}]
    """


def test_help_lists_the_commands(cli: CommandLine) -> None:
    for words in ([], ["--help"], ["-h"], ["help"]):
        said = cli.run(*words)
        assert said.code == 0
        for command in COMMANDS:
            assert f"\n  {command} " in said.out


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_explains_itself_and_a_shell_offers_every_option_that_it_has(
    cli: CommandLine, command: str
) -> None:
    said = cli.run(command, "--help")
    told = set(re.findall(r"^  (?:-\w(?: [^,\s]+)?, )?(--[\w-]+|-\w)", said.out, re.MULTILINE))

    assert said.code == 0
    assert said.out.startswith(f"usage: pitstop {command}")
    assert set(cli.run("complete", command, "-").lines) == told


def test_an_unknown_command_is_answered_with_the_nearest(cli: CommandLine) -> None:
    said = cli.run("chekc")

    assert said.code == 2
    assert "unknown command 'chekc': did you mean 'check'?" in said.err


def test_the_version_is_told(cli: CommandLine) -> None:
    assert cli.run("--version").out.startswith("pitstop 0.")


def test_steps_lists_the_types_and_explains_each(cli: CommandLine) -> None:
    names = [line.split()[0] for line in cli.run("steps").lines]

    assert {"run", "http", "approve", "parallel", "matrix", "call"} <= set(names)
    for name in ("run", "parallel"):
        assert cli.run("steps", name).out.startswith(f"{name}: ")
    said = cli.run("steps", "rnu")
    assert said.code == 1
    assert "did you mean 'run'?" in said.err


def test_the_schema_is_json(cli: CommandLine) -> None:
    assert "steps" in json.loads(cli.run("schema").out)["properties"]


def test_a_flow_is_shown_as_a_tree(cli: CommandLine) -> None:
    cli.write("flow.yaml", FLOW)

    assert cli.run("show", "flow.yaml").lines == [
        "shop (flow.yaml)",
        "  input who is required: Whom to greet",
        "├─ Say hello  run: echo hello  [flow.yaml:4]",
        "├─ 2  parallel  [flow.yaml:5]",
        "│  ├─ lint  run: ruff check .  [flow.yaml:6]",
        "│  └─ tests  run: pytest  if .inputs.who  [flow.yaml:7]",
        "└─ run: rm -rf dist  (cleanup)  [flow.yaml:8]",
    ]


def test_a_flow_is_shown_as_a_mermaid_chart(cli: CommandLine) -> None:
    cli.write("flow.yaml", FLOW)

    lines = [line.strip() for line in cli.run("show", "flow.yaml", "--mermaid").lines]

    assert lines[0] == "flowchart TD"
    assert 's_hello["Say hello"]' in lines
    assert 'subgraph s_2["parallel 2"]' in lines
    assert "s_hello --> s_2" in lines
    assert not any("s_2_2e_lint" in line and "-->" in line for line in lines)


@pytest.mark.parametrize(
    ("files", "runs"),
    [
        ({"tests/test_x.py": ""}, ["python -m pytest -q"]),
        ({"package.json": '{"scripts": {"test": "vitest"}}', "package-lock.json": "{}"}, ["npm ci", "npm run test"]),
        ({"Cargo.toml": ""}, ["cargo test"]),
        ({"go.mod": ""}, ["go test ./..."]),
        ({"Makefile": "all:\n\ntest:\n\ttrue\n"}, ["make test"]),
        ({"package.json": "{"}, ["echo 'put your own commands here'"]),
    ],
)
def test_init_writes_a_flow_for_what_it_finds_and_never_overwrites(
    cli: CommandLine, files: dict[str, str], runs: list[str]
) -> None:
    for name, text in files.items():
        cli.write(name, text)

    assert cli.run("init").code == 0

    shown = cli.run("show", ".pitstop/flows/ci.yaml").out
    assert [run for run in runs if f"run: {run}" in shown] == runs
    cli.write(".pitstop/flows/ci.yaml", "mine")
    assert cli.run("init").code == 2
    assert (cli.folder / ".pitstop/flows/ci.yaml").read_text() == "mine"


def test_the_doctor_looks_at_what_a_run_needs(cli: CommandLine) -> None:
    said = cli.run("doctor")

    assert said.code == 0
    for name in ("python", "bash", "git", "jq", "commands", "state folder", "docker", "podman"):
        assert name in said.out
    assert "leave no processes behind" in said.out
    assert "BROKEN" in cli.run("doctor", env={"PITSTOP_HOME": "/proc/nowhere"}).out


def test_a_shell_completes_commands_options_and_steps(cli: CommandLine) -> None:
    cli.write("flow.yaml", FLOW)

    assert cli.run("complete", "sch").lines == ["schema"]
    assert cli.run("complete", "run", "--de").lines == ["--debug-on-error"]
    assert cli.run("complete", "run", "flow.yaml", "--from", "t").lines == ["tests"]
    assert cli.run("complete", "run", "flow.yaml", "--break", "lint:").lines == [
        "lint:before",
        "lint:after",
        "lint:error",
    ]
    assert cli.run("complete", "run", "fl").lines == []
