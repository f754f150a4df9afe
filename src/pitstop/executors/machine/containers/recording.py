"""Starting the recorder of a container, with the connections that it reads."""

import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack

from pitstop.executors.machine.containers import recorder
from pitstop.executors.machine.containers.engine import ContainerEngine, EngineInfo
from pitstop.executors.machine.containers.result import Seen
from pitstop.executors.machine.processes.recording import Recording
from pitstop.executors.machine.processes.supervisors import Supervised

Record = Callable[[Recording], Supervised]


async def ask_exit_for_recorder(
    engine: ContainerEngine, info: EngineInfo, name: str, stack: AsyncExitStack
) -> list[socket.socket]:
    """A connection that will bring the exit code, where that must be asked for before the start (`ask_exit`)."""
    if info.is_survived:
        return []
    asked = await engine.take_over(f"/containers/{name}/wait", {"condition": "next-exit"})
    return [stack.enter_context(asked)]


def start_recorder(
    record: Record, engine: ContainerEngine, name: str, seen: Seen, connections: Sequence[socket.socket]
) -> Supervised:
    """The recorder of that container: the first connection is attached to it. Raises WorkspaceLost and OSError."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        socket.send_fds(ours, [b"."], [connection.fileno() for connection in connections])
        argv = (sys.executable, "-I", "-S", recorder.__file__, engine.path, name)
        return record(Recording(argv, theirs.fileno(), seen.digest, seen.started_at))
