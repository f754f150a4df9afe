"""The process beside Pitstop that is the ancestor of its commands, so that nothing of a command outlives it.

    Pitstop ··· keeper ─┬─ supervisor ── command ── whatever it starts
                        └─ supervisor ── command ── whatever it starts

The keeper forks supervisors, each with a socket to Pitstop (`supervisor.py`). It ends when Pitstop closes its end or
dies, after the last supervisor. Both are child subreapers: an orphan cannot get above them, whatever it does to its
session or environment. Why it is done this way is told in decisions/0010-ending-process-trees.md.

It runs in an interpreter of its own whose start is part of every first command: only light imports here.
"""

import ctypes
import gc
import os
import select
import signal
import socket

from pitstop.executors.process_table import children_of_this_process
from pitstop.executors.supervisor import receive, supervise

PR_SET_CHILD_SUBREAPER = 36


def main(control_fd: int) -> None:
    """Fork a supervisor for each socket that comes."""
    control = socket.socket(fileno=control_fd)
    control.set_inheritable(False)
    adopt_orphans()
    gc.freeze()  # the collector shall not touch, and so copy, the pages that supervisors share with the keeper
    supervisors: dict[int, int] = {}  # pid by pidfd
    poller = select.poll()
    poller.register(control, select.POLLIN)
    listening = True
    while listening or supervisors:
        for fd, _ in poller.poll():
            if fd in supervisors:
                poller.unregister(fd)
                os.close(fd)
                os.waitpid(supervisors.pop(fd), 0)
                end_strangers(set(supervisors.values()))
            elif (supervisor_socket := receive_socket(control)) is None:
                poller.unregister(control)
                listening = False
            else:
                pid = os.fork()
                if pid == 0:
                    for inherited in (control_fd, *supervisors):
                        os.close(inherited)
                    adopt_orphans()
                    supervise(supervisor_socket)
                    os._exit(0)
                supervisor_socket.close()
                pidfd = os.pidfd_open(pid)
                supervisors[pidfd] = pid
                poller.register(pidfd, select.POLLIN)


def receive_socket(control: socket.socket) -> socket.socket | None:
    _, fds = receive(control)
    return socket.socket(fileno=fds[0]) if fds else None


def adopt_orphans() -> None:
    """From now on every orphan among the descendants becomes a child of this process. It is not inherited by fork."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "this system has no child subreapers")


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
