"""A whole fix loop with the real Claude Code and a scripted model: `make soak PART=agents` installs it and runs it."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.agents.model_server import Call, ModelRequest, ModelServer, Turn
from tests.agents.real_clis import CLIS, PROGRAMS, program
from tests.agents.test_real_clis import KEY, LEAKS, leaking_files
from tests.git.repositories import client_environment
from tests.platform.fix.loops import REPORT

CLAUDE = CLIS["claude"]
MISTAKE, REPAIRED = "return int(text) * 100", 'return round(float(text.replace(",", ".")) * 100)'
PRICE = f"def cents(text: str) -> int:\n    {MISTAKE}\n"
TEST = """\
import unittest

from price import cents


class TestPrice(unittest.TestCase):
    def test_a_price_may_have_a_comma(self):
        self.assertEqual(cents("1,50"), 150)
"""
REPORT_PATH = "debug/test_failures/001_decimal_comma.md"
CAUSE = "cents() takes the text for a whole number"
DIAGNOSE = (
    Turn("I read the code", [Call("Read", {"file_path": "price.py"})]),
    Turn("I write the report", [Call("Write", {"file_path": REPORT_PATH, "content": REPORT.replace("CAUSE", CAUSE)})]),
    Turn(f"DEBUG_REPORT_PATH: {REPORT_PATH}\nRoot cause: {CAUSE}\nRecommended fix: Option 1 - repair it"),
)
FIX = (
    Turn("I read it", [Call("Read", {"file_path": "price.py"})]),
    Turn("I edit it", [Call("Edit", {"file_path": "price.py", "old_string": MISTAKE, "new_string": REPAIRED})]),
    Turn("Files modified: price.py\nChanges made: takes a comma\nReady for testing: true"),
)


async def test_claude_diagnoses_and_repairs_in_one_iteration(tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    async with ModelServer([*DIAGNOSE, *FIX]) as model:
        await asyncio.to_thread(make_project, shop, model.url)
        done = await asyncio.to_thread(fix, shop, tmp_path / "home")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "fixed after 1 iteration\n" in done.stdout
    assert REPAIRED in (shop / "price.py").read_text()
    report = (shop / REPORT_PATH).read_text()
    assert CAUSE in report
    assert 'status: "resolved"' in report
    assert model.remaining == []
    look_at_requests(model.requests)
    assert LEAKS.found_in((done.stdout + done.stderr).encode()) == []
    assert leaking_files(tmp_path) == {}


def look_at_requests(requests: Sequence[ModelRequest]) -> None:
    """Each conversation has its role and the failure, and the second the report. The key is in no body."""
    diagnosing, fixing = requests[: len(DIAGNOSE)], requests[len(DIAGNOSE) :]
    for request in requests:
        assert KEY in str(request.headers)
        assert LEAKS.found_in(json.dumps(request.body).encode()) == []
    for conversation, role in ((diagnosing, "You are a debugging specialist"), (fixing, "You repair code")):
        for request in conversation:
            assert role in json.dumps(request.body)
            assert "test_a_price_may_have_a_comma" in json.dumps(request.body)
    assert "ValueError: invalid literal for int()" in json.dumps(diagnosing[0].body)
    prompt = json.dumps(fixing[0].body)
    assert CAUSE in prompt
    assert "Apply the recommended option: Option 1: Repair it" in prompt


def make_project(folder: Path, url: str) -> None:
    """A repository with a mistake, and a profile for Claude Code as it is, but with this model."""
    agents = folder / ".pitstop" / "agents"
    agents.mkdir(parents=True)
    api = {"name": "anthropic", "url": url, "secret": CLAUDE.secret}
    (agents / "modeled.yaml").write_text(json.dumps({"extends": "claude", "api": api}))
    (folder / "price.py").write_text(PRICE)
    (folder / "test_price.py").write_text(TEST)
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "first")):
        subprocess.run(("git", *words), cwd=folder, env=client_environment(), check=True)


def fix(folder: Path, home: Path) -> "subprocess.CompletedProcess[str]":
    home.mkdir()
    program("claude")  # or it says how to install it
    environment = {
        **client_environment(),
        "HOME": str(home),
        "PITSTOP_HOME": str(home / "state"),
        "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}",
        CLAUDE.secret: KEY,
    }
    return subprocess.run(
        [
            *(sys.executable, "-m", "pitstop", "fix", "--ci", "--agent", "modeled", "--model", CLAUDE.model),
            *("--secret", CLAUDE.secret, "--", "python3", "-m", "unittest", "-q"),
        ],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
