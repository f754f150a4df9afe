"""The web application: its own checks, and its stories in Chromium against a real server."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

WEB = Path(__file__).parents[2] / "web"
CHECKS = ("types:check", "typecheck", "lint", "test")
REPEATING = "access.story.ts"  # in `make soak` it looks at every page in every theme and width
STORIES = [
    pytest.param(name, marks=[pytest.mark.repeats] if name == REPEATING else [])
    for name in sorted(path.name for path in WEB.glob("e2e/*.story.ts"))
]


def npm_run(*words: str) -> None:
    env = {**os.environ, "PYTHON": sys.executable, "NO_COLOR": "1"}
    done = subprocess.run(["npm", "run", "--silent", *words], cwd=WEB, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.needs("npm")
@pytest.mark.parametrize("check", CHECKS)
def test_the_sources_pass_their_checks(check: str) -> None:
    npm_run(check)


@pytest.mark.needs("npm", "chromium")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("story", STORIES)
def test_the_story_is_true_in_chromium(story: str) -> None:
    npm_run("e2e", "--", story)
