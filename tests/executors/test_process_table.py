import os
import subprocess
from pathlib import Path

from pitstop.executors.machine.process_table import (
    children_of_this_process,
    out_of_memory_kills,
    start_of_process,
)


def test_a_child_is_known_until_it_is_reaped() -> None:
    with subprocess.Popen(["sleep", "1000"]) as child:
        assert child.pid in children_of_this_process()
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert child.pid in children_of_this_process()

    assert child.pid not in children_of_this_process()


def test_a_process_that_has_ended_has_no_beginning() -> None:
    with subprocess.Popen(["sleep", "1000"]) as child:
        assert start_of_process(child.pid) is not None
        child.kill()

    assert start_of_process(child.pid) is None


def test_kills_for_want_of_memory_are_counted_by_the_kernel(tmp_path: Path) -> None:
    events = tmp_path / "memory.events"
    events.write_text("low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 1\n")

    assert out_of_memory_kills(str(events)) == 2
    assert out_of_memory_kills(str(tmp_path / "missing")) == 0
