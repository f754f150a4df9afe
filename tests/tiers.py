"""The tiers of the tests: what is fast, what is core, and what runs one at a time."""

from pathlib import Path

import pytest
from xdist.scheduler import LoadGroupScheduling

from tests.amounts import IS_SOAK

# Tests that start no process, or hardly any; `make test-fast` runs these
FAST = (
    "tests/app",
    "tests/architecture",
    "tests/debugger",
    "tests/definition",
    "tests/engine",
    "tests/events",
    "tests/plan",
    "tests/service/test_examination.py",
    "tests/service/test_graphs.py",
    "tests/service/test_problems.py",
    "tests/service/test_remote_run.py",
    "tests/service/test_remote_terminal.py",
    "tests/service/test_sealing.py",
    "tests/service/test_settings.py",
    "tests/service/test_shell_commands.py",
    "tests/service/test_slots.py",
    "tests/service/test_telling.py",
    "tests/service/test_tracing.py",
    "tests/service/test_variables.py",
    "tests/service/test_workspace_progress.py",
    "tests/steps/test_entering.py",
    "tests/steps/test_junit.py",
    "tests/steps/test_node.py",
    "tests/steps/test_registry.py",
    "tests/steps/test_script_outputs.py",
    "tests/steps/test_small_steps.py",
    "tests/steps/test_write.py",
)
CORE = (*FAST, "tests/simulation")  # no failure of these can be due to a busy machine
# Tests with a container engine, Chromium, Node or many servers: one worker runs all of these
HEAVY = (
    "tests/chaos",
    "tests/doors/cli/test_agent_images.py",
    "tests/doors/dap/test_debug_client.py",
    "tests/doors/dap/test_vscode.py",
    "tests/executors/test_container.py",
    "tests/executors/test_container_contract.py",
    "tests/executors/test_container_finding.py",
    "tests/executors/test_container_forwards.py",
    "tests/executors/test_container_images.py",
    "tests/executors/test_container_orphans.py",
    "tests/executors/test_container_podman.py",
    "tests/executors/test_container_services.py",
    "tests/executors/test_container_shell.py",
    "tests/service/test_container_step.py",
    "tests/steps/agents/test_agents_in_containers.py",
    "tests/steps/test_containers.py",
    "tests/stories/test_debug_in_a_container.py",
    "tests/stories/test_debug_re_run.py",
    "tests/stories/test_examples.py",
    "tests/stories/test_join_a_stop.py",
    "tests/web",
)
# Tests that only `make soak` runs, because they need what is large to install
SOAK = ("tests/agents/test_real_clis.py", "tests/agents/test_real_fix_loop.py")


def is_in(places: tuple[str, ...], path: str) -> bool:
    """Whether a path or a test's id, relative to the root, is one of these places or inside one."""
    return any(path == place or path.startswith((f"{place}/", f"{place}::")) for place in places)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("pitstop").addoption("--fast", action="store_true", help="only the tests that start no process")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "repeats: the test repeats something, more often in `make soak`")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if collection_path.is_dir() or not collection_path.is_relative_to(config.rootpath):
        return None
    path = collection_path.relative_to(config.rootpath).as_posix()
    is_left_out = (config.getoption("--fast") and not is_in(FAST, path)) or (not IS_SOAK and is_in(SOAK, path))
    return True if is_left_out else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What is heavy comes first, so that at the end no worker waits for the other."""
    if config.getoption("loadgroup", False):
        items.sort(key=lambda item: not is_in(HEAVY, item.nodeid))


class HeavyOnOneWorker(LoadGroupScheduling):  # type: ignore[misc]  # xdist has no types
    """Gives all heavy tests to one worker, and the others one by one to the worker that is free."""

    def _split_scope(self, nodeid: str) -> str:
        return "heavy" if is_in(HEAVY, nodeid) else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> HeavyOnOneWorker | None:
    return HeavyOnOneWorker(config, log) if config.getoption("dist") == "loadgroup" else None
