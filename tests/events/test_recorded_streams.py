"""Recorded runs give the same state in every fold: this one, and the web's, which is tested on the same files."""

import json
from pathlib import Path
from typing import Any

import pytest

from pitstop.events.log import events_from_json
from pitstop.events.view import fold
from tests.events.record_streams import STREAMS, view_as_json

RECORDED = sorted(STREAMS.glob("*.json"))


@pytest.mark.parametrize("file", RECORDED, ids=[file.stem for file in RECORDED])
def test_a_recorded_stream_gives_its_recorded_views(file: Path) -> None:
    recorded: dict[str, Any] = json.loads(file.read_text())
    events = events_from_json([_without_envelope(event) for event in recorded["events"]])

    assert recorded["views"]
    for number, view in recorded["views"].items():
        assert json.loads(json.dumps(view_as_json(fold(events[: int(number)])))) == view


def test_the_recorded_streams_have_what_a_debugger_does_in_them() -> None:
    kinds = {event["kind"] for file in RECORDED for event in json.loads(file.read_text())["events"]}

    assert {"debug.stopped", "debug.rewound", "debug.step_injected", "debug.aborted", "step.retried"} <= kinds
    assert "debug.shell_opened" in kinds


def _without_envelope(event: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in event.items() if name not in ("schema", "number")}
