"""One client and its session: what it was told, what it may ask for, and what is debugged for it."""

import asyncio
import os
import secrets
from collections.abc import Callable

from pitstop.doors.dap.protocol.arguments import SessionOptions
from pitstop.doors.dap.protocol.failures import RequestFailed, not_stopped
from pitstop.doors.dap.protocol.messages import Incoming
from pitstop.doors.dap.session.debuggee import Debuggee
from pitstop.doors.dap.session.editor import Editor
from pitstop.doors.dap.session.services import OpenService, Services
from pitstop.service.debugging import Debugger


class Adapter:
    """What all requests of a client share."""

    def __init__(
        self,
        send: Callable[[bytes], None],
        tasks: asyncio.TaskGroup,
        open_service: OpenService,
        *,
        token: str | None = None,
        is_launch_answered_late: bool = False,
    ) -> None:
        self.editor = Editor(send, tasks)
        self.is_initialized = False
        self.is_configured = False
        self.is_terminated = False  # before anything was debugged
        self.is_left = False
        self.on_left: Callable[[], None] = lambda: None
        self.is_launch_answered_late = is_launch_answered_late
        self.restarting = asyncio.Lock()  # a run takes the place of one, so they do it one after the other
        self.environment = dict(os.environ)  # as it is without what a launch adds to it
        self.open_requests: dict[int, asyncio.Task[None]] = {}
        self.services = Services(open_service, self.editor.spawn)
        self.targets: dict[int, str] = {}  # the steps that can be gone to, by the numbers that the client was told
        self.debuggee: Debuggee | None = None
        self._token = token

    def session(self) -> Debuggee:
        """What is debugged; RequestFailed when nothing is yet."""
        if self.debuggee is None:
            raise not_stopped("nothing is being debugged: launch or attach first")
        return self.debuggee

    @property
    def debugger(self) -> Debugger | None:
        """The debugger of the run, if that is live."""
        return None if self.debuggee is None else self.debuggee.debugger

    def number_target(self, step: str) -> int:
        number = len(self.targets) + 1
        self.targets[number] = step
        return number

    def leave(self) -> None:
        """Read nothing more of what the client says."""
        self.is_left = True
        self.on_left()

    def check_token(self, command: str, arguments: Incoming) -> None:
        """Over a port, nothing is answered to whoever does not know the token; it works once."""
        if self._token is None or command in ("initialize", "disconnect", "cancel"):
            return
        given = arguments.adapter_token if isinstance(arguments, SessionOptions) else None
        if given is None or not secrets.compare_digest(given.encode(), self._token.encode()):
            self.leave()
            raise RequestFailed("launch or attach with the adapterToken that `pitstop dap --port` was started with")
        self._token = None
