"""After the last test of a worker nothing of it is left: no process that it started, and no temporary folder.

Containers, networks and volumes are looked for by the daemon's own fixture, in `containers.py`.
"""

import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.executors.processes import processes_with
from tests.patience import PATIENCE_SECONDS

MARK = "SUITE_OF_PITSTOP"  # in the environment of whatever a test starts, and of what that starts
OURS = re.compile(r"pitstop|tmp[a-z0-9_]{8}$")  # the names that we give, and those of Python's `tempfile`
HELPERS = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")  # Python's own: they end with the worker


@pytest.fixture(scope="session", autouse=True)
def nothing_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """It is set up before everything else, so it looks when everything else has been torn down.

    A test that fails may leave something; only its second try, alone, shows whether it always does.
    """
    mark, folder = uuid4().hex, Path(tempfile.mkdtemp(prefix="suite-", dir="/tmp"))  # short, for the paths of sockets
    folder.chmod(0o1777)  # some tests are somebody else
    before = {name: os.environ.get(name) for name in (MARK, "TMPDIR")}
    os.environ |= {MARK: mark, "TMPDIR": str(folder)}
    tempfile.tempdir = str(folder)
    try:
        yield
        if request.session.testsfailed:
            return
        assert _left_running(mark) == {}
        assert [path.name for path in folder.iterdir() if OURS.match(path.name)] == []
    finally:
        tempfile.tempdir = None
        for name, value in before.items():
            os.environ.pop(name, None)
            os.environ |= {} if value is None else {name: value}
        shutil.rmtree(folder, ignore_errors=True)


def _left_running(mark: str) -> dict[int, str]:
    """What is still there when it had time to end."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        found = {pid: line for pid, line in processes_with(mark).items() if line and not _is_helper(line)}
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.05)


def _is_helper(command_line: str) -> bool:
    return any(name in command_line for name in HELPERS)
