"""A bench for stories: a fresh clone with an empty HOME, and somebody in it who has a terminal."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self
from uuid import uuid4

import pexpect

from tests.executors.processes import left_running

ROOT = Path(__file__).parents[2]
SECONDS = 90  # a busy machine may stand still for a while
CTRL_D = "\x04"
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|[=>()][A-Z0-9]?|7|8)|[\r\x00]")


def _not_cloned(folder: str, names: list[str]) -> set[str]:
    """What Python and Pitstop leave in examples; the example of the fix loop has agents of its own."""
    own = () if Path(folder).name == "fix" else (".pitstop",)
    return {name for name in names if name in ("__pycache__", *own)}


class Clone:
    """What a user has after `git clone` and the first `make`: the environment is ours, so nothing is installed."""

    def __init__(self, path: Path) -> None:
        self.path = path / "pitstop"
        self.mark = uuid4().hex
        self.path.mkdir()
        shutil.copytree(ROOT / "examples", self.path / "examples", ignore=_not_cloned)
        for name in ("requirements.lock", "pyproject.toml", "Makefile"):
            shutil.copy(ROOT / name, self.path)
        self._make_environment(self.path / ".venv")
        home = path / "home"
        home.mkdir()
        self.env = {
            "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(home),
            "TEST_OF_PITSTOP": self.mark,
            "PROMPT_TOOLKIT_NO_CPR": "1",  # there is nobody here who would tell where the cursor is
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "SHELL": "/bin/bash",
        }

    def runs(self, command: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """A line that is typed into a shell, without a terminal; both streams are in `stdout`."""
        return subprocess.run(
            ["bash", "-c", command],
            cwd=self.path,
            env={**self.env, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=SECONDS,
            check=False,
        )

    def files(self) -> dict[str, bytes]:
        """Every file that git would know, with what is in it."""
        folder = self.path / "examples"
        found = sorted(path for path in folder.rglob("*") if path.is_file())
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}

    def left_running(self) -> dict[int, str]:
        return left_running(self.mark)

    def _make_environment(self, venv: Path) -> None:
        command = venv / "bin" / "pitstop"
        command.parent.mkdir(parents=True)
        command.write_text(f"#!{sys.executable}\nfrom pitstop.__main__ import main\n\nmain()\n")  # as pip writes it
        command.chmod(0o755)
        (command.parent / "python").symlink_to(sys.executable)
        for name in ("requirements.lock", "pyproject.toml"):
            os.utime(self.path / name, (0, 0))
        (venv / ".stamp").touch()


class Person:
    """Somebody at a terminal, who types a command into a shell and reads before they type on."""

    def __init__(self, clone: Clone, command: str) -> None:
        self._clone = clone
        self._child = pexpect.spawn(
            "bash",
            ["-c", command],
            cwd=clone.path,
            env=clone.env,
            dimensions=(50, 140),
            encoding="utf-8",
            timeout=SECONDS,
        )
        self._raw = ""
        self._seen = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.close(force=True)
        if kind is None:
            assert self._clone.left_running() == {}

    @property
    def said(self) -> str:
        return _ESCAPES.sub("", self._raw)

    def reads(self, *texts: str) -> str:
        """Wait for each of the texts, in this order; gives what was said up to the last."""
        begin, deadline = self._seen, time.monotonic() + SECONDS
        for text in texts:
            while (found := self.said.find(text, self._seen)) < 0:
                try:
                    self._raw += self._child.read_nonblocking(4096, max(0.0, deadline - time.monotonic()))
                except (pexpect.TIMEOUT, pexpect.EOF) as error:
                    raise AssertionError(f"{text!r} did not come after:\n{self.said[self._seen :]}") from error
            self._seen = found + len(text)
        return self.said[begin : self._seen]

    def enters(self, line: str) -> None:
        self._child.send(f"{line}\r")

    def types(self, keys: str) -> None:
        self._child.send(keys)

    def ends_shell(self) -> None:
        """Ctrl-D, once the shell reads every key: before that it would be the terminal's, and the shell get a NUL."""
        self.enters("PS1='rea''dy> '")
        self.reads("ready> ")
        self.types(CTRL_D)

    def leaves(self) -> int:
        """Wait for the end of the command, and give its exit code."""
        while True:
            try:
                self._raw += self._child.read_nonblocking(4096, SECONDS)
            except pexpect.EOF:
                break
        self._child.wait()
        assert self._child.exitstatus is not None, f"it was killed by signal {self._child.signalstatus}"
        return self._child.exitstatus


@contextmanager
def serving(clone: Clone, **environment: str) -> Iterator[str]:
    """The URL of a server in a process of its own; it leaves nothing running."""
    mark = uuid4().hex
    words = (sys.executable, "-m", "pitstop", "up", "--no-browser", "--port", "0")
    with subprocess.Popen(
        words,
        cwd=clone.path,
        env={**clone.env, "TEST_OF_PITSTOP": mark, **environment},
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            assert server.stdout is not None
            found = re.search(r"http://\S+", server.stdout.readline())
            assert found is not None
            yield found[0].rstrip("/")
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(SECONDS)
    assert left_running(mark) == {}
