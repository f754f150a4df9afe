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
from pitstop.errors import BadCommand
from pitstop.service.caller import LOCAL
from pitstop.service.workspaces import ShellMode, Terminal

READ_BYTES = 64 * 1024
MARK = b"\x1e"  # a control character that nobody types, around what a command says
SHELLS: dict[ShellMode, str] = {
    "shell": "shell in the workspace of {}, with its environment",
    "sidecar": "read-only shell in the workspace of {}",
}
_EXIT_CODE = re.compile(rb"\x1e(\d+)\x1e")


async def open_shell(mode: ShellMode, console: Console, command: str | None) -> None:
    """A shell on the person's terminal, or one command and what it says. The run goes on meanwhile, unseen."""
    stop = console.stopped()
    size = _size()
    if command is not None:
        terminal = await _open(console, stop.id, mode, size)
        try:
            await _run_command(console, terminal, command)
        finally:
            await terminal.close()
        return
    if not sys.stdin.isatty():
        raise BadCommand("sh: there is no terminal for a shell; pass a command: sh make test")
    terminal = await _open(console, stop.id, mode, size)
    told = f"{SHELLS[mode].format(stop.occurrence)}; exit or Ctrl-D returns, @help lists commands"
    console.screen.say(Text(told, style="dim"))
    with console.screen.held():
        try:
            await join_terminals(terminal, sys.stdin.fileno(), sys.stdout.fileno(), size)
        finally:
            await terminal.close()
    if console.record is not None:
        console.screen.say(Text("saved the recording as an artifact in shells/", style="dim"))


async def _open(console: Console, stop: int, mode: ShellMode, size: tuple[int, int]) -> Terminal:
    rows, cols = size
    workspaces = console.service.workspaces
    return await workspaces.shell(LOCAL, console.run.id, stop, mode=mode, rows=rows, cols=cols, record=console.record)


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
        loop.add_signal_handler(signal.SIGWINCH, lambda: shell.resize(*_size()))
        if _size() != size:  # nobody heard of that while the shell was opened
            shell.resize(*_size())
        try:
            async with asyncio.TaskGroup() as group:
                typing = group.create_task(type_keys())
                while said := await shell.read():
                    _write_all(stdout, said)
                typing.cancel()
        finally:
            loop.remove_reader(stdin)
            loop.remove_signal_handler(signal.SIGWINCH)


async def _run_command(console: Console, shell: Terminal, command: str) -> None:
    """Type one command, and tell what it says between two marks: without the echo and the shell's own prompt."""
    quoted = shlex.quote(command)
    await shell.write(f" printf '\\036'; sh -c {quoted}; printf '\\036%d\\036' $?; exec true\n".encode())
    said = b""
    while not _EXIT_CODE.search(said) and (more := await shell.read()):
        said += more
    told, _, rest = said.partition(MARK)[2].partition(MARK)
    for line in told.decode(errors="replace").replace("\r\n", "\n").splitlines():
        console.screen.say(Text.from_ansi(line))
    exit_code = rest.partition(MARK)[0].decode()
    if exit_code != "0":
        console.screen.say(Text(f"exit code {exit_code or 'unknown'}", style="yellow"))


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


def _size() -> tuple[int, int]:
    try:
        size = os.get_terminal_size(sys.stdout.fileno())
    except OSError:  # it is no terminal
        return 24, 80
    return size.lines, size.columns
