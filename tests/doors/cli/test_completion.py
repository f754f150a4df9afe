"""Completion in the shells themselves: what somebody sees who presses the tab key."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from tests.doors.cli.command_line import PITSTOP, CommandLine
from tests.patience import PATIENCE_SECONDS

PROMPT = "ready> "
STARTS = {
    "bash": (
        "bash --norc --noprofile -i",
        "bind 'set show-all-if-ambiguous on'; bind 'set enable-bracketed-paste off'",
    ),
    "zsh": ("zsh -f -i", "unsetopt beep; autoload -U compinit; compinit -u -D"),
}


@pytest.fixture
def folder(cli: CommandLine) -> Path:
    cli.write("flow.yaml", "steps: [{id: build, run: make}, {id: tests, run: make}]")
    cli.write("../bin/pitstop", f'#!/bin/sh\nexec {" ".join(PITSTOP)} "$@"\n').chmod(0o755)
    return cli.folder


@pytest.fixture
def environment(cli: CommandLine, folder: Path) -> dict[str, str]:
    return {
        **cli.environment,
        "PATH": f"{folder.parent / 'bin'}:{os.environ['PATH']}",
        "HOME": str(folder),
        "TERM": "dumb",
    }


@pytest.fixture(params=["bash", pytest.param("zsh", marks=pytest.mark.needs("zsh"))])
def shell(request: pytest.FixtureRequest, folder: Path, environment: dict[str, str]) -> Iterator["pexpect.spawn[str]"]:
    """A shell of the person who has completion set up as the help says."""
    command, setup = STARTS[request.param]
    shell = pexpect.spawn(
        command, cwd=folder, env=environment, encoding="utf-8", timeout=PATIENCE_SECONDS, dimensions=(50, 150)
    )
    shell.sendline(f"{setup}; eval \"$(pitstop completion {request.param})\"; PS1='rea''dy> '")
    shell.expect_exact(PROMPT)
    yield shell
    shell.close(force=True)


@pytest.mark.parametrize(
    ("begun", "shown"),
    [
        ("pitstop ru", r"run\s+runs"),
        ("pitstop run flow.yaml --from ", r"build\s+tests"),
        ("pitstop run flow.yaml --break b", r"build:after\s+build:before\s+build:error"),
        ("pitstop run flow.yaml --break build:er", "build:error"),
        ("pitstop run --debug-", "--debug-on-error"),
        ("pitstop check fl", "flow.yaml"),
    ],
)
def test_the_tab_key_offers_what_fits(shell: "pexpect.spawn[str]", begun: str, shown: str) -> None:
    shell.send(begun + "\t\t")

    shell.expect(shown)


@pytest.mark.needs("fish")
@pytest.mark.parametrize(
    ("begun", "offered"),
    [
        ("pitstop ru", ["run", "runs"]),
        ("pitstop run flow.yaml --break b", ["build", "build:after", "build:before", "build:error"]),
        ("pitstop run --debug-", ["--debug-on-error"]),
        ("pitstop check fl", ["flow.yaml"]),
        ("pitstop steps para", ["parallel"]),
    ],
)
def test_fish_offers_what_fits(cli: CommandLine, environment: dict[str, str], begun: str, offered: list[str]) -> None:
    script = cli.run("completion", "fish").out

    asked = subprocess.run(
        ["fish", "--no-config", "-c", f"{script}\ncomplete -C '{begun}'"],
        cwd=cli.folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_SECONDS,
    )

    assert [line.split("\t")[0] for line in asked.stdout.splitlines()] == offered
