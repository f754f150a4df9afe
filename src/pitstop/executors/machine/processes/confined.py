"""What a command is kept from on this machine: changing files, using the network, starting too many processes."""

import marshal
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from pitstop.engine.executor import Command
from pitstop.executors.machine.workspaces.protected import protected_in
from pitstop.executors.machine.workspaces.workspace import Workspace

CONFINE = Path(__file__).with_name("confine_main.py")
FORWARD = Path(__file__).with_name("forward_main.py")
NEEDED = "root or user namespaces"
NO_LIMIT_FOR_ROOT = "Linux does not limit the processes of root: use a container, or run Pitstop as another user"


class Confinement(Struct, frozen=True, kw_only=True):
    """What one command is kept from. In a folder that is read-only, `writable` ones still are not.

    `pinned` are folders that cannot be renamed or removed. `forwards` are ports of 127.0.0.1, and Unix sockets in
    `sockets`, which they lead to.
    """

    read_only: tuple[bytes, ...] = ()
    writable: tuple[bytes, ...] = ()
    pinned: tuple[bytes, ...] = ()
    has_network: bool = True
    most_processes: int | None = None
    sockets: bytes = b""
    forwards: tuple[tuple[int, str], ...] = ()

    def kinds(self, folders: tuple[bytes, ...]) -> "dict[str, Confinement]":
        """What the machine must be able to do, in words, and how to try each without a command."""
        kinds = {}
        if self.read_only:
            kinds["a read-only view of files"] = Confinement(read_only=folders)
        if not self.has_network:
            kinds["a command without network"] = Confinement(has_network=False)
        if self.most_processes is not None:
            kinds["a limit on processes"] = Confinement(most_processes=self.most_processes)
        return kinds

    def argv(self, cwd: bytes) -> list[bytes]:
        """The words in front of those of the command: the path of its program, and its own, from its name on."""
        forwards = [f"{port}={name}".encode() for port, name in self.forwards]
        wanted = {
            "cwd": cwd,
            "read_only": self.read_only,
            "writable": self.writable,
            "pinned": self.pinned,
            "has_network": self.has_network,
            "most_processes": self.most_processes,
            "forwards": (os.fsencode(FORWARD), self.sockets, forwards) if forwards else (),
        }
        program = (sys.executable, "-I", "-S", CONFINE, marshal.dumps(wanted).hex())
        return [os.fsencode(word) for word in program]


UNCONFINED = Confinement()


def confinement_of(command: Command, workspace: Workspace) -> Confinement:
    """What the command asks to be kept from. Raises ValueError if that cannot be had."""
    if command.pids is not None and os.geteuid() == 0:
        raise ValueError(f"cannot limit the command to {command.pids} processes: {NO_LIMIT_FOR_ROOT}")
    protected = protected_in(workspace.repo, command.read_only)
    pinned = {*protected.parents, *_with_parents(workspace.repo), *_with_parents(workspace.root)}
    return Confinement(
        read_only=_encoded(protected.paths),
        writable=_encoded([workspace.root]) if workspace.folder is not None else (),
        pinned=_encoded(sorted(pinned)) if protected.paths else (),
        has_network=command.network == "all",
        most_processes=command.pids,
        sockets=os.fsencode(workspace.control),
        forwards=tuple(command.forwards.items()),
    )


def _with_parents(folder: Path) -> list[Path]:
    """All that would take the folder along when renamed."""
    return [folder, *folder.parents][:-1]


def _encoded(paths: Sequence[Path]) -> tuple[bytes, ...]:
    return tuple(map(os.fsencode, paths))
