"""The name that printed commands call the program by."""

import sys
from pathlib import Path

import pytest

from pitstop.program import program


def make_program(folder: Path) -> Path:
    folder.mkdir()
    made = folder / "pitstop"
    made.write_text("#!/bin/sh\n")
    made.chmod(0o755)
    return made


@pytest.mark.parametrize(
    ("is_on_path", "printed", "anywhere"),
    [(True, "pitstop", "pitstop"), (False, "bin/pitstop", "{folder}/bin/pitstop")],
)
def test_it_is_the_name_alone_only_if_a_shell_finds_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_on_path: bool, printed: str, anywhere: str
) -> None:
    own, other = make_program(tmp_path / "bin"), make_program(tmp_path / "other")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["bin/pitstop", "up"])
    monkeypatch.setenv("PATH", str(own.parent if is_on_path else other.parent))

    assert program() == printed
    assert program(anywhere=True) == anywhere.format(folder=tmp_path)


def test_a_module_is_called_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/pitstop/__main__.py"])
    monkeypatch.setattr(sys, "orig_argv", ["python3", "-m", "pitstop", "up"])

    assert program() == "python3 -m pitstop"
    monkeypatch.setattr(sys, "argv", ["/somewhere/other/__main__.py"])  # a program that uses Pitstop
    assert program() == "pitstop"
