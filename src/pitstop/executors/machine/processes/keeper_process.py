"""Starting the keeper: as a fork of a Pitstop that is still as small as it, or else in an interpreter of its own.

Both make the same process (`keeper.main`). A fork takes a quarter of the time, but only the command line has such a
moment: later on, Pitstop would hand its size on to every supervisor.

Used before anything else is loaded: only light imports here.
"""

import _thread
import os
import sys

from pitstop.executors.machine.bare import signal, socket, suppress
from pitstop.executors.machine.processes.keeper import main

# The keeper is started without the `__init__` of the package, which brings in the whole public API.
KEEPER = """
import sys
pitstop = type(sys)("pitstop")
pitstop.__path__ = [sys.argv[1]]
sys.modules["pitstop"] = pitstop
from pitstop.executors.machine.processes.keeper import main
main(0)
"""
PACKAGE = __file__.rpartition("/executors/")[0]
FOR_PITSTOP = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)  # which then ends in order; so does the keeper after it


class KeeperProcess:
    """Its id, and the file descriptor of our end of its socket. It ends when that is closed."""

    def __init__(self, pid: int, control_fd: int) -> None:
        self.pid = pid
        self.control_fd = control_fd

    def reap(self) -> None:
        """Wait for its end."""
        with suppress(ChildProcessError):  # Pitstop is a library, too: its host may wait for every child
            os.waitpid(self.pid, 0)


def spawn_keeper() -> KeeperProcess:
    """A keeper in a new interpreter. Raises OSError if it cannot be started."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        pid = os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", "-c", KEEPER, PACKAGE],
            {},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, theirs.fileno(), 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            ],
            setsid=True,  # as the terminal's Ctrl-C is for Pitstop
            setsigmask=FOR_PITSTOP,
        )
    except OSError:
        ours.close()
        raise
    finally:
        theirs.close()
    return KeeperProcess(pid, ours.detach())


def fork_keeper() -> KeeperProcess:
    """A keeper that is a copy of this process. Raises OSError if there cannot be one more."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, FOR_PITSTOP)
    try:
        pid = os.fork()
        if pid == 0:
            _be_keeper(theirs.fileno())
    except OSError:
        ours.close()
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
    return KeeperProcess(pid, ours.detach())


def _be_keeper(control_fd: int) -> None:
    """Never return to what this process is a copy of."""
    try:
        os.setsid()
        main(control_fd)
    except Exception as error:  # noqa: BLE001 - as the interpreter of a keeper that is started would tell it
        sys.excepthook(type(error), error, error.__traceback__)
    finally:
        os._exit(0)


class EarlyKeeper:
    """A keeper that is forked before anybody asks for one. Whoever asks first gets it, others start their own."""

    def __init__(self) -> None:
        self._unused: KeeperProcess | None = None
        if _thread._count() == 0:  # or what another thread holds at that moment would be held in the fork for ever
            with suppress(OSError):  # there are too many processes: the first command will say so
                self._unused = fork_keeper()

    def take(self) -> KeeperProcess:
        """Raises OSError if there is none, and none can be started."""
        taken, self._unused = self._unused, None
        return spawn_keeper() if taken is None else taken

    def end(self) -> None:
        """Nobody will ask any more."""
        if self._unused is not None:
            os.close(self._unused.control_fd)
            self._unused.reap()
            self._unused = None
