"""The keeper is the same process, whether it was forked or started in an interpreter of its own."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.executors.processes import wait_ended
from tests.patience import wait_here_until

PROGRAM = textwrap.dedent("""
    import sys
    from pitstop.executors.machine.processes import keeper_process

    keeper = getattr(keeper_process, sys.argv[1])()
    print(keeper.pid, flush=True)
    sys.stdin.read()
""")


@pytest.mark.parametrize("start", ["fork_keeper", "spawn_keeper"])
def test_it_has_nothing_of_the_process_that_started_it_and_ends_with_it(start: str, tmp_path: Path) -> None:
    outer, inner = os.pipe()
    environment = {**os.environ, "A_SECRET": "hidden"}
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, start],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=[inner],
    ) as starter:
        os.close(inner)
        assert starter.stdout is not None
        keeper = int(starter.stdout.readline())
        ended = os.pidfd_open(keeper)
        wait_named(keeper)
        process = Path(f"/proc/{keeper}")
        files = {int(path.name): str(path.readlink()).partition(":")[0] for path in (process / "fd").iterdir()}
        status = (process / "status").read_text().splitlines()

        assert (files[0], files[1]) == ("/dev/null", "/dev/null")
        assert [file for fd, file in files.items() if fd > 2] == ["socket"]
        assert (process / "cwd").readlink() == Path("/")
        assert os.getsid(keeper) == keeper
        assert (process / "environ").read_bytes().strip(b"\0") == b""
        assert "Name:\tpitstop-keeper" in status
        assert "SigBlk:\t0000000000004003" in status  # SIGHUP, SIGINT and SIGTERM, which are for Pitstop
    wait_ended(ended)
    assert os.read(outer, 1) == b""
    os.close(outer)


def wait_named(pid: int) -> None:
    """Its name is what it takes last."""
    wait_here_until(lambda: Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"pitstop-keeper\0"))
