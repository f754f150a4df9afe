"""Microsoft's own client for tests of adapters, with every message that it exchanged judged afterwards."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.doors.dap.protocol import Trace, check_conversation

HERE = Path(__file__).parent


@pytest.fixture
def node_modules() -> Path:
    """The packages of the lock file, installed once."""
    folder = HERE / "node"
    npm = shutil.which("npm")
    assert npm is not None, "these tests need Node.js 20 or newer"
    if not (folder / "node_modules/.package-lock.json").exists():
        subprocess.run([npm, "ci", "--no-audit", "--no-fund"], cwd=folder, check=True, capture_output=True, timeout=110)
    return folder


def read_traces(folder: Path) -> list[Trace]:
    return [
        [(sender, message) for sender, message in map(json.loads, file.read_text().splitlines())]
        for file in folder.glob("*.jsonl")
    ]


@pytest.mark.timeout(600)  # seventeen sessions, one after the other
def test_the_debug_client_drives_every_capability(folder: Path, node_modules: Path) -> None:
    traces = folder / "traces"
    traces.mkdir()
    env = {
        **os.environ,
        "PITSTOP_FLOWS": str(folder),
        "PITSTOP_HOME": str(folder / "home"),
        "PITSTOP_PYTHON": sys.executable,
        "PITSTOP_TEE": str(HERE / "tee.py"),
        "PITSTOP_TRACES": str(traces),
    }
    node = shutil.which("node")
    assert node is not None
    done = subprocess.run(
        [node, "--test", "suite.test.mjs"], cwd=node_modules, env=env, capture_output=True, text=True, timeout=580
    )

    assert done.returncode == 0, done.stdout
    told = read_traces(traces)
    assert len(told) == done.stdout.count("# Subtest: ")
    for trace in told:
        check_conversation(trace)
