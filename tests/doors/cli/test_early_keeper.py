"""The keeper that the command line forks before it loads anything else: there in time, in nobody's way, never left."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.doors.cli.command_line import CommandLine
from tests.executors.processes import descendants_of, parent_of, wait_ended
from tests.patience import PATIENCE_SECONDS

FLOW = "steps: [{run: echo done}]"


class Held:
    """A command that waits for its inputs, and so has forked its keeper and not used it yet."""

    def __init__(self, cli: CommandLine, *words: str, pass_fds: Sequence[int] = ()) -> None:
        cli.write("flow.yaml", FLOW)
        self._inputs = cli.folder / "inputs.yaml"
        os.mkfifo(self._inputs)
        self.process = subprocess.Popen(
            cli.command("run", "flow.yaml", "--inputs", self._inputs.name, *words),
            cwd=cli.folder,
            env={**cli.environment, "A_SECRET": "hidden"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            pass_fds=pass_fds,
        )
        self._writer = wait_for(self._open_inputs)

    def _open_inputs(self) -> int | None:
        try:
            return os.open(self._inputs, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # it does not read yet
            return None

    def children(self) -> list[int]:
        return [pid for pid in descendants_of(self.process.pid) if parent_of(pid) == self.process.pid]

    def go_on(self) -> tuple[int, str]:
        """Its exit code, and what it said."""
        os.write(self._writer, b"{}")
        os.close(self._writer)
        out, _ = self.process.communicate(timeout=PATIENCE_SECONDS)
        return self.process.returncode, out.decode()

    def kill(self) -> str:
        """What it said, to the end of its output."""
        self.process.kill()
        os.close(self._writer)
        out, _ = self.process.communicate(timeout=PATIENCE_SECONDS)
        return out.decode()


def wait_for(ask: Callable[[], int | None]) -> int:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (answer := ask()) is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return answer


def name_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").decode()


def wait_named(pid: int) -> None:
    """It has its name last of all."""
    wait_for(lambda: pid if name_of(pid) == "pitstop-keeper" else None)


def test_it_is_there_before_it_is_needed_and_used_when_it_is(cli: CommandLine) -> None:
    held = Held(cli)
    (keeper,) = held.children()
    wait_named(keeper)
    ended = os.pidfd_open(keeper)

    code, out = held.go_on()

    assert (code, "1 | done" in out) == (0, True)
    wait_ended(ended)


@pytest.mark.parametrize("words", [["--dry-run"], ["--server", "http://127.0.0.1:1"], ["--server=http://127.0.0.1:1"]])
def test_there_is_none_where_nothing_is_run_here(cli: CommandLine, words: list[str]) -> None:
    held = Held(cli, *words)

    assert held.children() == []
    held.kill()


def test_it_ends_with_a_pitstop_that_is_killed_before_it_has_used_it(cli: CommandLine) -> None:
    held = Held(cli)
    (keeper,) = held.children()
    ended = os.pidfd_open(keeper)

    held.kill()

    wait_ended(ended)


def test_it_ends_with_a_pitstop_that_has_no_use_for_it(cli: CommandLine) -> None:
    said = cli.run("run", "no-such.yaml")  # which looks for whatever is left, too

    assert said.code == 2


def test_one_that_was_killed_before_it_was_used_is_replaced(cli: CommandLine) -> None:
    held = Held(cli)
    (keeper,) = held.children()
    os.kill(keeper, signal.SIGKILL)

    code, out = held.go_on()

    assert (code, "1 | done" in out) == (0, True)


def test_it_holds_nothing_of_what_pitstop_was_started_with(cli: CommandLine) -> None:
    theirs, ours = os.pipe()
    held = Held(cli, pass_fds=[ours])
    os.close(ours)
    (keeper,) = held.children()
    ended = os.pidfd_open(keeper)
    wait_named(keeper)
    folder, environment = Path(f"/proc/{keeper}/cwd").readlink(), Path(f"/proc/{keeper}/environ").read_bytes()
    os.kill(keeper, signal.SIGSTOP)  # so that it outlives Pitstop

    assert held.kill() == ""  # as `pitstop run … | cat` reads it: to its end, which must not wait for the keeper
    assert os.read(theirs, 1) == b""
    assert (folder, b"hidden" in environment) == (Path("/"), False)
    os.close(theirs)
    os.kill(keeper, signal.SIGCONT)
    wait_ended(ended)


def test_signals_to_everything_that_is_called_pitstop_end_the_run_in_order(cli: CommandLine) -> None:
    napping = "echo $PPID > supervisor; trap 'echo bye; exit 0' TERM; echo ready; sleep 1000 & wait"
    cli.write("flow.yaml", f'steps: [{{id: nap, run: "{napping}"}}]\ncleanup: [{{run: echo cleaned}}]')
    started = cli.start("run", "flow.yaml")
    started.read_until("nap | ready")
    supervisor = int((cli.folder / "supervisor").read_text())

    for pid in (parent_of(supervisor), supervisor):
        os.kill(pid, signal.SIGTERM)
        os.kill(pid, signal.SIGHUP)
    started.send(signal.SIGTERM)
    said = started.wait()

    assert said.code == 130
    assert "nap | bye" in said.lines
    assert "cleanup-1 | cleaned" in said.lines
