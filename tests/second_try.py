"""A second try for failed tests that use real parts: one that passes it is flaky, and does not fail the run.

With `--second-try`, each failed test outside the core runs again in a process of its own, when all others are over.
"""

import subprocess
import sys

import pytest

from tests.tiers import CORE, is_in

MOST = 20  # with more failures than that, it is not the machine


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("pitstop")
    group.addoption("--second-try", action="store_true", help="run failed tests that use real parts once more, alone")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--second-try") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(SecondTry(config))


class SecondTry:
    """Lives where the reports of all workers arrive."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._flaky: dict[str, pytest.TestReport] = {}  # with its first failure

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """All workers have ended by now, and the summary is not printed yet."""
        if session.exitstatus != pytest.ExitCode.TESTS_FAILED:
            return
        stats = self._reporter().stats
        failed = [*stats.get("failed", []), *stats.get("error", [])]
        names = retriable(failed)
        for name in names if len(names) <= MOST else ():
            if self._passes(name):
                self._flaky[name] = next(report for report in failed if report.nodeid == name)
        if self._flaky:
            for kind in ("failed", "error"):
                kept = [report for report in stats.pop(kind, []) if report.nodeid not in self._flaky]
                stats.update({kind: kept} if kept else {})
            stats["flaky"] = list(self._flaky.values())
            session.testsfailed = len(stats.get("failed", [])) + len(stats.get("error", []))
        if not session.testsfailed:
            session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(self) -> None:
        for name, report in self._flaky.items():
            self._reporter().write_sep("_", f"first try of {name}")
            self._reporter().write_line(report.longreprtext)

    def pytest_unconfigure(self) -> None:
        """After pytest's own summary."""
        if self._flaky:
            self._reporter().write_line("flaky:", yellow=True)
        for name in self._flaky:
            self._reporter().write_line(f"  {name}")

    def _passes(self, name: str) -> bool:
        self._reporter().write_sep("=", f"second try of {name}")
        self._reporter().flush()
        words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", name]
        return subprocess.run(words, cwd=self._config.rootpath, check=False).returncode == 0

    def _reporter(self) -> pytest.TerminalReporter:
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        assert isinstance(reporter, pytest.TerminalReporter)
        return reporter


def retriable(failed: list[pytest.TestReport | pytest.CollectReport]) -> list[str]:
    """Tests outside the core; what is only left behind may be another test's, so it stays a failure."""
    tests = [report for report in failed if isinstance(report, pytest.TestReport) and report.when != "teardown"]
    return list(dict.fromkeys(report.nodeid for report in tests if not is_in(CORE, report.nodeid)))
