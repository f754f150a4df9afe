"""The HTTP app: every family of routes, behind the gate."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from pitstop.doors.http import answers, openapi
from pitstop.doors.http.gate.forwarding import Forwarding
from pitstop.doors.http.gate.gate import Gate
from pitstop.doors.http.gate.git import GitGate
from pitstop.doors.http.gate.headers import SafeHeaders
from pitstop.doors.http.gate.hooks import HookGate
from pitstop.doors.http.gate.limits import BodyLimit, Limits, Places
from pitstop.doors.http.metrics import CountRequests, Metrics
from pitstop.doors.http.openapi import describe
from pitstop.doors.http.routes import (
    audit,
    breakpoints,
    cards,
    debug,
    events,
    feed,
    flows,
    health,
    hooks,
    login,
    logs,
    repos,
    runs,
    secrets,
    shell,
    socket,
    steps,
    test_history,
    tokens,
    trials,
    website,
)
from pitstop.doors.http.routes.route import API
from pitstop.doors.http.streams.shell_sessions import ShellSessions
from pitstop.doors.http.streams.streams import Streams
from pitstop.errors import PitstopError
from pitstop.service.access import Access
from pitstop.service.desks import Service
from pitstop.service.idempotency import Idempotency
from pitstop.service.operations import Operations


def create_app(
    service: Service,
    idempotency: Idempotency,
    operations: Operations,
    *,
    web: Path | None = website.BUILT,
    hosts: Iterable[str] = (),
    limits: Limits | None = None,
) -> FastAPI:
    """The door to a service that is open already, and that its opener closes. The service must have all desks.

    Requests may be for `hosts` and this machine's loopback names.
    """
    if service.access is None or service.secrets is None or service.audit is None:
        raise TypeError("a service without access, secrets and an audit log cannot be served over HTTP")
    limits = limits or Limits()
    metrics = Metrics()
    streams = Streams(limits, metrics)
    shells = ShellSessions(limits)
    forwarding = Forwarding(service)
    sockets = Places(limits.sockets, limits.sockets, "sockets")
    metrics.sockets.set_function(lambda: sockets.taken)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        async with streams.open():
            try:
                yield
            finally:
                await shells.close()
                await forwarding.close()

    app = FastAPI(
        title="Pitstop",
        lifespan=lifespan,
        openapi_url=None,  # our own route answers it, from a thread
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.limits = limits
    app.state.streams = streams
    app.state.idempotency = idempotency
    app.state.forwarding = forwarding
    for router in (
        debug.routes(service, limits),  # the first that a request is compared with, because steps are taken by it
        tokens.routes(service.access),
        secrets.routes(service.secrets),
        audit.routes(service.audit),
        shell.routes(service, streams, shells, sockets),
        socket.routes(service, streams, sockets, limits),
        *_service_routes(service, streams, limits),
        health.routes(operations, metrics),
        login.routes(service.access),
        *_platform_routes(service, streams),
    ):
        app.router.routes += router.routes  # to include a router would match a request twice
    app.router.default = website.Website(web)
    app.add_route(f"{API}/openapi.json", openapi.answer_description, include_in_schema=False)
    describe(app)
    _guard(app, service, service.access, hosts, limits, metrics)
    return app


def _service_routes(service: Service, streams: Streams, limits: Limits) -> tuple[APIRouter, ...]:
    return (
        runs.routes(service, streams),
        events.routes(service, streams),
        logs.routes(service, limits),
        breakpoints.flow_routes(service),
        flows.routes(service),
        steps.routes(service),
    )


def _platform_routes(service: Service, streams: Streams) -> tuple[APIRouter, ...]:
    """Those of the desks that only a server with a database has."""
    if service.repos is None or service.triggers is None or service.feed is None:
        return ()
    if service.hooks is None or service.test_history is None:
        return ()
    if service.cards is None or service.playground is None:
        return ()
    return (
        breakpoints.repo_flow_routes(service),
        repos.routes(service.repos),
        repos.flow_routes(service.triggers),
        cards.routes(service.cards),
        trials.routes(service.playground),
        hooks.routes(service.hooks),
        test_history.routes(service.test_history),
        feed.routes(service.feed, streams),
    )


def _guard(
    app: FastAPI, service: Service, access: Access, hosts: Iterable[str], limits: Limits, metrics: Metrics
) -> None:
    """Put the gate in front of the routes, and turn errors into problem details."""
    app.add_exception_handler(PitstopError, answers.answer_error)
    app.add_exception_handler(RequestValidationError, answers.answer_invalid)
    app.add_exception_handler(HTTPException, answers.answer_http_error)
    app.add_exception_handler(ClientDisconnect, answers.answer_disconnected)
    app.add_exception_handler(Exception, answers.answer_bug)
    app.add_middleware(BodyLimit, limits=limits)
    app.add_middleware(Gate, access=access, hosts=tuple(hosts))
    forwarding: Forwarding = app.state.forwarding
    if service.git is not None:
        app.add_middleware(GitGate, access=access, server=service.git, hosts=tuple(hosts), forwarding=forwarding)
    if service.deliveries is not None:
        app.add_middleware(HookGate, server=service.deliveries, hosts=tuple(hosts), forwarding=forwarding)
    app.add_middleware(SafeHeaders)
    app.add_middleware(CountRequests, metrics=metrics)  # the outermost: it counts what the others refuse
