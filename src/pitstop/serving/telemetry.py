"""Traces to wherever the environment says, by the words of OpenTelemetry: $OTEL_EXPORTER_OTLP_ENDPOINT and others."""

import os

from pitstop.errors import PitstopError


def set_up_traces() -> None:
    """Send traces if an endpoint is named; PitstopError when what sends them is not installed."""
    named = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    if not named:
        return
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise PitstopError("tracing is enabled but not installed: pip install 'pitstop[otel]'") from error
    provider = TracerProvider(resource=Resource.create({"service.name": "pitstop"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
