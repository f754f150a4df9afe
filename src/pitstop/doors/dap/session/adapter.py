"""One client and its session: what it was told, what it may ask for, and what is debugged for it."""

import asyncio
import os
import secrets
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from pitstop.doors.dap.protocol import bodies
from pitstop.doors.dap.protocol.arguments import FunctionBreakpoint, SessionOptions, SourceBreakpoint
from pitstop.doors.dap.protocol.failures import RequestFailed, not_stopped
from pitstop.doors.dap.protocol.messages import Event, GivenSource, Incoming, Message, Response, Source
from pitstop.doors.dap.protocol.wire import to_frame
from pitstop.doors.dap.session.breakpoint_book import BreakpointBook
from pitstop.doors.dap.session.client import Client
from pitstop.doors.dap.session.progress import Progress
from pitstop.doors.dap.session.references import References
from pitstop.doors.dap.session.services import OpenService, Services
from pitstop.doors.dap.session.sources import Sources
from pitstop.doors.dap.session.threads import Threads

if TYPE_CHECKING:
    from pitstop.doors.dap.session.debuggee import Debuggee

Category = Literal["console", "stdout", "stderr"]

_ENCODER = msgspec.json.Encoder()


class Adapter:
    """What all requests of a client share. `turn` is held while one is met, so that nothing overtakes its answer."""

    def __init__(
        self,
        send: Callable[[bytes], None],
        tasks: asyncio.TaskGroup,
        open_service: OpenService,
        *,
        token: str | None = None,
        is_launch_answered_late: bool = False,
    ) -> None:
        self.client = Client()
        self.is_initialized = False
        self.is_configured = False
        self.is_left = False
        self.on_left: Callable[[], None] = lambda: None
        self.is_launch_answered_late = is_launch_answered_late
        self.turn = asyncio.Lock()
        self.restarting = asyncio.Lock()  # a run takes the place of one, so they do it one after the other
        self.environment = dict(os.environ)  # as it is without what a launch adds to it
        self.open_requests: dict[int, asyncio.Task[None]] = {}
        self.cancellable: dict[str, int] = {}  # the requests behind the progress that is shown
        self.services = Services(open_service, self.spawn)
        self.threads = Threads()
        self.references = References()
        self.sources = Sources()
        self.breakpoints = BreakpointBook()
        self.asked_at_lines: dict[str, tuple[GivenSource, list[SourceBreakpoint]]] = {}  # by file, as the client has it
        self.asked_by_name: list[FunctionBreakpoint] = []
        self.wanted_failures: Mapping[str, str | None] = {}  # the filters that are on, and their conditions
        self.breakpoint_stops: set[int] = set()  # the stops at which a breakpoint was hit
        self.targets: dict[int, str] = {}  # the steps that can be gone to, by the numbers that the client was told
        self.progress = Progress(self)
        self.debuggee: Debuggee | None = None
        self._send = send
        self._tasks = tasks
        self._work: set[asyncio.Task[None]] = set()
        self._token = token
        self._last_seq = 0

    # Talking to the client

    def tell(self, event: str, body: Message | None = None) -> None:
        self._last_seq += 1
        self._send(to_frame(_ENCODER.encode(Event(self._last_seq, event, body))))

    def answer(self, response: Response) -> None:
        self._last_seq += 1
        response.seq = self._last_seq
        self._send(to_frame(_ENCODER.encode(response)))

    def say(
        self, text: str, category: Category = "console", source: Source | None = None, line: int | None = None
    ) -> None:
        """A line in the console of the client."""
        told_line = None if line is None else self.client.line_out(line)
        self.tell("output", bodies.OutputEvent(category=category, output=f"{text}\n", source=source, line=told_line))

    # What there is

    def session(self) -> "Debuggee":
        """What is debugged; RequestFailed when nothing is yet."""
        if self.debuggee is None:
            raise not_stopped("nothing is being debugged: launch or attach first")
        return self.debuggee

    def spawn(self, work: Coroutine[Any, Any, None], name: str | None = None) -> "asyncio.Task[None]":
        """Do it beside everything else, until the client leaves."""
        task = self._tasks.create_task(work, name=name)
        self._work.add(task)
        task.add_done_callback(self._work.discard)
        return task

    def cancel_work(self) -> None:
        """End whatever is done beside."""
        for task in self._work:
            task.cancel()

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
