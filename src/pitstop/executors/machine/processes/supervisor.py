"""The parent of one command at a time: it starts it, writes down what it says, and ends all of it.

A supervisor is a process of its own, forked by the keeper. It speaks with Pitstop in small packets:

    to the supervisor     file descriptors            a request in a memory file; the input or the terminal, if any
                          ("watch", size)             say `grew` when the log is larger than that
                          ("cancel", grace, ending)   TERM, so many seconds, KILL
                          ("disown",)                 do not store how it ends
    to Pitstop            ("grew",)                   the log has something new
                          ("ended", end)              nothing of the command is left

When the socket is closed, by Pitstop or by its death, everything is killed at once. How a command ended by itself is
stored before it is reported (`stored_ends.py`): the report may find no reader.
"""

import fcntl
import marshal
import os
import select
import struct
import time

from pitstop.executors.machine.bare import signal, socket, suppress
from pitstop.executors.machine.process_table import (
    children_of_this_process,
    file_of_out_of_memory_kills,
    out_of_memory_kills,
)
from pitstop.executors.machine.processes.spawn import NotStarted, Request, start_on_terminal, start_with_pipes
from pitstop.executors.machine.spill import STDERR, SpillWriter
from pitstop.executors.machine.workspaces.epoch import Epoch
from pitstop.executors.machine.workspaces.stored_ends import store_end

TYPE_CHECKING = False  # that of `typing`: the keeper need not wait for it
if TYPE_CHECKING:
    from collections.abc import Callable

PIPE_BYTES = 64 * 1024
FLOOD_BYTES = 1024 * 1024
MESSAGE_BYTES = 8 * 1024
DRAIN_SECONDS = 0.2  # for what still flows when the command has ended and left a child with its pipes
LEFTOVER_GRACE_SECONDS = 0.5
RESCAN_SECONDS = 0.05
NEVER = float("inf")
FD = struct.Struct("i")


class End:
    """What a supervisor saw of a command's end. `status` is None when it was not started, and `exit_code` tells why."""

    def __init__(
        self,
        *,
        status: int | None = None,
        exit_code: int | None = None,
        reason: str = "",
        ending: str = "",
        out_of_memory: bool = False,
        out_of_reach: list[int] | None = None,
        started_at: float = 0.0,
        ended_at: float = 0.0,
        duration_seconds: float = 0.0,
        image_digest: str | None = None,
    ) -> None:
        self.status = status
        self.exit_code = exit_code
        self.reason = reason
        self.ending = ending
        self.out_of_memory = out_of_memory
        self.out_of_reach = out_of_reach or []
        self.started_at = started_at
        self.ended_at = ended_at
        self.duration_seconds = duration_seconds
        self.image_digest = image_digest


def supervise(control: socket.socket, epoch: Epoch, slot: int) -> None:
    """Run one command after another, until the socket is closed. Each is noted in the slot of the epoch's file."""
    child_signals = _pipe_of_child_signals()
    kills = file_of_out_of_memory_kills()
    while (received := _receive_request(control)) is not None:
        request, inherited = received
        supervision = _Supervision(control, child_signals, kills, request)
        end = supervision.run(inherited, on_start=lambda pid: epoch.note(slot, pid))
        if request.stores_end and supervision.ended_by_itself:
            with suppress(OSError):  # a full disk: the command would run again if the report were lost
                store_end(request.log, {**vars(end), **(request.container or {})})
        epoch.note(slot, 0)
        try:
            control.send(marshal.dumps(("ended", vars(end))))
        except ConnectionError:
            return
        if end.out_of_reach:
            return  # what is left must not be taken for a part of the next command


class _Supervision:
    """One command, from its start until nothing of it is left."""

    def __init__(self, control: socket.socket, child_signals: int, kills: str, request: Request) -> None:
        self._control = control
        self._child_signals = child_signals
        self._kills = kills
        self._request = request
        self._poller = select.poll()
        self._log = SpillWriter(request.log)
        self._log_works = True
        self._watched_size: int | None = 0  # the first byte is told without being asked
        self._pipes: dict[int, int] = {}  # stream by file descriptor
        self._buffer = bytearray(PIPE_BYTES)
        self._pid = 0
        self._status: int | None = None
        self._over = False
        self._ending = ""
        self._is_disowned = False
        self._reason = ""
        self._look_at = NEVER  # when to look for children to signal
        self._term_at = NEVER
        self._kill_at = NEVER
        self._killed = False
        self._told: set[int] = set()
        self._out_of_reach: set[int] = set()

    def run(self, inherited: list[int], on_start: "Callable[[int], None]") -> End:
        kills_before = out_of_memory_kills(self._kills)
        started_at, started = time.time(), time.monotonic()
        exit_code = self._start(inherited)
        if exit_code is None:
            on_start(self._pid)
            self._watch()
            self._drain()
        self._log.close()
        os.chdir("/")
        killed_by_others = self._status == signal.SIGKILL and not self._killed
        return End(
            status=self._status,
            exit_code=exit_code,
            reason=self._reason,
            ending=self._ending,
            out_of_memory=killed_by_others and out_of_memory_kills(self._kills) > kills_before,
            out_of_reach=sorted(self._out_of_reach),
            started_at=started_at,
            ended_at=time.time(),
            duration_seconds=time.monotonic() - started,
        )

    @property
    def ended_by_itself(self) -> bool:
        """Whether its end is its own, and all that it wrote is in the log."""
        is_unknown = self._killed or self._request.container is not None  # see `recorder.py`
        was_killed = is_unknown and self._status == signal.SIGKILL
        return self._log_works and not self._ending and not self._is_disowned and not was_killed

    def _start(self, inherited: list[int]) -> int | None:
        """None, or the exit code of a command that could not be started."""
        try:
            if self._request.terminal:
                self._pid = start_on_terminal(self._request)
            else:
                self._pid, *pipes = start_with_pipes(self._request, inherited[0] if inherited else None)
                self._pipes = {fd: stream for stream, fd in enumerate(pipes)}
        except NotStarted as error:
            self._reason = error.reason
            message = f"pitstop: {error.reason}\n".encode()
            if self._request.terminal:
                with suppress(OSError):  # the terminal may have been closed in the meantime
                    os.write(inherited[0], message)
            else:
                self._append(STDERR, message)
            return error.exit_code
        finally:
            for fd in inherited:
                os.close(fd)
        return None

    # --- Watching

    def _watch(self) -> None:
        """Serve the pipes, the socket and the signals of ended children, until nothing is left."""
        for fd in (*self._pipes, self._control.fileno(), self._child_signals):
            self._poller.register(fd, select.POLLIN)
        while not self._over:
            for fd, _ in self._poller.poll(self._milliseconds_to_wait()):
                if fd in self._pipes:
                    self._read_pipe(fd)
                elif fd == self._child_signals:
                    os.read(fd, MESSAGE_BYTES)
                    self._reap()
                else:
                    self._obey(receive(self._control)[0])
            if time.monotonic() >= self._look_at:
                self._end_what_is_due()

    def _milliseconds_to_wait(self) -> float | None:
        return None if self._look_at == NEVER else max(0.0, self._look_at - time.monotonic()) * 1000 + 1

    def _obey(self, message: bytes) -> None:
        if not message:
            self._poller.unregister(self._control)
            self._end_within(0.0)
            return
        verb, *details = marshal.loads(message)
        if verb == "cancel":
            grace, ending = details
            if self._status is None:
                self._ending = self._ending or ending
            self._end_within(grace)
        elif verb == "disown":
            self._is_disowned = True
        else:
            (self._watched_size,) = details
            self._tell_growth()

    def _reap(self) -> None:
        try:
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == self._pid:
                    self._status = ended[1]
        except ChildProcessError:
            self._over = True
            return
        if self._status is None and self._term_at == NEVER:
            return  # an orphan has ended while the command goes on
        if self._term_at == NEVER:
            self._term_at = time.monotonic() + (DRAIN_SECONDS if self._pipes else 0.0)
            self._kill_at = self._term_at + LEFTOVER_GRACE_SECONDS
        self._look_at = max(self._term_at, time.monotonic())

    # --- Ending

    def _end_within(self, grace_seconds: float) -> None:
        now = time.monotonic()
        self._term_at = min(self._term_at, now)
        self._kill_at = min(self._kill_at, now + grace_seconds)
        self._look_at = now

    def _end_what_is_due(self) -> None:
        """Signal the command's group and every child: its leftovers become children as soon as their parents end."""
        kill = time.monotonic() >= self._kill_at
        if self._status is None and (kill or self._pid not in self._told):
            # A shell that was hung up may already run its EXIT trap, in its own group: that gets the grace period, too
            spare_group = self._request.terminal and not kill
            self._signal(self._pid, os.kill if spare_group else os.killpg, kill)
            self._killed = kill
        children = children_of_this_process()
        for pid in children - {self._pid} if kill else children - self._told:
            self._signal(pid, os.kill, kill)
        self._look_at = time.monotonic() + RESCAN_SECONDS if kill else self._kill_at
        self._over = self._over or children <= self._out_of_reach

    def _signal(self, pid: int, send: "Callable[[int, int], None]", kill: bool) -> None:
        self._told.add(pid)
        try:
            send(pid, signal.SIGKILL if kill else signal.SIGTERM)
            send(pid, signal.SIGCONT)  # one that is stopped could not act on TERM
        except ProcessLookupError:
            pass
        except PermissionError:
            self._out_of_reach.add(pid)

    # --- Writing down

    def _read_pipe(self, fd: int) -> int:
        try:
            size = os.readv(fd, [self._buffer])
        except BlockingIOError:
            return 0
        if size == 0:
            self._poller.unregister(fd)
            self._close_pipe(fd)
            return 0
        self._append(self._pipes[fd], memoryview(self._buffer)[:size])
        if size == PIPE_BYTES:
            self._expect_flood(fd)
        return size

    def _append(self, stream: int, chunk: bytes | memoryview) -> None:
        """Write down, or end the command if the disk does not take it; what comes after that is thrown away."""
        if not self._log_works:
            return
        try:
            self._log.append(stream, time.time(), chunk)
        except OSError as error:
            self._log_works = False
            self._reason = f"could not write its output to {self._request.log}: {error.strerror}"
            self._end_within(0.0)
        self._tell_growth()

    def _tell_growth(self) -> None:
        if self._watched_size is not None and self._log.size > self._watched_size:
            self._watched_size = None
            with suppress(ConnectionError):  # Pitstop is gone: the socket tells that next
                self._control.send(marshal.dumps(("grew",)))

    def _expect_flood(self, fd: int) -> None:
        if len(self._buffer) < FLOOD_BYTES:
            self._buffer = bytearray(FLOOD_BYTES)
        with suppress(PermissionError):  # a user's pipes together have a limit
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, FLOOD_BYTES)

    def _drain(self) -> None:
        """Take what is left in the pipes. Somebody outside may still write to them, so there is a limit."""
        for fd in [*self._pipes]:
            taken = 0
            while fd in self._pipes and taken < 2 * FLOOD_BYTES and (size := self._read_pipe(fd)):
                taken += size
            if fd in self._pipes:
                self._close_pipe(fd)

    def _close_pipe(self, fd: int) -> None:
        os.close(fd)
        del self._pipes[fd]
        if not self._pipes and self._status is not None:
            self._look_at = self._term_at = min(self._term_at, time.monotonic())


def receive(control: socket.socket) -> tuple[bytes, list[int]]:
    """The next packet, empty when the other end is closed, and the file descriptors that came with it."""
    try:
        message, more, _, _ = control.recvmsg(MESSAGE_BYTES, socket.CMSG_LEN(FD.size * 2))
    except ConnectionResetError:  # it was closed, and had not read everything
        return b"", []
    sent = [data for level, kind, data in more if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS)]
    fds = [fd for data in sent for (fd,) in FD.iter_unpack(data[: len(data) - len(data) % FD.size])]
    for fd in fds:
        os.set_inheritable(fd, False)  # unlike those that Python opens, these come inheritable
    return message, fds


def _receive_request(control: socket.socket) -> tuple[Request, list[int]] | None:
    """The next request and what its command inherits. A message that came too late for the last one is left out."""
    while True:
        message, fds = receive(control)
        if not message:
            return None
        if fds:
            packed = os.pread(fds[0], os.fstat(fds[0]).st_size, 0)
            os.close(fds[0])
            return Request.unpacked(packed), fds[1:]


def _pipe_of_child_signals() -> int:
    """A file descriptor that is readable after a child has ended."""
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    signal.signal(signal.SIGCHLD, lambda _signal, _frame: None)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    return read_end
