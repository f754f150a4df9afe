"""`pitstop init`: a first flow for this folder, by what is in it."""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pitstop.doors.cli.app import OpenService
from pitstop.doors.cli.exit_codes import BAD_USAGE, PASSED
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.program import program

PLACE = Path(".pitstop/flows/ci.yaml")
TESTS_OF_PYTHON = ("test_*.py", "tests/**/test_*.py", "tests/**/*_test.py")


class Found(NamedTuple):
    """A step that fits the folder, and why."""

    id: str
    run: str
    because: str


def init_command(words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> int:
    parser = argparse.ArgumentParser(prog="pitstop init", description=f"Write a first flow to {PLACE}.")
    parser.add_argument("--print", action="store_true", dest="only_print", help="print the flow instead of writing it")
    options = parser.parse_args(words)
    folder = Path.cwd()
    text = flow_text(folder.name, list(find_steps(folder)))
    if options.only_print:
        print(text, end="")
        return PASSED
    PLACE.parent.mkdir(parents=True, exist_ok=True)
    try:
        with PLACE.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        print(f"pitstop: {PLACE} already exists, so it was not changed", file=sys.stderr)
        return BAD_USAGE
    print(f"wrote {PLACE}; run it with: {program()} run {PLACE}")
    return PASSED


def flow_text(name: str, found: Sequence[Found]) -> str:
    """The flow as people would write it."""
    steps = found or [Found("hello", "echo 'put your own commands here'", "no known test setup was found")]
    lines = [f"name: {json.dumps(name)}", "steps:"]
    for step in steps:
        lines += [f"  - id: {step.id}  # {step.because}", f"    run: {json.dumps(step.run, ensure_ascii=False)}"]
    return "\n".join(lines) + "\n"


def find_steps(folder: Path) -> Iterator[Found]:
    """A step for every way of building and testing that the folder shows."""
    for look in (_python, _node, _rust, _go, _make):
        yield from look(folder)


def _python(folder: Path) -> Iterator[Found]:
    has_tests = any(next(folder.glob(pattern), None) for pattern in TESTS_OF_PYTHON)
    if _says(folder / "pyproject.toml", "[tool.ruff"):
        yield Found("lint", "ruff check .", "pyproject.toml configures ruff")
    if (folder / "pytest.ini").exists() or _says(folder / "pyproject.toml", "pytest") or has_tests:
        yield Found("pytest", "python -m pytest -q", "there are tests for pytest")


def _node(folder: Path) -> Iterator[Found]:
    try:
        scripts = json.loads((folder / "package.json").read_text(encoding="utf-8")).get("scripts", {})
    except (OSError, ValueError, AttributeError):
        return
    install = "npm ci" if (folder / "package-lock.json").exists() else "npm install"
    yield Found("npm-install", install, "there is a package.json")
    for script in ("lint", "build", "test"):
        if script in scripts:
            yield Found(f"npm-{script}", f"npm run {script}", f"package.json has the script {script}")


def _rust(folder: Path) -> Iterator[Found]:
    if (folder / "Cargo.toml").exists():
        yield Found("cargo-test", "cargo test", "there is a Cargo.toml")


def _go(folder: Path) -> Iterator[Found]:
    if (folder / "go.mod").exists():
        yield Found("go-test", "go test ./...", "there is a go.mod")


def _make(folder: Path) -> Iterator[Found]:
    for name in ("GNUmakefile", "makefile", "Makefile"):
        for target in ("lint", "test", "check"):
            if _says(folder / name, f"\n{target}:"):
                yield Found(f"make-{target}", f"make {target}", f"{name} has the target {target}")
                if target != "lint":
                    return


def _says(file: Path, text: str) -> bool:
    try:
        return text in "\n" + file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
