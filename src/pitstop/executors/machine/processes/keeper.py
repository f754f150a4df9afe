"""The process beside Pitstop that is the ancestor of its commands, so that nothing of a command outlives it.

    Pitstop ··· keeper ─┬─ supervisor ── command ── whatever it starts
                        └─ supervisor ── command ── whatever it starts

The keeper forks supervisors, each with a socket to Pitstop (`supervisor.py`). It ends when Pitstop closes its end or
dies, after the last supervisor. Both are child subreapers: an orphan cannot get above them, whatever it does to its
session or environment. Why it is done this way is told in decisions/0010-ending-process-trees.md.

    to the keeper    ("epoch", path, lease) and its file   from now on commands may run; a lease of 0 has no end
                     ("fork",) and a socket                a supervisor for it, which is refused when there is no epoch
                     ("beat", lease)                       Pitstop is alive, and its event loop goes round
    to Pitstop       ("over",)                             nothing came for the lease: the epoch was ended

To end an epoch is to end every supervisor and command, and then to let go of the lock by which others know that the
workspaces are in use. So one who was only stopped finds, when he goes on, that he has lost them.

It is a process of its own whose start is part of every first command (`keeper_process.py`): only light imports here.
"""

import _ctypes  # without `ctypes`, which takes longer to load than all the rest of the keeper
import fcntl
import gc
import marshal
import os
import select
import time

from pitstop.executors.machine.bare import signal, socket, suppress
from pitstop.executors.machine.process_table import children_of_this_process, place_of_arguments_and_environment
from pitstop.executors.machine.processes.supervisor import receive, supervise
from pitstop.executors.machine.workspaces.epoch import Epoch

NAME = "pitstop-keeper"
PR_SET_CHILD_SUBREAPER = 36
NEVER = float("inf")
FIRST_AFTER_STANDARD = 3


def main(control_fd: int) -> None:
    """Fork a supervisor for each socket that comes, whatever this process was before."""
    control = socket.socket(fileno=stand_apart(NAME, control_fd))
    adopt_orphans()
    gc.freeze()  # the collector shall not touch, and so copy, the pages that supervisors share with the keeper
    _Keeper(control).run()


class _Keeper:
    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._poller = select.poll()
        self._listening = True
        self._supervisors: dict[int, tuple[int, int]] = {}  # process id and slot in the epoch's file, by pidfd
        self._epoch: Epoch | None = None
        self._lease_seconds = NEVER
        self._lease_ends_at = NEVER

    def run(self) -> None:
        self._poller.register(self._control, select.POLLIN)
        while self._listening or self._supervisors:
            for fd, _ in self._poller.poll(self._milliseconds_to_wait()):
                if fd in self._supervisors:
                    self._reap(fd)
                    end_strangers(self._pids())
                elif fd == self._control.fileno():
                    self._obey(*receive(self._control))
            if time.monotonic() >= self._lease_ends_at:
                self._end_epoch()

    def _milliseconds_to_wait(self) -> float | None:
        return None if self._lease_ends_at == NEVER else max(0.0, self._lease_ends_at - time.monotonic()) * 1000 + 1

    def _obey(self, message: bytes, fds: list[int]) -> None:
        if not message:
            self._poller.unregister(self._control)
            self._listening = False
            self._lease_ends_at = NEVER  # each supervisor sees the end by itself, and ends its command
            return
        verb, *details = marshal.loads(message)
        if verb == "epoch":
            path, lease_seconds = details
            self._epoch = Epoch(path, fds[0])
            self._lease_seconds = lease_seconds or NEVER
        elif verb == "beat":
            (self._lease_seconds,) = details
        elif verb == "fork":
            self._fork(socket.socket(fileno=fds[0]))
        if self._epoch is not None:
            self._lease_ends_at = time.monotonic() + self._lease_seconds

    def _fork(self, supervisor_socket: socket.socket) -> None:
        try:
            if self._epoch is None:
                return
            taken = {slot for _, slot in self._supervisors.values()}
            slot = next(slot for slot in range(len(taken) + 1) if slot not in taken)
            pid = os.fork()
            if pid == 0:
                for inherited in (self._control.fileno(), *self._supervisors):
                    os.close(inherited)
                adopt_orphans()
                supervise(supervisor_socket, self._epoch, slot)
                os._exit(0)
        finally:
            supervisor_socket.close()
        pidfd = os.pidfd_open(pid)
        self._supervisors[pidfd] = pid, slot
        self._poller.register(pidfd, select.POLLIN)

    def _reap(self, pidfd: int) -> None:
        self._poller.unregister(pidfd)
        os.close(pidfd)
        os.waitpid(self._supervisors.pop(pidfd)[0], 0)

    def _pids(self) -> set[int]:
        return {pid for pid, _ in self._supervisors.values()}

    def _end_epoch(self) -> None:
        for pid in self._pids():
            os.kill(pid, signal.SIGKILL)
        for pidfd in [*self._supervisors]:
            self._reap(pidfd)
        end_strangers(set())
        self._lease_ends_at = NEVER
        if self._epoch is not None:
            over, self._epoch = self._epoch, None
            over.end()
            with suppress(OSError):  # it will find out by itself
                self._control.send(marshal.dumps(("over",)), socket.MSG_DONTWAIT)


def stand_apart(name: str, kept_fd: int) -> int:
    """Let go of files, folder and name of the process that this one came from.

    Standard error and this file descriptor are kept; the new number of the latter is returned.
    """
    kept = fcntl.fcntl(kept_fd, fcntl.F_DUPFD_CLOEXEC, FIRST_AFTER_STANDARD)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)  # otherwise a reader of Pitstop's output would wait for this process to end
    for fd in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208 (pathlib is heavy)
        if fd >= FIRST_AFTER_STANDARD and fd != kept:
            with suppress(OSError):  # it was that of the listing itself
                os.close(fd)
    os.chdir("/")
    with suppress(OSError):  # the name is only a convenience
        _take_name(name.encode())
    return kept


def _take_name(name: bytes) -> None:
    """Be shown as that, and without an environment: who looks for Pitstop or its secrets must not find this process."""
    begin, end = place_of_arguments_and_environment()
    _write("/proc/self/comm", name, 0)
    _write("/proc/self/mem", name[: end - begin].ljust(end - begin, b"\0"), begin)


def _write(path: str, text: bytes, offset: int) -> None:
    fd = os.open(path, os.O_WRONLY)
    try:
        os.lseek(fd, offset, os.SEEK_SET)
        os.write(fd, text)
    finally:
        os.close(fd)


def adopt_orphans() -> None:
    """From now on every orphan among the descendants becomes a child of this process. It is not inherited by fork."""
    prctl = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # type: ignore[arg-type] # None: what is loaded already
    if _ctypes.call_cdeclfunction(prctl, (PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) != 0:
        raise OSError("this system has no child subreapers")


def end_strangers(supervisors: set[int]) -> None:
    """End every child that is no supervisor: a supervisor that was killed leaves its command to the keeper."""
    while strangers := children_of_this_process() - supervisors:
        for pid in strangers:
            try:
                os.kill(pid, signal.SIGKILL)
            except PermissionError:
                supervisors.add(pid)  # another user's: nothing can be done from here
            else:
                os.waitpid(pid, 0)
