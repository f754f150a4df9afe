"""The commands of the guide to HTTP do what it says, as they are printed, in one shell."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pitstop.settings import Settings
from tests.docs.test_flow_samples import blocks_of, pattern_of
from tests.docs.test_samples import ROOT
from tests.doors.http.bench import Bench

PAGE = ROOT / "docs/guides/http.md"
MARK = "=== the next command"


def exchanges() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each command, with the lines that it goes on in, and what it is said to say."""
    for block in blocks_of(PAGE):
        if block.language != "console":
            continue
        for text in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            lines = text.split("\n")[:-1]
            more = next((number for number, line in enumerate(lines[1:], 1) if not line.startswith("> ")), len(lines))
            command = "\n".join([lines[0], *(line.removeprefix("> ") for line in lines[1:more])])
            yield command, tuple(lines[more:])


async def said_to(commands: list[str], folder: Path, environment: dict[str, str]) -> list[str]:
    """What each command says, in one shell."""
    script = "".join(f"{command}\necho '{MARK}'\n" for command in commands)
    process = await asyncio.create_subprocess_exec(
        "bash", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        cwd=folder, env=environment,
    )  # fmt: skip
    said, _ = await process.communicate(script.encode())
    return said.decode().split(f"{MARK}\n")[:-1]


@pytest.mark.needs("curl")
async def test_the_commands_of_the_guide_do_what_it_says(tmp_path: Path) -> None:
    bench = Bench(tmp_path, settings=Settings(tmp_path / ".local/state/pitstop"))
    bench.settings.home.mkdir(parents=True)
    bench.settings.token_file.write_text(f"{bench.token}\n")  # which a server has made
    async with bench.serving():
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PITSTOP_SERVER": bench.url}
        commands = list(exchanges())
        answers = await said_to([command for command, _ in commands], tmp_path, environment)

    assert len(commands) > 20
    assert len(answers) == len(commands)
    for (command, expected), said in zip(commands, answers, strict=True):
        shown = said if said.endswith("\n") or not said else f"{said}\n"
        assert pattern_of(expected).fullmatch(shown), f"$ {command}\n{said}"
