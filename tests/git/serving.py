"""A small HTTP server for git clients: uvicorn's protocol, and nothing between it and the backend."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from pitstop.errors import GitProblem, ServerBusy, Unknown
from pitstop.git.backend import GitBackend
from pitstop.git.bare import BareRepository
from pitstop.git.smart_http import GitRequest
from tests.patience import wait_until

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class ClientGone(Exception):
    """The client closed its connection before all of its body was there."""


class GitServer:
    """Serves one repository. It counts what arrives, so that a test can wait for it."""

    def __init__(self, repository: BareRepository, backend: GitBackend | None = None) -> None:
        self.repository = repository
        self.backend = backend or GitBackend()
        self.who = "Ada"
        self.may_push = True
        self.protected: tuple[str, ...] = ()
        self.url = ""
        self.requests: list[GitRequest] = []
        self.problems: list[Exception] = []
        self.received_bytes = 0
        self.sent_bytes = 0
        self.open_requests = 0
        self.gate = asyncio.Event()  # closed: no byte of an answer to a POST is sent
        self.gate.set()
        self.hold_body_at: int | None = None  # so many bytes are read, and no more until `body_gate` is open
        self.body_gate = asyncio.Event()

    @asynccontextmanager
    async def running(self) -> AsyncGenerator["GitServer"]:
        config = uvicorn.Config(self, http="httptools", lifespan="off", log_config=None, access_log=False)
        config.load()
        state = ServerState()
        loop = asyncio.get_running_loop()

        def connect() -> asyncio.Protocol:
            protocol: Any = config.http_protocol_class  # its type says nothing of its arguments
            made: asyncio.Protocol = protocol(config=config, server_state=state, app_state={})
            return made

        listening = await loop.create_server(connect, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/{self.repository.name}.git"
        try:
            yield self
        finally:
            listening.close()
            for connection in list(state.connections):
                connection.shutdown()
            await wait_until(lambda: not state.connections and not state.tasks, "a request does not end")
            await listening.wait_closed()

    async def wait_idle(self) -> None:
        await wait_until(lambda: self.open_requests == 0, "a request does not end")

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        self.open_requests += 1
        try:
            await self._serve(scope, receive, send)
        finally:
            self.open_requests -= 1

    async def _serve(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer; when the client has gone, cancel that."""
        request = self._request_of(scope)
        self.requests.append(request)
        body_ended = asyncio.Event()
        if request.method == "GET":
            body_ended.set()
        async with asyncio.TaskGroup() as group:
            answering = group.create_task(self._answer(request, self._body(receive, body_ended), send))
            watching = group.create_task(_cancel_when_gone(receive, body_ended, answering))
            await asyncio.wait([answering])
            watching.cancel()

    async def _answer(self, request: GitRequest, body: AsyncIterator[bytes], send: Send) -> None:
        is_started = False
        try:
            async with self.backend.answer(self.repository, request, body) as answer:
                if request.method == "POST":
                    await self.gate.wait()
                headers = [(name.encode(), value.encode()) for name, value in answer.headers]
                await send({"type": "http.response.start", "status": answer.status, "headers": headers})
                is_started = True
                async for piece in answer.body:
                    self.sent_bytes += len(piece)
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        except (Unknown, ServerBusy, GitProblem, ClientGone) as error:
            self.problems.append(error)
            if is_started:
                return  # uvicorn closes the connection of an answer that is not complete
            status = {Unknown: 404, ServerBusy: 503}.get(type(error), 500)
            text = f"{error}\n".encode()
            headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(text)).encode())]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": text})

    async def _body(self, receive: Receive, ended: asyncio.Event) -> AsyncGenerator[bytes]:
        while True:
            if self.hold_body_at is not None and self.received_bytes >= self.hold_body_at:
                await self.body_gate.wait()
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            self.received_bytes += len(message["body"])
            yield message["body"]
            if not message["more_body"]:
                ended.set()
                return

    def _request_of(self, scope: Message) -> GitRequest:
        headers = {name.decode().lower(): value.decode() for name, value in scope["headers"]}
        length = headers.get("content-length")
        return GitRequest(
            method=scope["method"],
            path=scope["path"].removeprefix(f"/{self.repository.name}.git"),
            query=scope["query_string"].decode(),
            content_type=headers.get("content-type"),
            content_length=None if length is None else int(length),
            content_encoding=headers.get("content-encoding"),
            git_protocol=headers.get("git-protocol"),
            who=self.who,
            may_push=self.may_push,
            protected=self.protected,
            remote_address=scope["client"][0],
        )


async def _cancel_when_gone(receive: Receive, body_ended: asyncio.Event, answering: asyncio.Task[None]) -> None:
    await body_ended.wait()
    while (await receive())["type"] != "http.disconnect":
        pass
    answering.cancel()
