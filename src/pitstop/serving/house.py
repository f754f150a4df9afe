"""A whole server, from its database to its socket."""

import asyncio
import errno
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path

from msgspec import Struct

from pitstop.app import open_server_service
from pitstop.doors.http.app import create_app
from pitstop.doors.http.server import HttpServer, allow_connections, open_socket
from pitstop.engine.clock import SystemClock
from pitstop.engine.ports import Clock
from pitstop.errors import PitstopError
from pitstop.platform.open_repos import read_home_id
from pitstop.platform.stored.all import stored_in
from pitstop.platform.stored.feed import tell_statuses
from pitstop.platform.stored.test_report_consumer import TestReportConsumer
from pitstop.platform.workshop import Workshop
from pitstop.runs.server_runs import ServerOptions
from pitstop.service.access import Access
from pitstop.service.audit import Audit
from pitstop.service.idempotency import Idempotency
from pitstop.service.local.hooks import open_secret
from pitstop.service.local.server import ServerService
from pitstop.service.private_files import replace_private
from pitstop.service.sealing import read_seal
from pitstop.service.secrets import Secrets
from pitstop.service.stored.answers import StoredAnswers
from pitstop.service.stored.audit import StoredAudit
from pitstop.service.stored.secrets import StoredSecrets
from pitstop.service.stored.tokens import StoredTokens
from pitstop.serving.notify import notify_systemd
from pitstop.serving.operations import ServerOperations
from pitstop.serving.process_privacy import hide_process
from pitstop.settings import Settings
from pitstop.store.sql.consumers import Consumers
from pitstop.store.sql.store import open_sql_store

PORT = 7878
TRIED_PORTS = 10
# A process that a killed server was about to start has its socket until it becomes what it was started for.
LOOKS, LOOK_SECONDS = 150, 0.02
SWITCH_SECONDS = 0.0005  # how long the loop keeps a thread waiting, at each call of the database that the thread makes

log = logging.getLogger("pitstop")


class NoPort(PitstopError):
    """There is nowhere to listen."""

    code = "server.no_port"

    def __init__(self, host: str, port: int, reason: str) -> None:
        super().__init__(f"cannot listen on {host}:{port}: {reason}. Use another --port, or --port 0 for any free one")


class Serving(Struct, frozen=True, kw_only=True):
    """What a server is told. Without a port it takes the first free one from PORT on."""

    settings: Settings
    host: str = "127.0.0.1"
    port: int | None = None
    slots: int = 4
    flow_folders: tuple[Path, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    lease_seconds: float = 15.0
    drain_seconds: float = 10.0
    keep_seconds: float = 24 * 3600.0


class Open(Struct, frozen=True):
    """A server that listens."""

    service: ServerService
    access: Access
    server: HttpServer
    url: str

    def login_link(self) -> str:
        return f"{self.url}login?code={self.access.new_login_code()}"


@asynccontextmanager
async def open_house(serving: Serving) -> AsyncIterator[Open]:
    """A server for as long as the context lasts; leaving it hands its runs over."""
    settings = serving.settings
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    allow_connections()
    clock = SystemClock()
    with await listen(serving.host, serving.port, clock) as listening:
        url = url_of(serving.host, listening)
        store = await open_sql_store(settings.database, on_status=tell_statuses)
        seal = read_seal(settings.key_file)
        home = read_home_id(settings.home_id_file)
        options = ServerOptions(
            address=url,
            home=home,
            slots=serving.slots,
            lease_seconds=serving.lease_seconds,
            drain_seconds=serving.drain_seconds,
            keep_seconds=serving.keep_seconds,
        )
        folders = serving.flow_folders
        audit = Audit(StoredAudit(store))
        secrets = Secrets(StoredSecrets(store.database), seal, audit.record)
        access = Access(StoredTokens(store.database, seal, settings.token_file), record=audit.record)
        async with open_server_service(
            settings,
            store,
            seal,
            options,
            secrets,
            folders,
            access=access,
            audit=audit,
            clock=clock,
            new_workshop=partial(
                Workshop,
                stored_in(store.database, store.news),
                settings.repos,
                home,
                store.servers,
                open_secret(seal),
            ),
        ) as service:
            app = create_app(
                service,
                Idempotency(StoredAnswers(store.database)),
                ServerOperations(service.owned, store, settings.home),
                hosts=(*serving.allowed_hosts, serving.host),
            )
            server = HttpServer(app)
            consumers = Consumers(store.database, store.news, [TestReportConsumer(store.database)])
            async with asyncio.TaskGroup() as group:
                consuming = group.create_task(consumers.follow(), name="consumers of the logs")
                serving_http = group.create_task(server._serve([listening]), name="http")
                await server.listening.wait()
                try:
                    with address_kept(settings, url):
                        yield Open(service, access, server, url)
                finally:
                    consuming.cancel()
                    server.should_exit = True
                    await asyncio.wait([serving_http])  # in good order, whatever ends it: streams hold on to runs


@contextmanager
def address_kept(settings: Settings, url: str) -> Iterator[None]:
    """Let `pitstop login` know where this server is; of several the last."""
    replace_private(settings.address_file, f"{url}\n")
    try:
        yield
    finally:
        with suppress(OSError):
            if settings.address_file.read_text().strip() == url:
                settings.address_file.unlink()


async def serve(serving: Serving, on_open: Callable[[Open], None]) -> None:
    """Serve until the process is told to end."""
    hide_process()
    sys.setswitchinterval(SWITCH_SECONDS)
    ending = asyncio.Event()
    loop = asyncio.get_running_loop()
    async with open_house(serving) as house:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, ending.set)
        on_open(house)
        gc.freeze()  # what is there by now stays: to look through it again and again would hold up whoever waits
        notify_systemd("READY=1")
        log.info("serving", extra={"url": house.url})
        await ending.wait()
        notify_systemd("STOPPING=1")
        log.info("shutting down: handing over active runs")
        for number in (signal.SIGINT, signal.SIGTERM):  # once more ends it at once, and cancels no run: as a kill would
            loop.add_signal_handler(number, os._exit, 1)


async def listen(host: str, port: int | None, clock: Clock) -> socket.socket:
    """NoPort when nothing is free there; a port that is named has a moment to become free."""
    wanted = range(PORT, PORT + TRIED_PORTS) if port is None else [port]
    looks = 0
    while True:
        looks += 1
        refused: list[Exception] = []
        for each in wanted:
            try:
                return open_socket(host, each)
            except (OSError, OverflowError) as error:
                refused.append(error)
        last = refused[-1]
        if getattr(last, "errno", None) != errno.EADDRINUSE or port is None or looks > LOOKS:
            raise NoPort(host, wanted[0], getattr(last, "strerror", None) or str(last)) from last
        if looks == 1:
            log.warning("port %s is in use: waiting %.0f s for it", port, LOOKS * LOOK_SECONDS)
        await clock.sleep(LOOK_SECONDS)


def url_of(host: str, listening: socket.socket) -> str:
    port = listening.getsockname()[1]
    shown = "127.0.0.1" if host in ("0.0.0.0", "::") else host
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}/"
