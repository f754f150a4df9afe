"""The live tree, in a true terminal."""

import os
import re
import shlex
import signal
from collections.abc import Mapping

import pexpect
import pytest

from tests.doors.cli.command_line import PITSTOP, CommandLine
from tests.patience import PATIENCE_SECONDS

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A terminal with the command in it."""

    def __init__(self, cli: CommandLine, *words: str, rows: int = 30, env: Mapping[str, str] | None = None) -> None:
        command, *arguments = cli.command(*words)
        self.child = pexpect.spawn(
            command,
            arguments,
            cwd=str(cli.folder),
            env={**cli.environment, "TERM": "xterm-256color", "COLUMNS": "100", **(env or {})},
            dimensions=(rows, 100),
            encoding="utf-8",
            timeout=PATIENCE_SECONDS,
        )

    def wait(self) -> tuple[int | None, list[str]]:
        """The exit code, and the lines that stay in the end."""
        self.child.expect(pexpect.EOF)
        self.child.close()
        shown = ESCAPES.sub("", str(self.child.before))
        return self.child.exitstatus, [line.rstrip() for line in shown.split("\r\n") if line.strip()]


def test_the_tree_stays_in_the_end_with_state_time_and_last_line(cli: CommandLine) -> None:
    cli.write(
        "flow.yaml",
        """\
        name: shop
        steps:
          - {id: build, run: "echo compiling; echo built"}
          - parallel: [{id: lint, run: echo clean}, {id: tests, run: echo testing; exit 1}]
          - {id: never, run: make}
        """,
    )

    code, lines = Terminal(cli, "run", "flow.yaml").wait()

    assert code == 1
    text = "\n".join(lines)
    assert re.search(r"✔ build  \d+(\.\d)? s  built", text)
    assert re.search(r"  ✔ lint  \d+(\.\d)? s  clean", text)
    assert re.search(r"  ✘ tests  \d+(\.\d)? s  exit code 1", text)
    assert re.search(r"○ never$", text, re.MULTILINE)
    assert lines[-4:-2] == ["2.tests failed (flow.yaml:4): exit code 1", "  | testing"]
    assert lines[-1] == f"debug it: {shlex.join(PITSTOP)} debug flow.yaml --from 2.tests"


def test_what_runs_at_the_same_time_is_shown_side_by_side(cli: CommandLine) -> None:
    cli.write(
        "flow.yaml",
        """\
        steps:
          - matrix: {db: [sqlite, postgres]}
            parallel: true
            steps: [{id: e2e, run: "echo on ${{ .matrix.db }}; while [ ! -e go ]; do sleep 0.05; done"}]
        """,
    )
    terminal = Terminal(cli, "run", "flow.yaml")

    terminal.child.expect(r"on sqlite[^\r\n]*on postgres")
    cli.write("go", "")
    code, lines = terminal.wait()

    assert code == 0
    assert any("✔ db=sqlite" in line for line in lines)
    assert any("✔ db=postgres" in line for line in lines)


def test_a_tree_that_is_longer_than_the_terminal_shows_what_runs(cli: CommandLine) -> None:
    steps = "\n".join(f"  - {{id: s{number}, run: 'true'}}" for number in range(40))
    cli.write("flow.yaml", f"steps:\n{steps}\n  - {{id: now, run: 'while [ ! -e go ]; do sleep 0.05; done'}}\n")
    terminal = Terminal(cli, "run", "flow.yaml", rows=12)

    terminal.child.expect(r"… \d+ above")
    terminal.child.expect("now")
    cli.write("go", "")
    code, lines = terminal.wait()

    assert code == 0
    assert any("✔ s0 " in line for line in lines)


@pytest.mark.parametrize("key", ["\x03", None])
def test_ctrl_c_ends_the_run_and_leaves_the_terminal_as_it_was(cli: CommandLine, key: str | None) -> None:
    cli.write("flow.yaml", "steps: [{id: nap, run: 'echo napping; exec sleep 1000'}]")
    terminal = Terminal(cli, "run", "flow.yaml")
    terminal.child.expect("napping")

    if key is None:
        terminal.child.kill(signal.SIGTERM)
    else:
        terminal.child.send(key)
    terminal.child.expect(r"\x1b\[\?25h")  # the cursor is back
    code, lines = terminal.wait()

    assert code == 130
    assert any("■ nap" in line for line in lines)
    assert lines[-1].startswith("flow cancelled after ")


def test_a_person_can_approve(cli: CommandLine) -> None:
    cli.write("flow.yaml", "steps: [{id: ask, approve: Ship it?}, {run: echo shipped}]")
    terminal = Terminal(cli, "run", "flow.yaml")
    terminal.child.expect("answer y or n")

    terminal.child.sendline("maybe")
    terminal.child.expect("Answer y or n")
    terminal.child.sendline("y")
    code, lines = terminal.wait()

    assert code == 0
    assert any("shipped" in line for line in lines)


def test_a_stop_hands_the_terminal_to_the_debugger(cli: CommandLine) -> None:
    cli.write("flow.yaml", "steps: [{id: first, run: 'true'}, {id: tests, run: 'test -e repaired'}]")
    terminal = Terminal(cli, "run", "flow.yaml", "--debug-on-error")

    terminal.child.expect("stop 1")
    terminal.child.expect("main")
    cli.write("repaired", "")
    terminal.child.sendline("retry")
    terminal.child.expect("passed")
    code, _ = terminal.wait()

    assert code == 0


# Interrupts the command when it begins to load what the prompt is made of
INTERRUPTING = """\
    import os, signal, sys

    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name == "pitstop.doors.cli.debug.steering":
                os.kill(os.getpid(), signal.SIGINT)

    sys.meta_path.insert(0, Finder())
    """


def test_ctrl_c_on_the_way_to_the_debugger_ends_the_run_and_cleans_up(cli: CommandLine) -> None:
    cli.write("flow.yaml", "steps: [{id: tests, run: exit 3}]\ncleanup: [{id: tidy, run: echo > tidied}]")
    interrupting = cli.write("interrupting/sitecustomize.py", INTERRUPTING).parent
    path = f"{interrupting}:{os.environ.get('PYTHONPATH', '')}"

    code, lines = Terminal(cli, "run", "flow.yaml", "--debug-on-error", env={"PYTHONPATH": path}).wait()

    assert code == 130
    assert "■ the run was cancelled" in lines
    assert (cli.folder / "tidied").exists()


def test_plain_lines_can_be_had_in_a_terminal_too(cli: CommandLine) -> None:
    cli.write("flow.yaml", "steps: [{id: greet, run: echo hello}]")

    code, lines = Terminal(cli, "run", "flow.yaml", "--plain").wait()

    assert code == 0
    assert lines[:3] == ["flow started", "greet started: echo hello", "greet | hello"]
