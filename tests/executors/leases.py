"""Executors whose lease runs out when a test says so."""

from pathlib import Path

from pitstop.executors.machine.processes.executor import ProcessExecutor
from tests.patience import wait_here_until

LONG_LEASE_SECONDS = 600.0  # a slow machine does not lose it


def lapse(executor: ProcessExecutor) -> None:
    """Hold up the event loop until the executor's lease has run out, which its last beat makes short."""
    supervisors = executor._supervisors
    assert supervisors._epoch is not None
    epoch = Path(supervisors._epoch.path)
    supervisors._send_beat(0.0)
    wait_here_until(lambda: not epoch.exists())
