"""A run on a server whose output and whose events come as they like: they are two streams."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from pitstop.service.flows import FlowInfo
from pitstop.service.remote import run as remote_run
from pitstop.service.remote.connection import Background, Connection
from pitstop.service.remote.run import RemoteRun
from pitstop.service.runs import EventInfo, Output
from pitstop.service.wire import RunDetail
from tests.patience import PATIENCE_SECONDS

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
STARTED = b'data: {"number": 1, "kind": "step.started", "at": 1.0, "occurrence": "a"}\n\n'
FINISHED = b'data: {"number": 2, "kind": "step.finished", "at": 2.0, "occurrence": "a"}\n\n'
ENDED = b'data: {"number": 2, "kind": "run.ended", "at": 2.0}\n\n'
WRITTEN = b'data: [{"occurrence": "a", "stream": "stdout", "time": 1.5, "text": "written\\n"}]\n\n'
NO_RUN = b'{"code": "unknown.run", "detail": "there is no run"}'
GONE = b"HTTP/1.1 404 Not Found\r\nContent-Length: %d\r\n\r\n%s" % (len(NO_RUN), NO_RUN)
END = b"event: end\ndata: {}\n\n"
TOLD = b'event: told\ndata: {"event": 2}\n\n'


class Script:
    """A server that sends the events at once, and of the output what it is told to."""

    def __init__(self, events: bytes = STARTED + FINISHED, head: bytes = HEAD) -> None:
        self._events = events
        self._head = head
        self.output: asyncio.Queue[bytes] = asyncio.Queue()  # nothing at all is the last
        self.asked_for_output: asyncio.Queue[None] = asyncio.Queue()  # once by each who listens
        self._answering = 0
        self.has_answered = asyncio.Event()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._answering += 1
        try:
            await self._send(reader, writer)
        finally:
            writer.close()
            self._answering -= 1
            if not self._answering:
                self.has_answered.set()

    async def _send(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split()[1]
        if b"/events" in path:
            writer.write(HEAD + self._events)
        else:
            writer.write(self._head)
            self.asked_for_output.put_nowait(None)
            while block := await self.output.get():
                writer.write(block)
        await reader.read()  # until the client has gone


@asynccontextmanager
async def run_on(script: Script) -> AsyncIterator[RemoteRun]:
    server = await asyncio.start_server(script.answer, "127.0.0.1", 0)
    connection = Connection(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", None)
    flow = FlowInfo("flow", "flow.yaml", ())
    detail = RunDetail(id="run", flow="flow", file="flow.yaml", status="running", created_at=0.0, flow_info=flow)
    try:
        async with asyncio.timeout(PATIENCE_SECONDS), Background() as background:
            yield RemoteRun(connection, detail, background)
    finally:
        script.output.put_nowait(b"")
        await connection.close()
        server.close()
        await script.has_answered.wait()


async def test_the_end_of_a_step_is_kept_back_until_what_it_wrote_is_heard() -> None:
    script, told = Script(), list[Any]()
    async with run_on(script) as run, aclosing(run.events()) as events, asyncio.TaskGroup() as group:
        run.hear_output(lambda output: told.append(output.data))
        assert (await anext(events)).kind == "step.started"  # and its end came with it
        ending = group.create_task(next_event(events))
        ending.add_done_callback(lambda task: told.append(task.result().kind))
        await script.asked_for_output.get()
        script.output.put_nowait(WRITTEN)
        script.output.put_nowait(TOLD)
        await ending

    assert told == [b"written\n", "step.finished"]


async def test_what_a_run_wrote_last_is_heard_before_its_end_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_run, "LAST_OUTPUT_SECONDS", 0.0)
    script, told = Script(STARTED + ENDED), list[Any]()
    async with run_on(script) as run, aclosing(run.events()) as events, asyncio.TaskGroup() as group:
        run.hear_output(lambda output: told.append(output.data))
        assert (await anext(events)).kind == "step.started"
        ending = group.create_task(next_event(events))
        ending.add_done_callback(lambda task: told.append(task.result().kind))
        await script.asked_for_output.get()
        script.output.put_nowait(WRITTEN)
        script.output.put_nowait(END)
        await ending

    assert told == [b"written\n", "run.ended"]


async def test_output_that_does_not_come_holds_nothing_up_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_run, "LATE_OUTPUT_SECONDS", 0.05)
    async with run_on(Script()) as run, aclosing(run.events()) as events:
        run.hear_output(lambda output: None)
        assert [(await anext(events)).kind for _ in range(2)] == ["step.started", "step.finished"]


async def test_whoever_stops_listening_waits_for_no_output_any_more() -> None:
    script = Script()
    async with run_on(script) as run, aclosing(run.events()) as events, asyncio.TaskGroup() as group:
        unhear = run.hear_output(lambda output: None)
        await anext(events)
        ending = group.create_task(next_event(events))
        await script.asked_for_output.get()
        unhear()

        assert (await ending).kind == "step.finished"


async def test_whoever_stops_listening_at_once_waits_for_no_output(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_run, "LATE_OUTPUT_SECONDS", 2 * PATIENCE_SECONDS)
    async with run_on(Script()) as run, aclosing(run.events()) as events:
        run.hear_output(lambda output: None)()

        assert [(await anext(events)).kind for _ in range(2)] == ["step.started", "step.finished"]


async def test_whoever_listens_again_has_the_end_of_a_step_kept_back_again() -> None:
    script, heard = Script(), list[Output]()
    async with run_on(script) as run, aclosing(run.events()) as events, asyncio.TaskGroup() as group:
        unhear = run.hear_output(lambda output: None)
        await anext(events)
        await script.asked_for_output.get()
        unhear()
        run.hear_output(heard.append)
        ending = group.create_task(next_event(events))
        await script.asked_for_output.get()
        script.output.put_nowait(b"")  # for whoever listened first
        script.output.put_nowait(WRITTEN)
        script.output.put_nowait(TOLD)

        assert (await ending).kind == "step.finished"
        assert [output.data for output in heard] == [b"written\n"]


async def test_output_of_a_run_that_is_gone_keeps_nobody_from_following_it() -> None:
    async with run_on(Script(head=GONE)) as run, aclosing(run.events()) as events:
        run.hear_output(lambda output: None)

        assert [(await anext(events)).kind for _ in range(2)] == ["step.started", "step.finished"]


async def next_event(events: AsyncIterator[EventInfo]) -> EventInfo:
    return await anext(events)
