"""Keeping a guard beside Pitstop, who removes its containers should it die."""

import subprocess
import sys

from pitstop.executors.machine.containers import guard as container_guard


class Guard:
    """Pitstop's end of the pipe to the guard."""

    def __init__(self, path: str, owner: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", container_guard.__file__, path, owner],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
            start_new_session=True,  # what ends Pitstop in a terminal shall not end its guard
        )

    def dismiss(self) -> None:
        """Let it look for the last time. Returns when it is gone."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
