"""Runs as traces: a run is a trace, a step a span, a stop an event of its span. Does nothing where no SDK is set up."""

from typing import Any

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, StatusCode

from pitstop.runs.run_output import EventInfo

NANOSECONDS = 1_000_000_000


class RunTrace:
    """The spans of one run, made from its events as they come. Values of steps are not in them."""

    def __init__(self, run: str, flow: str) -> None:
        self._tracer = trace.get_tracer("pitstop")
        self._run = run
        self._flow = flow
        self._root: Span | None = None
        self._steps: dict[str, Span] = {}  # by occurrence

    def take(self, event: EventInfo) -> None:
        fields, at = event.fields, round(event.at * NANOSECONDS)
        match event.kind:
            case "run.started":
                self._end_all(at)  # a server that died has left them open
                if self._root is not None:
                    self._root.end(at)
                attributes = {"pitstop.run": self._run, "pitstop.flow": self._flow}
                self._root = self._tracer.start_span(
                    f"run {self._flow}", kind=SpanKind.SERVER, attributes=attributes, start_time=at
                )
            case "step.started":
                self._begin_step(fields, at)
            case "step.finished":
                span = self._steps.pop(fields["occurrence"], None)
                if span is not None:
                    _end(span, fields["outcome"], at)
            case "debug.stopped" | "debug.resumed" | "debug.stop_ended" | "step.retried":
                span = self._steps.get(fields.get("occurrence", ""), self._root)
                if span is not None:
                    span.add_event(event.kind, _plain(fields), timestamp=at)
            case "run.ended":
                self._end_all(at)
                if self._root is not None:
                    _end(self._root, fields["outcome"], at)
                    self._root = None

    def _begin_step(self, fields: Any, at: int) -> None:
        occurrence = fields["occurrence"]
        around = occurrence.rpartition(".")[0]
        parent = self._steps.get(around, self._root)
        context = None if parent is None else trace.set_span_in_context(parent)
        attributes = {
            "pitstop.step": fields["step"],
            "pitstop.occurrence": occurrence,
            "pitstop.frame": fields["frame"],
        }
        self._steps[occurrence] = self._tracer.start_span(
            f"step {fields['step']}", context=context, attributes=attributes, start_time=at
        )

    def _end_all(self, at: int) -> None:
        for span in reversed(self._steps.values()):
            span.end(at)
        self._steps.clear()


def _end(span: Span, outcome: Any, at: int) -> None:
    status = outcome["status"]
    span.set_attribute("pitstop.status", status)
    if status in ("failed", "timed_out"):
        span.set_status(StatusCode.ERROR, (outcome.get("error") or {}).get("message", status))
    span.end(at)


def _plain(fields: Any) -> dict[str, str | int]:
    """What a span takes: ids and words."""
    return {name: value for name, value in fields.items() if isinstance(value, str | int)}
