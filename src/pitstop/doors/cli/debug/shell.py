"""The person's terminal joined to a shell in the workspace: keys go in, the screen comes out, until the shell ends."""

import asyncio
import os
import re
import shlex
import signal
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager

from rich.text import Text

from pitstop.doors.cli.debug.console import Console
from pitstop.doors.cli.debug.screen import Screen
from pitstop.errors import BadCommand
from pitstop.service.caller import LOCAL
from pitstop.service.workspaces import ShellMode, ShellPlace, Terminal

READ_BYTES = 64 * 1024
UNKNOWN_EXIT_CODE = 255  # of a command whose shell ended first
MARK = b"\x1e"  # a control character that nobody types, around what a command says
_RETURNS = "exit or Ctrl-D returns, @help lists commands"
SHELLS: dict[ShellMode, str] = {
    "shell": f"shell in the workspace of {{}}, with its environment; {_RETURNS}",
    "sidecar": f"read-only shell in the workspace of {{}}; {_RETURNS}",
    "step": "the command of {} in this terminal; its exit code is the result of the step",
}
_EXIT_CODE = re.compile(rb"\x1e(\d+)\x1e")


async def open_shell(mode: ShellMode, console: Console, command: str | None) -> None:
    """A shell on the user's terminal, or one command and its output. The run goes on meanwhile, unseen."""
    if (mode, command) == ("shell", "step"):
        mode, command = "step", None
    place, occurrence = await _place(console)
    size = terminal_size()
    if command is not None:
        terminal = await _open(console, place, mode, size)
        try:
            exit_code = await run_command(console.screen, terminal, command)
        finally:
            await terminal.close()
        if exit_code:
            console.screen.say(Text(f"exit code {exit_code}", style="yellow"))
        return
    if not sys.stdin.isatty():
        way_out = "`next` runs the step without one" if mode == "step" else "pass a command: sh make test"
        raise BadCommand(f"sh: there is no terminal for a shell; {way_out}")
    terminal = await _open(console, place, mode, size)
    console.screen.say(Text(SHELLS[mode].format(occurrence), style="dim"))
    if mode == "step":
        console.drop_output(occurrence)
    with console.screen.held():
        try:
            await use_terminal(terminal, size)
        finally:
            await terminal.close()
    if console.record is not None:
        console.screen.say(Text("saved the recording as an artifact in shells/", style="dim"))


async def _place(console: Console) -> tuple[ShellPlace, str]:
    """Where the selected frame is, and the occurrence there: its stop, or the step that it runs."""
    await console.look()
    frame = next((each for each in console.state.frames if each.id == console.frame), None)
    if console.stop is None and frame is not None and frame.occurrence and frame.state in ("running", "pausing"):
        return frame.occurrence, frame.occurrence
    stop = console.stopped()
    return stop.id, stop.occurrence


async def _open(console: Console, place: ShellPlace, mode: ShellMode, size: tuple[int, int]) -> Terminal:
    rows, cols = size
    workspaces = console.service.workspaces
    return await workspaces.shell(LOCAL, console.run.id, place, mode=mode, rows=rows, cols=cols, record=console.record)


async def use_terminal(shell: Terminal, size: tuple[int, int]) -> None:
    """Let the user work in a shell, on the terminal of this process, until it ends."""
    await join_terminals(shell, sys.stdin.fileno(), sys.stdout.fileno(), size)


async def join_terminals(shell: Terminal, stdin: int, stdout: int, size: tuple[int, int]) -> None:
    """Pass bytes both ways until the shell ends; its window, of this size now, follows the person's terminal."""
    loop = asyncio.get_running_loop()
    typed: asyncio.Queue[bytes] = asyncio.Queue()

    async def type_keys() -> None:
        while keys := await typed.get():
            await shell.write(keys)
        loop.remove_reader(stdin)
        await shell.close()  # the person's terminal is gone

    sys.stdout.flush()
    with _raw(stdin):
        loop.add_reader(stdin, lambda: typed.put_nowait(_read(stdin)))
        loop.add_signal_handler(signal.SIGWINCH, lambda: shell.resize(*terminal_size()))
        if terminal_size() != size:  # it was resized while the shell was opened
            shell.resize(*terminal_size())
        try:
            async with asyncio.TaskGroup() as group:
                typing = group.create_task(type_keys())
                while said := await shell.read():
                    _write_all(stdout, said)
                typing.cancel()
        finally:
            loop.remove_reader(stdin)
            loop.remove_signal_handler(signal.SIGWINCH)


async def run_command(screen: Screen, shell: Terminal, command: str) -> int:
    """Type one command, and show its output without the echo and the shell's own prompt. Returns its exit code."""
    quoted = shlex.quote(command)
    await shell.write(f" printf '\\036'; sh -c {quoted}; printf '\\036%d\\036' $?; exec true\n".encode())
    said = b""
    while not _EXIT_CODE.search(said) and (more := await shell.read()):
        said += more
    told, _, rest = said.partition(MARK)[2].partition(MARK)
    for line in told.decode(errors="replace").replace("\r\n", "\n").splitlines():
        screen.say(Text.from_ansi(line))
    exit_code = rest.partition(MARK)[0]
    return int(exit_code) if exit_code.isdigit() else UNKNOWN_EXIT_CODE


@contextmanager
def _raw(fd: int) -> Iterator[None]:
    """Every key as it is pressed, Ctrl-C too; the terminal is put back as it was, whatever happens."""
    before = termios.tcgetattr(fd)
    tty.setraw(fd)
    try:
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, READ_BYTES)
    except OSError:  # the terminal is gone
        return b""


def _write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def terminal_size() -> tuple[int, int]:
    try:
        size = os.get_terminal_size(sys.stdout.fileno())
    except OSError:  # it is no terminal
        return 24, 80
    return size.lines or 24, size.columns or 80  # a terminal that was given no size has 0 of both
