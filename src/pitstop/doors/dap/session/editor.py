"""The editor at the other end: what it was told, what it asked for, and the numbers that it knows things by."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Literal

import msgspec

from pitstop.doors.dap.protocol.arguments import SourceBreakpoint
from pitstop.doors.dap.protocol.messages import (
    Body,
    ClientResponse,
    Event,
    GivenSource,
    Message,
    OutputEvent,
    Response,
    ReverseRequest,
)
from pitstop.doors.dap.protocol.wire import to_frame
from pitstop.doors.dap.session.breakpoint_book import BreakpointBook
from pitstop.doors.dap.session.client import Client
from pitstop.doors.dap.session.progress import Progress
from pitstop.doors.dap.session.references import References
from pitstop.doors.dap.session.sources import Sources
from pitstop.doors.dap.session.threads import Threads
from pitstop.service.debugging import verbs
from pitstop.service.flows import StepInfo

Edit = verbs.Set | verbs.Unset | verbs.Config
Category = Literal["console", "stdout", "stderr"]

_ENCODER = msgspec.json.Encoder()


class Editor:
    """What a session shares with its client. `turn` is held while a request is handled: nothing overtakes it."""

    def __init__(self, send: Callable[[bytes], None], tasks: asyncio.TaskGroup) -> None:
        self.client = Client()
        self.turn = asyncio.Lock()
        self.threads = Threads()
        self.references = References()
        self.sources = Sources()
        self.breakpoints = BreakpointBook()
        self.asked_at_lines: dict[str, tuple[GivenSource, list[SourceBreakpoint]]] = {}  # by file, as the client has it
        self.wanted_failures: Mapping[str, str | None] | None = None  # the filters that are on, with conditions
        self.edits: dict[int, tuple[Edit, ...]] = {}  # those of the client, by stop
        self.breakpoint_stops: set[int] = set()  # the stops at which a breakpoint was hit
        self.progress = Progress(lambda: self.client.shows_progress, self.tell)
        self._send = send
        self._tasks = tasks
        self._work: set[asyncio.Task[None]] = set()
        self._last_seq = 0
        self._asked: dict[int, asyncio.Future[ClientResponse]] = {}

    def tell(self, event: str, body: Message | Body | None = None) -> None:
        """Send an event. A field of a mapping that is None is left out."""
        if isinstance(body, Mapping):
            body = {name: value for name, value in body.items() if value is not None}
        self._last_seq += 1
        self._send(to_frame(_ENCODER.encode(Event(self._last_seq, event, body))))

    def answer(self, response: Response) -> None:
        self._last_seq += 1
        response.seq = self._last_seq
        self._send(to_frame(_ENCODER.encode(response)))

    async def ask(self, command: str, arguments: Body) -> ClientResponse:
        """Ask the client for something, which it has to support, and wait for its answer."""
        self._last_seq += 1
        seq = self._last_seq
        asked: asyncio.Future[ClientResponse] = asyncio.get_running_loop().create_future()
        self._asked[seq] = asked
        self._send(to_frame(_ENCODER.encode(ReverseRequest(seq, command, arguments))))
        try:
            return await asked
        finally:
            del self._asked[seq]

    def hear_response(self, response: ClientResponse) -> None:
        asked = self._asked.get(response.request_seq)
        if asked is not None and not asked.done():
            asked.set_result(response)

    def say(self, text: str, category: Category = "console", file: str | None = None, line: int | None = None) -> None:
        """A line in the console of the client, which may be about a place in a file."""
        source = None if file is None else self.sources.tell(file, self.client)
        told_line = None if line is None else self.client.line_out(line)
        self.tell("output", OutputEvent(category=category, output=f"{text}\n", source=source, line=told_line))

    def say_at(self, step: StepInfo | None, text: str, category: Category = "console") -> None:
        """The same, about a step, if it is known."""
        self.say(text, category, None if step is None else step.file, None if step is None else step.line)

    def tell_thread(self, frame: str, reason: Literal["started", "exited"]) -> None:
        if self.client.quirks.hears_threads:
            self.tell("thread", {"reason": reason, "threadId": self.threads.number(frame)})

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
