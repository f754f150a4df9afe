"""Runs as traces, read from a real SDK."""

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from pitstop.runs.tracing import RunTrace
from pitstop.service.runs import EventInfo


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    return exporter


def test_a_run_is_a_trace_and_a_step_is_a_span_under_the_step_around_it(spans: InMemorySpanExporter) -> None:
    tell(
        event("run.started", 1, plan="ci", inputs={}),
        event("step.started", 2, frame="main", step="checks", occurrence="checks"),
        event("step.started", 3, frame="main", step="checks.lint", occurrence="checks.lint"),
        event("debug.stopped", 4, stop=1, frame="main", step="checks.lint", occurrence="checks.lint", reasons=["step"]),
        event("step.finished", 5, occurrence="checks.lint", outcome=outcome("failed", "it is broken")),
        event("step.finished", 6, occurrence="checks", outcome=outcome("failed", "a step in it failed")),
        event("run.ended", 7, outcome=outcome("failed", "a step in it failed")),
    )

    lint, checks, run = spans.get_finished_spans()
    assert (run.name, checks.name, lint.name) == ("run ci", "step checks", "step checks.lint")
    assert run.context is not None
    assert {each.context.trace_id for each in (checks, lint) if each.context} == {run.context.trace_id}
    assert checks.parent is not None
    assert checks.parent.span_id == run.context.span_id
    assert lint.parent is not None
    assert checks.context is not None
    assert lint.parent.span_id == checks.context.span_id
    assert (lint.start_time, lint.end_time) == (3_000_000_000, 5_000_000_000)
    assert lint.status.description == "it is broken"
    assert [each.name for each in lint.events] == ["debug.stopped"]


def test_what_a_dead_server_left_open_is_ended_when_the_run_goes_on(spans: InMemorySpanExporter) -> None:
    tell(
        event("run.started", 1, plan="ci", inputs={}),
        event("step.started", 2, frame="main", step="build", occurrence="build"),
        event("run.started", 10, plan="ci", inputs={}),
        event("run.ended", 11, outcome=outcome("passed")),
    )

    assert [each.name for each in spans.get_finished_spans()] == ["step build", "run ci", "run ci"]


def tell(*events: EventInfo) -> None:
    told = RunTrace("run-1", "ci")
    for each in events:
        told.take(each)


def event(kind: str, at: float, **fields: object) -> EventInfo:
    return EventInfo(1, kind, at, fields)


def outcome(status: str, message: str | None = None) -> dict[str, object]:
    return {"status": status, "error": None if message is None else {"type": "Failed", "message": message}}
