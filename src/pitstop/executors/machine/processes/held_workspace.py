"""A workspace that an executor has acquired."""

import asyncio
import os

from msgspec import Struct, field

from pitstop.engine.executor import Shell
from pitstop.executors.machine.workspaces.workspace import Workspace


class HeldWorkspace(Struct):
    """The workspace, and what runs in it. When it `is_left`, nothing more may begin there."""

    workspace: Workspace
    env: dict[bytes, bytes]
    own_env: dict[bytes, bytes]  # for commands that inherit nothing
    shells: list[Shell] = field(default_factory=list)
    is_left: bool = False
    is_kept: bool = False
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def roots(self) -> list[bytes]:
        """All that belongs to the workspace."""
        folder = self.workspace.folder
        return [os.fsencode(path) for path in (self.workspace.root, folder) if path is not None]
