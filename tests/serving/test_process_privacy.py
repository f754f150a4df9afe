import subprocess
import sys

import pytest

# A process that changes its user is hidden by that alone, so it is shown first.
SERVER = """
import ctypes, os, subprocess
from pitstop.serving.process_privacy import PR_SET_DUMPABLE, hide_process

def read_as_step():
    return subprocess.run(["cat", f"/proc/{os.getpid()}/environ"], capture_output=True).stdout

os.setgid(65534)
os.setuid(65534)
ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
print(b"PITSTOP_DB" in read_as_step())
hide_process()
print(b"PITSTOP_DB" in read_as_step())
"""


@pytest.mark.needs("root")  # to become a user who is not
def test_a_step_cannot_read_the_environment_of_its_server() -> None:
    program = [sys.executable, "-c", SERVER]
    read = subprocess.run(program, env={"PITSTOP_DB": "postgresql://u:p@db"}, capture_output=True, check=True)

    assert read.stdout.split() == [b"True", b"False"]
