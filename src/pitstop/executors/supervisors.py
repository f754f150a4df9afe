"""Pitstop's end of the sockets to its supervisors: commands are handed over, and their growth and end are heard.

Supervisors are used again, so a flow of many steps pays for as many as it has commands at the same time. Nothing here
waits in a task: the event loop calls back when a supervisor has something to say.
"""

import asyncio
import contextlib
import marshal
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from pitstop.executors.spawn import Request
from pitstop.executors.supervisor import End

# The keeper is started without the `__init__` of the package, which brings in the whole public API.
KEEPER = """
import sys
pitstop = type(sys)("pitstop")
pitstop.__path__ = [sys.argv[1]]
sys.modules["pitstop"] = pitstop
from pitstop.executors.keeper import main
main(int(sys.argv[2]))
"""
PACKAGE = str(Path(__file__).parents[1])
IDLE_SUPERVISORS = 8
MESSAGE_BYTES = 64 * 1024


class Supervised:
    """A command in the hands of a supervisor. `ended` has its end, or None if the supervisor was lost."""

    def __init__(self, log: str) -> None:
        self.log = log
        self.ended: asyncio.Future[End | None] = asyncio.get_running_loop().create_future()
        self._supervisor: _Supervisor | None = None
        self._grew = asyncio.Event()
        self._watched = True  # the first growth is told without asking
        self.has_log = False

    async def wait_ended(self) -> End | None:
        return self.ended.result() if self.ended.done() else await asyncio.shield(self.ended)

    async def wait_grown(self, size: int) -> None:
        """Wait until the log is larger than `size`, or the command has ended."""
        if self._supervisor is None:
            return
        if not self._watched:
            self._watched = True
            self._supervisor.send("watch", size)
        await self._grew.wait()

    def cancel(self, grace_seconds: float, ending: str) -> None:
        if self._supervisor is not None:
            self._supervisor.send("cancel", grace_seconds, ending)

    def taken_by(self, supervisor: "_Supervisor") -> None:
        self._supervisor = supervisor

    def notice_growth(self) -> None:
        self.has_log = True
        self._watched = False
        self._grew.set()  # who waits now goes on,
        self._grew.clear()  # and who comes later waits

    def notice_end(self, end: End | None) -> None:
        self._supervisor = None
        if not self.ended.done():
            self.ended.set_result(end)
        self._grew.set()


class Supervisors:
    """The keeper, and the supervisors that it forked for us."""

    def __init__(self) -> None:
        self._keeper: subprocess.Popen[bytes] | None = None
        self._keeper_socket: socket.socket | None = None
        self._all: set[_Supervisor] = set()
        self._idle: list[_Supervisor] = []

    def start(self, request: Request, inherited: Sequence[int] = ()) -> Supervised:
        """Hand the request to a supervisor. What is inherited is the input, or the inner side of a terminal."""
        command = Supervised(request.log)
        while self._idle:
            supervisor = self._idle.pop()
            with contextlib.suppress(ConnectionError):  # it was killed, and its end has not been heard yet
                supervisor.start(command, request, inherited)
                return command
        self._fork_supervisor().start(command, request, inherited)
        return command

    async def close(self) -> None:
        """Close every socket, which ends whatever runs, and wait for the last process to be gone."""
        for supervisor in [*self._all]:
            supervisor.close()
        if self._keeper_socket is not None and self._keeper is not None:
            self._keeper_socket.close()
            await _wait_ended(self._keeper)
            self._keeper = self._keeper_socket = None

    def take_back(self, supervisor: "_Supervisor") -> None:
        """It has nothing to do any more."""
        if len(self._idle) < IDLE_SUPERVISORS:
            self._idle.append(supervisor)
        else:
            supervisor.close()

    def forget(self, supervisor: "_Supervisor") -> None:
        self._all.discard(supervisor)
        if supervisor in self._idle:
            self._idle.remove(supervisor)

    def _fork_supervisor(self) -> "_Supervisor":
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                socket.send_fds(self._start_keeper(), [b"fork"], [theirs.fileno()])
            except ConnectionError:  # it was killed
                self._reap_keeper()
                socket.send_fds(self._start_keeper(), [b"fork"], [theirs.fileno()])
        supervisor = _Supervisor(self, ours)
        self._all.add(supervisor)
        return supervisor

    def _start_keeper(self) -> socket.socket:
        if self._keeper_socket is None:
            self._keeper_socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                self._keeper = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-c", KEEPER, PACKAGE, str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    cwd="/",
                    env={},
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,  # the terminal's Ctrl-C is for Pitstop, which then cancels in order
                )
        return self._keeper_socket

    def _reap_keeper(self) -> None:
        if self._keeper is not None and self._keeper_socket is not None:
            self._keeper_socket.close()
            self._keeper.wait()
            self._keeper = self._keeper_socket = None


class _Supervisor:
    """One supervisor and the command that it has, if any."""

    def __init__(self, pool: Supervisors, control: socket.socket) -> None:
        self._pool = pool
        self._loop = asyncio.get_running_loop()
        self._control = control
        self._command: Supervised | None = None
        control.setblocking(False)
        self._loop.add_reader(control, self._hear)

    def start(self, command: Supervised, request: Request, inherited: Sequence[int]) -> None:
        memory_file = os.memfd_create("request")
        try:
            os.write(memory_file, request.packed())
            socket.send_fds(self._control, [b"start"], [memory_file, *inherited])
        finally:
            os.close(memory_file)
        self._command = command
        command.taken_by(self)

    def send(self, *message: str | float) -> None:
        with contextlib.suppress(ConnectionError):  # its end is heard next
            self._control.send(marshal.dumps(message))

    def close(self) -> None:
        self._loop.remove_reader(self._control)
        self._control.close()
        self._pool.forget(self)
        if self._command is not None:
            self._command.notice_end(None)
            self._command = None

    def _hear(self) -> None:
        try:
            packet = self._control.recv(MESSAGE_BYTES)
        except ConnectionResetError:
            packet = b""
        if not packet or self._command is None:
            self.close()
            return
        verb, *details = marshal.loads(packet)
        if verb == "grew":
            self._command.notice_growth()
            return
        command, self._command = self._command, None
        end = End(**details[0])
        if end.out_of_reach:
            self.close()
        else:
            self._pool.take_back(self)
        command.notice_end(end)


async def _wait_ended(process: subprocess.Popen[bytes]) -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    pidfd = os.pidfd_open(process.pid)
    loop.add_reader(pidfd, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(pidfd)
        os.close(pidfd)
    process.wait()
