"""Pitstop's end of the sockets to its supervisors: commands are handed over, and their growth and end are heard.

Supervisors are used again, so a flow of many steps pays for as many as it has commands at the same time. Nothing here
waits in a task: the event loop calls back when a supervisor has something to say.
"""

import asyncio
import contextlib
import marshal
import os
import socket
import time
from collections.abc import Callable, Sequence

from pitstop.executors.machine.processes.keeper_process import KeeperProcess
from pitstop.executors.machine.processes.live_input import LiveInput
from pitstop.executors.machine.processes.spawn import EXIT_NOT_EXECUTABLE, Request
from pitstop.executors.machine.processes.supervisor import End
from pitstop.executors.machine.spill import STDERR, SpillWriter
from pitstop.executors.machine.workspaces.epoch import Epoch

IDLE_SUPERVISORS = 8
BEAT_SECONDS = 1.0
BEATS_IN_LEASE = 5
MESSAGE_BYTES = 64 * 1024


class Supervised:
    """A command in the hands of a supervisor. `ended` has its end, or None if the supervisor was lost."""

    def __init__(self, log: str) -> None:
        self.log = log
        self.ended: asyncio.Future[End | None] = asyncio.get_running_loop().create_future()
        self.input: LiveInput | None = None
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

    def disown(self) -> None:
        """Do not store how it ends."""
        if self._supervisor is not None:
            self._supervisor.send("disown")

    def taken_by(self, supervisor: "_Supervisor") -> None:
        self._supervisor = supervisor

    def notice_growth(self) -> None:
        self.has_log = True
        self._watched = False
        self._grew.set()  # who waits now goes on,
        self._grew.clear()  # and who comes later waits

    def notice_end(self, end: End | None) -> None:
        self._supervisor = None
        if self.input is not None:
            self.input.abort()
        if not self.ended.done():
            self.ended.set_result(end)
        self._grew.set()


def refused(log: str, reason: str) -> Supervised:
    """A command that was not even given to a supervisor."""
    now = time.time()
    writer = SpillWriter(log)
    writer.append(STDERR, now, f"pitstop: {reason}\n".encode())
    writer.close()
    command = Supervised(log)
    command.notice_growth()
    command.notice_end(End(exit_code=EXIT_NOT_EXECUTABLE, reason=reason, started_at=now, ended_at=now))
    return command


def ended_before(log: str) -> Supervised:
    """A command that ended under a former holder of the workspace."""
    command = Supervised(log)
    command.notice_growth()
    command.notice_end(None)
    return command


class Supervisors:
    """The keeper, and the supervisors that it forked for us.

    With a lease the keeper hears from us several times in it. When it did not, because this process or its loop stood
    still, it has ended everything, and `on_lapse` is called.
    """

    def __init__(
        self,
        lease_seconds: float | None,
        on_lapse: Callable[[], None],
        new_keeper: Callable[[], KeeperProcess],
    ) -> None:
        self._lease_seconds = lease_seconds
        self._on_lapse = on_lapse
        self._new_keeper = new_keeper
        self._epoch: Epoch | None = None
        self._keeper: KeeperProcess | None = None
        self._keeper_socket: socket.socket | None = None
        self._next_beat: asyncio.TimerHandle | None = None
        self._all: set[_Supervisor] = set()
        self._idle: list[_Supervisor] = []

    def begin(self, epoch: Epoch) -> None:
        """Commands from now on belong to this epoch. Raises OSError if the keeper cannot be told."""
        if self._epoch is not None and self._epoch.path == epoch.path:
            return
        self._epoch = epoch
        if self._keeper_socket is not None:
            self._tell_epoch(self._keeper_socket, epoch)
        elif self._lease_seconds is not None:
            self._start_keeper()

    @property
    def can_start(self) -> bool:
        """Whether commands can be started: with a lease, there must be a keeper once an epoch has begun."""
        return self._lease_seconds is None or self._epoch is None or self._keeper is not None

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

    def start_with_live_input(self, request: Request) -> Supervised:
        theirs, ours = os.pipe()
        try:
            command = self.start(request, [theirs])
        except OSError:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        command.input = LiveInput(ours)
        return command

    async def close(self) -> None:
        """Close every socket, which ends whatever runs, and wait for the last process to be gone."""
        for supervisor in [*self._all]:
            supervisor.close()
        if self._next_beat is not None:
            self._next_beat.cancel()
            self._next_beat = None
        self._epoch = None
        if self._keeper_socket is not None and self._keeper is not None:
            keeper, control = self._keeper, self._keeper_socket
            self._keeper = self._keeper_socket = None
            asyncio.get_running_loop().remove_reader(control)
            control.close()
            await _wait_ended(keeper)

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
            fork = marshal.dumps(("fork",))
            try:
                socket.send_fds(self._start_keeper(), [fork], [theirs.fileno()])
            except ConnectionError:  # it was killed
                self._reap_keeper()
                socket.send_fds(self._start_keeper(), [fork], [theirs.fileno()])
        supervisor = _Supervisor(self, ours)
        self._all.add(supervisor)
        return supervisor

    def _start_keeper(self) -> socket.socket:
        if self._keeper_socket is None:
            self._keeper = self._new_keeper()
            self._keeper_socket = socket.socket(fileno=self._keeper.control_fd)
            asyncio.get_running_loop().add_reader(self._keeper_socket, self._hear_keeper)
            if self._epoch is not None:
                self._tell_epoch(self._keeper_socket, self._epoch)
        return self._keeper_socket

    def _tell_epoch(self, keeper: socket.socket, epoch: Epoch) -> None:
        socket.send_fds(keeper, [marshal.dumps(("epoch", epoch.path, self._lease_seconds or 0.0))], [epoch.fd])
        if self._lease_seconds is not None and self._next_beat is None:
            self._beat()

    def _beat(self) -> None:
        """Tell the keeper that the loop goes round. One that was killed is replaced: there is to be one, always."""
        if self._lease_seconds is None:
            return
        interval = min(BEAT_SECONDS, self._lease_seconds / BEATS_IN_LEASE)
        self._next_beat = asyncio.get_running_loop().call_later(interval, self._beat)
        self._send_beat(self._lease_seconds)

    def _send_beat(self, lease_seconds: float) -> None:
        try:
            self._start_keeper().send(marshal.dumps(("beat", lease_seconds)), socket.MSG_DONTWAIT)
        except BlockingIOError:
            pass  # it has more of them than it can read
        except OSError:
            self._reap_keeper()

    def _hear_keeper(self) -> None:
        if self._keeper_socket is None:
            return
        try:
            packet = self._keeper_socket.recv(MESSAGE_BYTES, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except ConnectionError:
            packet = b""
        if packet:
            self._on_lapse()
        else:
            self._reap_keeper()

    def _reap_keeper(self) -> None:
        if self._keeper is not None and self._keeper_socket is not None:
            asyncio.get_running_loop().remove_reader(self._keeper_socket)
            self._keeper_socket.close()
            self._keeper.reap()
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


async def _wait_ended(keeper: KeeperProcess) -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    pidfd = os.pidfd_open(keeper.pid)
    loop.add_reader(pidfd, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(pidfd)
        os.close(pidfd)
    keeper.reap()
