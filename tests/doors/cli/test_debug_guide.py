"""The guide to debugging a flow: its session is played, and its list of commands and its picture are real ones."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pitstop.doors.cli.debug.table import GROUPS, TABLE
from tests.doors.cli.debug_bench import Folder

ROOT = Path(__file__).parents[3]
GUIDE = ROOT / "docs/guides/debug-a-flow.md"
PICTURE = ROOT / "docs/pictures/debug.svg"
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TYPED = re.compile(r"\((?P<frame>[\w.]+)\) (?P<command>.*)")
_SECONDS = re.compile(r" in \d+(\.\d)? s$")


def transcript() -> list[str]:
    text = GUIDE.read_text(encoding="utf-8")
    return [line for block in _BLOCK.findall(text) for line in block.splitlines()]


def commands_in(lines: list[str]) -> Iterator[str]:
    return (found["command"] for line in lines if (found := _TYPED.fullmatch(line)))


def test_the_session_of_the_guide_goes_as_it_says(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples/broken", tmp_path, dirs_exist_ok=True)
    folder = Folder(tmp_path)
    (tmp_path / "ci.yaml").unlink()
    shown = transcript()
    assert shown[0] == "$ pitstop debug flow.yaml"

    ended = folder.run_flow("flow.yaml", *(word for line in commands_in(shown) for word in ("-c", line)))

    assert ended.returncode == 0, ended.stdout
    said = [_SECONDS.sub("", line) for line in ended.stdout.splitlines()]
    at = 0
    for line in shown[1:]:
        if line != "...":
            assert line in said[at:], f"{line!r} does not come after {said[at - 1 : at]}:\n" + "\n".join(said[at:])
            at = said.index(line, at) + 1
    assert folder.left_running() == {}


def test_the_guide_has_every_command() -> None:
    assert command_tables() in GUIDE.read_text(encoding="utf-8")


@pytest.mark.parametrize("text", ["stop 1", "error", "(tests) $ exit", "retry", "the run passed", ", intervened"])
def test_the_picture_shows_a_session_and_loads_nothing_from_elsewhere(text: str) -> None:
    picture = PICTURE.read_text(encoding="utf-8").replace("&#160;", " ")

    assert text in picture
    assert re.findall(r"url\((?!#)[^)]*|href=[^ >]*", picture) == []


def command_tables() -> str:
    """The table of commands as the guide shows it."""
    rows = []
    for group in GROUPS:
        rows += [f"| **{group}** | | |"]
        rows += [
            f"| `{_escaped(spec.usage)}` | {', '.join(f'`{each}`' for each in spec.aliases)} | {spec.summary} |"
            for spec in TABLE
            if spec.group == group
        ]
    return "\n".join(["| command | also | what it does |", "| --- | --- | --- |", *rows])


def _escaped(usage: str) -> str:
    return usage.replace("|", "\\|")
