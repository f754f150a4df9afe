"""Figures of the server for Prometheus."""

import time
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.metrics_core import CounterMetricFamily
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pitstop.service.operations import Figures

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """What is counted as it happens; the rest is asked for when somebody looks."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        names, registry = ("route", "method"), self.registry
        self._requests = Counter("pitstop_http_requests", "Requests.", (*names, "status"), registry=registry)
        self._durations = Histogram(
            "pitstop_http_request_seconds",
            "Time to the first byte of the response.",
            names,
            registry=registry,
            buckets=_BUCKETS,
        )
        self.streams = Gauge("pitstop_sse_clients", "Open event and output streams.", registry=self.registry)
        self.sockets = Gauge("pitstop_websocket_clients", "Open sockets.", registry=self.registry)

    def count(self, route: str, method: str, status: int, seconds: float) -> None:
        self._requests.labels(route, method, str(status)).inc()
        self._durations.labels(route, method).observe(seconds)

    def text(self, figures: Figures) -> bytes:
        return generate_latest(self.registry) + generate_latest(_Told(figures))


class _Told:
    def __init__(self, figures: Figures) -> None:
        self._figures = figures

    def collect(self) -> Iterable[Metric]:
        figures = self._figures
        runs = GaugeMetricFamily("pitstop_runs", "Runs by status.", labels=["status"])
        for status, number in sorted(figures.runs.items()):
            runs.add_metric([status], number)
        yield runs
        yield GaugeMetricFamily("pitstop_runs_waiting", "Runs waiting for a slot.", figures.waiting)
        yield GaugeMetricFamily("pitstop_slots", "Worker slots.", figures.slots)
        yield GaugeMetricFamily("pitstop_slots_taken", "Worker slots in use.", figures.slots_taken)
        yield GaugeMetricFamily("pitstop_stops_waiting", "Current stops.", figures.stops)
        yield CounterMetricFamily("pitstop_events_appended", "Events appended to logs.", figures.events)


class CountRequests:
    """ASGI: counts each request by its route, never by its path: there are only so many routes."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()

        async def send_counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                route = getattr(scope.get("route"), "name", "none")
                method = scope["method"] if scope["method"] in _METHODS else "other"
                self._metrics.count(route, method, message["status"], time.perf_counter() - started)
            await send(message)

        await self._app(scope, receive, send_counted)


_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
