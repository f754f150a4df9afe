"""The command as people use it: a process of its own in a folder of its own, and nothing of it may be left behind."""

import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import termios
import textwrap
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tests.patience import PATIENCE_SECONDS, wait_here_until

PITSTOP = (sys.executable, "-m", "pitstop")

# Orphans come to the one who watches, so it sees whatever outlives the command, whoever its parent was.
WATCHER = """
import ctypes, os, subprocess, sys, time
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
command = subprocess.Popen(sys.argv[2:])
with open(sys.argv[1], "w") as file:
    file.write(str(command.pid))
code = command.wait()
deadline = time.monotonic() + 30
while True:
    try:
        pid, _ = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        sys.exit(code)
    if time.monotonic() > deadline:
        break
    time.sleep(0.01 if not pid else 0)
print("LEFT BEHIND:", open(f"/proc/self/task/{os.getpid()}/children").read(), file=sys.stderr)
sys.exit(99)
"""


@dataclass(frozen=True, slots=True)
class Said:
    """What the command said, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def events(self) -> list[dict[str, Any]]:
        """What it said with `--json`."""
        return [json.loads(line) for line in self.lines]


class Started:
    """A command that runs. Its end is only believed when no process of it is left."""

    def __init__(self, process: subprocess.Popen[str], pid_file: Path) -> None:
        self._process = process
        self._pid_file = pid_file
        self._seen = ""

    @property
    def out(self) -> IO[str]:
        assert self._process.stdout is not None
        return self._process.stdout

    def read_until(self, text: str) -> None:
        """Read what it says until a line has the text in it."""
        for line in self.out:
            self._seen += line
            if text in line:
                return
        raise AssertionError(f"it never said {text!r}, but {self._seen!r}")

    def wait_listening(self) -> None:
        """Wait until it hears signals: before that, one ends Python itself, in Python's own words."""
        wait_here_until(lambda: self._catches(signal.SIGTERM), "it hears no signals")

    def _catches(self, number: signal.Signals) -> bool:
        status = Path(f"/proc/{self._pid_file.read_text()}/status").read_text()
        caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:"))
        return bool(int(caught, 16) >> (number - 1) & 1)

    def send(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):  # it is just ending
            os.kill(int(self._pid_file.read_text()), number)

    def wait_unread(self) -> None:
        """Wait until nobody has read its output for so long that no more of it can be written."""
        pipe = self.out.fileno()
        full = fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ) - 2 * select.PIPE_BUF

        def is_full() -> bool:
            return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder) >= full

        wait_here_until(is_full, "it can still write")

    def is_over(self) -> bool:
        return self._process.poll() is not None

    def wait_quietly(self) -> int:
        """The exit code of one whose output nobody reads any more."""
        with self._process:
            return self._process.wait(PATIENCE_SECONDS)

    def wait(self) -> Said:
        out, err = self._process.communicate(timeout=PATIENCE_SECONDS)
        assert "LEFT BEHIND" not in err, err
        assert "Traceback" not in err, err
        return Said(self._process.returncode, self._seen + out, err)


class CommandLine:
    """Somebody's terminal: a folder to work in, a home, and no state of anybody else's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "work"
        self.home = folder / "state"
        self.folder.mkdir()
        self._pid_file = folder / "pid"

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    def run(self, *words: str, env: Mapping[str, str] | None = None) -> Said:
        return self.start(*words, env=env).wait()

    def start(self, *words: str, env: Mapping[str, str] | None = None) -> Started:
        self._pid_file.unlink(missing_ok=True)
        command = [sys.executable, "-c", WATCHER, str(self._pid_file), *self.command(*words)]
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            env={**self.environment, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        while not self._is_pid_told():
            is_over = process.poll() is not None
            assert not is_over or self._is_pid_told()  # a short command may be over before we look
            time.sleep(0.001)
        return Started(process, self._pid_file)

    def _is_pid_told(self) -> bool:
        return self._pid_file.exists() and self._pid_file.read_text() != ""

    def command(self, *words: str) -> list[str]:
        return [*PITSTOP, *words]

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "PITSTOP_HOME": str(self.home), "PYTHONUNBUFFERED": "1"}
