"""A real server on a free port, with a real service behind it, and clients that talk to it."""

import asyncio
import json
import socket
import textwrap
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
from msgspec import structs

from pitstop.app import open_service
from pitstop.doors.http.app import create_app
from pitstop.doors.http.gate.limits import Limits
from pitstop.doors.http.server import HttpServer, allow_connections, open_socket
from pitstop.errors import NotRunning
from pitstop.service.access import Access
from pitstop.service.audit import Audit
from pitstop.service.caller import LOCAL
from pitstop.service.desks import Service
from pitstop.service.idempotency import Idempotency
from pitstop.service.in_memory import AlwaysReady, MemoryAnswers, MemoryAudit, MemorySecrets, MemoryTokens, new_seal
from pitstop.service.runs import RunQuery
from pitstop.service.secrets import Secrets
from pitstop.settings import Settings
from tests.patience import PATIENCE_SECONDS

API = "/api/v1"
PATIENT: dict[str, Any] = {"open_timeout": PATIENCE_SECONDS, "ping_interval": None, "proxy": None}  # of a socket


class Bench:
    """A server with a folder and a state of its own; `client` is an operator's."""

    access: Access
    client: httpx.AsyncClient
    url: str

    def __init__(
        self, folder: Path, limits: Limits | None = None, web: Path | None = None, settings: Settings | None = None
    ) -> None:
        self.work_in(folder)
        self.settings = settings or Settings(folder / "state")
        self.keeper = MemoryTokens()
        self.audit = MemoryAudit()
        self.secrets = MemorySecrets()
        self.answers = MemoryAnswers()
        self.limits = limits
        self.web = web
        self.service: Service

    def work_in(self, folder: Path) -> None:
        """Let the runs from here on work in this folder."""
        self.folder = folder / "work"
        self.folder.mkdir(exist_ok=True)

    @property
    def token(self) -> str:
        return self.keeper.token

    @asynccontextmanager
    async def serving(self, port: int = 0) -> AsyncIterator["Bench"]:
        allow_connections()
        audit = Audit(self.audit)
        self.access = Access(self.keeper, record=audit.record)
        secrets = Secrets(self.secrets, new_seal(), audit.record)
        async with open_service(self.settings, audit=audit) as service:
            self.service = structs.replace(service, access=self.access, secrets=secrets)
            app = create_app(self.service, Idempotency(self.answers), AlwaysReady(), web=self.web, limits=self.limits)
            with open_socket("127.0.0.1", port) as listening:
                self.port = listening.getsockname()[1]
                self.url = f"http://127.0.0.1:{self.port}"
                try:
                    async with self._answering(HttpServer(app), listening), self.new_client(self.token) as self.client:
                        yield self
                except BaseExceptionGroup as group_of_one:  # what a test raised: it knows of no group
                    raise group_of_one.exceptions[0] from None

    async def clear(self) -> None:
        """End and forget every run, and whatever else the server was told: it is as if it had just begun."""
        while runs := (await self.service.runs.list(LOCAL, RunQuery(limit=500))).runs:
            for run in runs:
                with suppress(NotRunning):
                    await self.service.runs.kill(LOCAL, run.id)
            for run in runs:
                await (await self.service.runs.get(LOCAL, run.id)).wait()
                await self.service.runs.delete(LOCAL, run.id)
        for token in await self.access.tokens(LOCAL):
            if token.name != "owner":
                await self.access.remove_token(LOCAL, token.name)
        self.secrets._stored.clear()
        self.audit._entries.clear()
        self.answers._answers.clear()

    @asynccontextmanager
    async def _answering(self, server: HttpServer, listening: socket.socket) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(server._serve([listening]))  # `serve` would take this process's signals
            await server.listening.wait()
            try:
                yield
            finally:
                server.should_exit = True
                await asyncio.wait([serving])

    def new_client(self, token: str | None = None, **options: Any) -> httpx.AsyncClient:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return httpx.AsyncClient(
            base_url=self.url, headers=headers, timeout=PATIENCE_SECONDS, trust_env=False, **options
        )

    # Asking

    async def get(self, path: str, expect: int = 200, /, **params: Any) -> Any:
        response = await self.client.get(API + path, params=params)
        assert response.status_code == expect, response.text
        return response.json()

    async def post(self, path: str, expect: int = 200, /, **body: Any) -> Any:
        response = await self.client.post(API + path, json=body)
        assert response.status_code == expect, response.text
        return response.json() if response.content else None

    async def start(self, text: str, **more: Any) -> Any:
        """Start a run of this text in the folder; gives its RunInfo."""
        body = {"flow": {"text": textwrap.dedent(text), "name": "flow.yaml"}, "folder": str(self.folder), **more}
        return await self.post("/runs", 201, **body)

    async def wait_ended(self, run: str) -> Any:
        async with asyncio.timeout(PATIENCE_SECONDS):
            async for event in self.events(run):
                if event["kind"] == "run.ended":
                    break
        return await self.get(f"/runs/{run}")

    async def wait_for(self, path: str) -> Any:
        """What is answered there, as soon as it is not empty any more."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not (answer := await self.get(path)):
                pass
        return answer

    async def wait_stops(self, run: str, count: int = 1, above: int = 0) -> list[Any]:
        """The stops that last, as soon as there are so many with ids above a number."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                state = await self.get(f"/runs/{run}/debug")
                stops = [stop for stop in state["stops"] if stop["id"] > above]
                if len(stops) >= count:
                    return stops
                assert not state["is_ended"], f"the run ended without {count} stops"
                async with aclosing(self.events(run, after=state["last_event"])) as events:
                    await anext(events)

    async def events(
        self, run: str, after: int = 0, client: httpx.AsyncClient | None = None
    ) -> AsyncGenerator[Any, None]:
        async for _, _, data in self.stream(f"/runs/{run}/events?after={after}", client=client):
            if data:
                yield data

    async def stream(
        self, path: str, client: httpx.AsyncClient | None = None, last_id: str | None = None
    ) -> AsyncGenerator[tuple[str | None, str | None, Any], None]:
        """Each server-sent event: its id, its name, and its data."""
        headers = {} if last_id is None else {"Last-Event-ID": last_id}
        async with (client or self.client).stream("GET", API + path, headers=headers) as response:
            assert response.status_code == 200, (await response.aread()).decode()
            fields: dict[str, str] = {}
            async for line in response.aiter_lines():
                if line:
                    name, _, value = line.partition(": ")
                    fields[name] = value
                elif "data" in fields or "event" in fields:
                    yield fields.get("id"), fields.get("event"), json.loads(fields.get("data", "null"))
                    fields = {}
