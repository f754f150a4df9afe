"""Asking the program of an agent for its version."""

from pathlib import Path

import pytest

from pitstop.service.installed_agents import ANSWER_SECONDS, Answer, ask_version, read_answer
from tests.executors.processes import left_running


def program(folder: Path, script: str) -> str:
    file = folder / "agent"
    file.write_text(script)
    file.chmod(0o755)
    return str(file)


async def test_a_program_that_does_not_answer_is_ended_with_its_children(tmp_path: Path) -> None:
    child = f"{tmp_path}/child"
    path = program(tmp_path, f"#!/bin/sh\nsh -c 'sleep 1000; true' {child} & sleep 1000\n")

    answer = await ask_version(path, 0.1)

    assert answer == Answer(problem="`--version` did not answer within 0.1 seconds")
    assert left_running(child) == {}


async def test_a_program_that_cannot_be_started_has_a_problem(tmp_path: Path) -> None:
    path = program(tmp_path, "#!/no/such/program\n")

    assert await ask_version(path, ANSWER_SECONDS) == Answer(problem="it cannot be started: No such file or directory")


@pytest.mark.parametrize(
    ("code", "said", "complained", "answer"),
    [
        (0, "2.1.197 (Claude Code)\n", "", Answer("2.1.197")),
        (0, "codex-cli 0.166.0\n", "WARNING: 3.5 is old\n", Answer("0.166.0")),
        (0, "Welcome!\naider 0.86.1.dev+less\n", "", Answer("0.86.1.dev+less")),
        (0, "soon\n", "", Answer(problem="`--version` printed no version")),
        (1, "1.2\n", "a\nno key\n", Answer(problem="`--version` failed with exit code 1: no key")),
        (1, "", "", Answer(problem="`--version` failed with exit code 1: without a message")),
    ],
)
def test_the_version_is_found_in_what_a_program_prints(code: int, said: str, complained: str, answer: Answer) -> None:
    assert read_answer(code, said, complained) == answer
