"""The real parts that tests need: a test whose part is missing does not run, and then the session fails.

A test needs the parts of the fixtures that it uses, and those that `@pytest.mark.needs("curl")` names.
"""

import os
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

CONTAINERS = ("root", "busybox")
NEEDED_BY_FIXTURE = {
    "docker": ("docker", "ip", *CONTAINERS),
    "podman": ("podman", "dnsname", "runc", "catatonit", *CONTAINERS),
    "postgres": ("postgres",),
    "new_url": ("postgres",),
    "cloning_disk": ("xfs", "root"),
    "small_disk": ("root",),
    "vsix": ("npm",),
    "node_modules": ("npm",),
}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs(*parts): the test needs these parts of tests/set_up.sh, or root")


def find_missing() -> dict[str, str]:
    """Each part that is missing, and how to get it."""
    script = Path(__file__).with_name("set_up.sh")
    listed = subprocess.run(["sh", script, "--missing"], stdout=subprocess.PIPE, text=True, check=True).stdout
    pairs = (line.split() for line in listed.splitlines())
    missing = {part: f"apt-get install {package}" for part, package in pairs}
    return missing if os.geteuid() == 0 else {**missing, "root": "run as root"}


def parts_needed(item: pytest.Item) -> set[str]:
    named = {part for marker in item.iter_markers("needs") for part in marker.args}
    fixtures: list[str] = getattr(item, "fixturenames", [])
    return named.union(*(NEEDED_BY_FIXTURE.get(name, ()) for name in fixtures))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = find_missing()
    for item in items:
        lacking = sorted(parts_needed(item) & missing.keys())
        if lacking:
            reason = ", ".join(f"{part} ({missing[part]})" for part in lacking)
            item.add_marker(pytest.mark.skip(reason=f"needs {reason}"), append=False)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, None, None]:
    """List every test that did not run, after pytest's own summary, and let the session fail for it."""
    yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or not (skipped := reporter.stats.get("skipped")):  # a worker has none
        return
    if session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    reporter.write_line("could not run:", red=True)
    for report in skipped:
        _, _, reason = report.longrepr
        reporter.write_line(f"  {report.nodeid}: {reason.removeprefix('Skipped: ')}")
