"""A bench for `pitstop debug`: the real command, at a terminal of its own or without any."""

import re
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self
from uuid import uuid4

import pexpect

from tests.executors.processes import left_running

PITSTOP = (sys.executable, "-m", "pitstop")
COMMAND = (*PITSTOP, "debug")
SECONDS = 90  # a busy machine may stand still for a while
CTRL_C, CTRL_D, TAB, UP = "\x03", "\x04", "\t", "\x1b[A"
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|[=>()][A-Z0-9]?|7|8)|[\r\x00]")

SHOP = """\
name: shop
inputs:
  region: {default: eu}
vars:
  retries: 2
steps:
  - id: deps
    name: Install
    run: echo "price = 10" > shop.conf; echo installed
  - id: checks
    parallel:
      - id: lint
        run: echo "linting in ${{ .inputs.region }}"
      - id: tests
        run: |
          grep -q "price = 12" shop.conf || { echo "the price is wrong" >&2; exit 3; }
          echo "the price is right"
  - id: package
    run: echo "tag=v1" >> "$PITSTOP_OUTPUT"
cleanup:
  - id: tidy
    run: echo tidying up
"""
WAITING = """\
steps:
  - {id: slow, run: cat fifo}
  - {id: after, run: 'true'}
cleanup:
  - {id: tidy, run: 'true'}
"""


class Folder:
    """A folder with a flow in it, whose processes can be told from all others."""

    def __init__(self, path: Path, flow: str = SHOP) -> None:
        self.path = path
        self.mark = uuid4().hex
        (path / "ci.yaml").write_text(flow)
        self.env = {
            "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(path),
            "PITSTOP_HOME": str(path / "state"),
            "TEST_OF_PITSTOP": self.mark,
            "PROMPT_TOOLKIT_NO_CPR": "1",  # there is nobody here who would tell where the cursor is
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
        }

    def left_running(self) -> dict[int, str]:
        return left_running(self.mark)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """The command without a terminal."""
        return self.run_flow("ci.yaml", *words)

    def run_flow(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, *words],
            cwd=self.path,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=SECONDS,
            check=False,
        )

    def script(self, *commands: str, code: int = 0, options: tuple[str, ...] = ()) -> str:
        """What is said to a list of commands."""
        ended = self.run(*(word for command in commands for word in ("-c", command)), *options)
        assert (ended.returncode, ended.stderr) == (code, ""), ended.stdout + ended.stderr
        assert self.left_running() == {}
        return ended.stdout


class Person:
    """Somebody at a terminal, who reads before they type."""

    def __init__(self, folder: Folder, *words: str) -> None:
        self.folder = folder
        program, *argv = (*PITSTOP, *(words or ("debug", "ci.yaml")))
        self._child = pexpect.spawn(
            program, argv, cwd=folder.path, env=folder.env, dimensions=(40, 120), encoding="utf-8", timeout=SECONDS
        )
        self.said = ""  # without escape sequences
        self._seen = 0  # how much of it has been read
        self._begun = ""  # an escape sequence that has not ended

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.close(force=True)
        if kind is None:
            assert self.folder.left_running() == {}

    def _hear(self, seconds: float) -> None:
        raw = self._begun + self._child.read_nonblocking(65536, seconds)
        last = raw.rfind("\x1b")
        end = last if last >= 0 and not _ESCAPES.match(raw, last) else len(raw)
        self.said += _ESCAPES.sub("", raw[:end])
        self._begun = raw[end:]

    def reads(self, *texts: str) -> str:
        """Wait for each of the texts, in this order; gives what was said up to the last."""
        begin = self._seen
        deadline = time.monotonic() + SECONDS
        for text in texts:
            while (found := self.said.find(text, self._seen)) < 0:
                try:
                    self._hear(max(0.0, deadline - time.monotonic()))
                except (pexpect.TIMEOUT, pexpect.EOF) as error:
                    raise AssertionError(f"{text!r} did not come after:\n{self.said[self._seen :]}") from error
            self._seen = found + len(text)
        return self.said[begin : self._seen]

    def types(self, keys: str) -> None:
        self._child.send(keys)

    def ends_shell(self) -> None:
        """Ctrl-D, once the shell reads every key: before that it would be the terminal's, and the shell get a NUL."""
        self.enters("PS1='rea''dy> '")
        self.reads("ready> ")
        self.types(CTRL_D)

    def enters(self, line: str) -> None:
        self._child.send(f"{line}\r")

    def resizes(self, rows: int, cols: int) -> None:
        self._child.setwinsize(rows, cols)

    def leaves(self) -> int:
        """Wait for the end of the command, and give its exit code. The terminal is as it was."""
        while True:
            try:
                self._hear(SECONDS)
            except pexpect.EOF:
                break
        return int(self._child.wait() or 0)
