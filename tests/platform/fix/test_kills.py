"""A fix loop whose process is killed continues where its notes end, in whatever state it was."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.amounts import amount
from tests.patience import PATIENCE_SECONDS, wait_here_until
from tests.platform.fix.loops import Loop

BLOCK = "touch {tmp}/here; while [ ! -e {tmp}/go ]; do sleep 0.02; done"
# The number of the run of the tests that blocks: 2 is the second of the triage, 3 that of the first iteration
SLOW = "echo >> {tmp}/count; if [ $(wc -l < {tmp}/count) -eq {blocked} ]; then " + BLOCK + "; fi; sh check.sh"


def command(loop: Loop, *words: str, **more: Any) -> list[str]:
    return [sys.executable, "-m", "pitstop", "fix", *words]


def environment(loop: Loop) -> dict[str, str]:
    return {**os.environ, "HOME": str(loop.folder.parent), "PITSTOP_HOME": str(loop.settings.home)}


@contextmanager
def running(loop: Loop, *words: str) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        command(loop, "--agent", "scripted", *words),
        cwd=loop.folder,
        env=environment(loop),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        yield process


def kill(process: "subprocess.Popen[str]") -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.wait(PATIENCE_SECONDS)


def run_of(loop: Loop) -> str:
    (folder,) = loop.settings.runs.iterdir()
    return folder.name


def notes_of(loop: Loop) -> list[tuple[str, dict[str, Any]]]:
    """The notes of the loop in the log of its run, which is the memory of it."""
    lines = (loop.settings.runs / run_of(loop) / "events.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    noted = [each for each in events if each["kind"] == "step.noted" and each["note"].startswith("fix.")]
    return [(each["note"], each["data"]) for each in noted]


def resume(loop: Loop, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command(loop, *(words or ("--resume", run_of(loop)))),
        cwd=loop.folder,
        env=environment(loop),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


@pytest.mark.repeats
@pytest.mark.parametrize("state", ["diagnosing", "fixing", "confirming", "testing", "triaging"][: amount(3, soak=5)])
def test_killed_in_any_state_it_continues_and_counts_on(tmp_path: Path, state: str) -> None:
    block = BLOCK.format(tmp=tmp_path)
    plays = {"diagnosing": {"diagnose-1-1": block}, "fixing": {"fix-1-1": f"echo half > code.txt; {block}"}}
    loop = Loop(tmp_path, ["a"], plays.get(state, {}))
    blocked = {"triaging": 2, "testing": 3, "confirming": 4}.get(state, 0)
    (loop.folder / "slow.sh").write_text(SLOW.format(tmp=tmp_path, blocked=blocked))
    loop.commit()

    with running(loop, "--", "sh", "slow.sh") as process:
        wait_here_until((tmp_path / "here").exists, f"it does not begin with {state}")
        kill(process)
    (tmp_path / "go").touch()
    done = resume(loop)

    assert done.returncode == 0, done.stdout + done.stderr
    assert loop.code == ["ok_a"]  # of the folder: the fix was applied
    names = [name for name, _ in notes_of(loop)]
    assert names.count("fix.started") == names.count("fix.triaged") == names.count("fix.iteration_started") == 1
    assert names.count("fix.reported") == names.count("fix.judged") == names.count("fix.ended") == 1
    assert notes_of(loop)[-1][1]["outcome"] == "fixed"


def test_killed_at_the_escalation_it_is_at_the_same_stop_again(tmp_path: Path) -> None:
    loop = Loop(tmp_path, ["a"], {"fix": "echo guess >> notes.txt"})
    loop.commit()

    with running(loop, "--iterations", "1", "--attachable", "--", "sh", "check.sh") as process:
        assert process.stdout is not None
        assert any("pitstop debug" in line for line in process.stdout if line.startswith("paused"))
        kill(process)
    seen = resume(loop)

    assert seen.returncode == 77
    assert seen.stdout.startswith("Maximum iterations reached")
    assert f'pitstop fix {run_of(loop)} guide "TEXT"' in seen.stdout

    skipped = resume(loop, run_of(loop), "skip", "known since May")
    assert skipped.returncode == 0, skipped.stdout + skipped.stderr
    assert notes_of(loop)[-1][1] == {**notes_of(loop)[-1][1], "outcome": "skipped", "why": "known since May"}
