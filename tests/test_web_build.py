"""`web/build.py`, with a Node that only writes down what it was asked for."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "web/build.py"
NODE = "#!/bin/sh\necho v22.1.0\n"
NPM = """#!/bin/sh
echo "$@" >> "$ASKED"
mkdir -p ../src/pitstop/doors/http/web
echo built > ../src/pitstop/doors/http/web/index.html
exit $NPM_ENDS_WITH
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A source tree with a web application in it, and a folder of programs."""
    web, programs = tmp_path / "tree/web", tmp_path / "bin"
    for name in ("src", "public", "dev"):
        (web / name).mkdir(parents=True)
    programs.mkdir()
    shutil.copy(SCRIPT, web)
    for name in ("index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts", "src/main.tsx"):
        (web / name).write_text(name)
    for name, text in (("node", NODE), ("npm", NPM)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    return tmp_path / "tree"


def build(tree: Path, *words: str, npm_ends_with: int = 0) -> subprocess.CompletedProcess[str]:
    env = {
        "PATH": f"{tree.parent / 'bin'}{os.pathsep}{os.defpath}",
        "ASKED": str(tree.parent / "asked"),
        "NPM_ENDS_WITH": str(npm_ends_with),
    }
    command = [sys.executable, str(tree / "web/build.py"), *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)


def asked(tree: Path) -> list[str]:
    file = tree.parent / "asked"
    return file.read_text().splitlines() if file.exists() else []


def test_it_is_built_once_and_again_when_a_source_has_changed(tree: Path) -> None:
    assert build(tree, "--check").returncode == 1
    assert build(tree).returncode == 0
    assert build(tree).returncode == 0
    assert (build(tree, "--check").returncode, len(asked(tree))) == (0, 2)

    (tree / "web/src/main.tsx").write_text("changed")

    assert build(tree, "--check").returncode == 1
    assert build(tree).returncode == 0
    assert [words.split()[0] for words in asked(tree)] == ["ci", "run", "ci", "run"]


def test_a_build_that_fails_says_what_to_do_and_is_tried_again(tree: Path) -> None:
    failed = build(tree, npm_ends_with=3)

    assert failed.returncode == 1
    assert "`npm ci --no-audit --no-fund --no-update-notifier --loglevel=error` ended with 3" in failed.stderr
    assert "Node 20.19 or newer" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert build(tree).returncode == 0
