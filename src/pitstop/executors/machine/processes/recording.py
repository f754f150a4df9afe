"""What a supervisor is to start for a command in a container."""

import os

from msgspec import Struct

from pitstop.executors.machine.processes.held_workspace import HeldWorkspace
from pitstop.executors.machine.processes.spawn import Request


class Recording(Struct, frozen=True):
    """The recorder of a command, its input, and what is known of the command whose end is stored."""

    argv: tuple[str, ...]
    stdin: int
    image_digest: str
    started_at: float

    def request(self, held: HeldWorkspace, key: str) -> Request:
        return Request(
            log=held.workspace.log_of(key),
            argv=[os.fsencode(word) for word in self.argv],
            env=held.env,
            cwd=b"/",
            stores_end=held.workspace.named,
            container={"image_digest": self.image_digest, "started_at": self.started_at},
        )
