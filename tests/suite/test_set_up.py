"""What is missing is installed where that is allowed; otherwise the command for it is printed."""

import subprocess
from pathlib import Path

import pytest

from tests.suite.conftest import ROOT

SUDO = '[ "$1" != -n ] || exit 0; exec "$@"'


def put(folder: Path, name: str, script: str) -> None:
    (folder / name).unlink(missing_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def machine(bare_machine: Path, tmp_path: Path) -> Path:
    put(bare_machine, "apt-get", f'echo "$@" >> {tmp_path}/asked')
    return bare_machine


def set_up(machine: Path, *parts: str) -> tuple[str, str]:
    """What it prints, and what apt-get was asked."""
    words = ["sh", str(ROOT / "tests/set_up.sh"), *parts]
    done = subprocess.run(words, env={"PATH": str(machine)}, capture_output=True, text=True, check=True)
    asked = machine.parent / "asked"
    return done.stdout + done.stderr, asked.read_text() if asked.exists() else ""


@pytest.mark.parametrize("user", ["root", "somebody who may use sudo"])
def test_what_is_missing_is_installed(machine: Path, user: str) -> None:
    put(machine, "id", f"echo {0 if user == 'root' else 1000}")
    put(machine, "sudo", SUDO if user != "root" else "exit 1")
    put(machine, "zsh", "")

    said, asked = set_up(machine, "zsh", "fish", "npm")

    assert said == "installing npm fish\n"
    assert asked.endswith("install -y --no-install-recommends npm fish\n")


def test_without_root_and_sudo_the_command_is_printed_and_nothing_is_installed(machine: Path) -> None:
    put(machine, "id", "echo 1000")
    put(machine, "sudo", "exit 1")

    said, asked = set_up(machine, "zsh", "fish")

    assert said.splitlines() == [
        "missing: zsh fish",
        "install with: sudo apt-get install -y --no-install-recommends zsh fish",
    ]
    assert asked == ""


def test_what_cannot_be_installed_is_said_and_the_tests_still_run(machine: Path) -> None:
    put(machine, "id", "echo 0")
    put(machine, "apt-get", "exit 100")

    said, _ = set_up(machine, "fish")

    assert said.splitlines()[-1] == "could not install: fish"


def test_where_nothing_is_missing_it_does_nothing(machine: Path) -> None:
    put(machine, "fish", "")

    assert set_up(machine, "fish") == ("", "")
