"""A small suite of tests with our plugins, in a folder and a process of its own."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLUGINS = ("tests.parts", "tests.tiers", "tests.second_try")
PROGRAMS = ("cut", "env", "id", "ls", "paste", "sh")  # what tests/set_up.sh itself uses

Run = Callable[..., pytest.RunResult]


@pytest.fixture
def run_suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Write a test file under its name in the suite, and run it with the options given."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # importing all that are installed takes seconds
    pytester.makeini("[pytest]\naddopts = --import-mode=importlib --strict-markers")
    pytester.makeconftest(f"pytest_plugins = {PLUGINS}")

    def run(file: str, text: str, *options: str) -> pytest.RunResult:
        path = pytester.path / file
        path.parent.mkdir(parents=True)
        path.write_text(text)
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "xdist", *options)

    return run


@pytest.fixture
def bare_machine(tmp_path: Path) -> Path:
    """A folder for the PATH with no program that tests need."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in PROGRAMS:
        found = shutil.which(name)
        assert found is not None
        (folder / name).symlink_to(found)
    return folder
