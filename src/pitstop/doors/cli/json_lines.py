"""A run as JSON, one event per line: for programs."""

import base64
import json
from argparse import Namespace
from typing import Any, BinaryIO

from pitstop.doors.cli.closing import Ending, Left, debug_command, resume_command
from pitstop.doors.cli.exit_codes import DETACHED
from pitstop.doors.cli.plain import Seldom
from pitstop.service.runs import EVENT_SCHEMA, EventInfo, Output, WorkspaceProgress


class JsonDisplay:
    """Writes what happens as it happens. At a stop and at the end, `next` has the commands that go on from there."""

    def __init__(self, run: str, out: BinaryIO, options: Namespace) -> None:
        self._run = run
        self._out = out
        self._options = options
        self._seldom = Seldom()

    def hear(self, output: Output) -> None:
        said = {"occurrence": output.occurrence, "stream": output.stream, **_readable(output.data)}
        self._write({"kind": "step.output", "at": output.time, **said})

    def show(self, event: EventInfo) -> None:
        told = event.as_json()
        if event.kind == "debug.stopped":
            told["next"] = [resume_command(self._options, self._run)]
        self._write(told)

    def tell_progress(self, progress: WorkspaceProgress) -> None:
        if self._seldom.is_due(progress):
            self._write(progress.as_json())

    def note(self, text: str) -> None:
        self._write({"kind": "cli.note", "text": text})

    def close(self) -> None:
        pass

    def leave(self, left: Left) -> None:
        step = left.run.flow.step(left.step)
        told = {"run": left.run.id, "stop": left.stop, "step": left.step, "place": None if step is None else step.place}
        self._write({"kind": "cli.left", **told, "exit_code": DETACHED, "next": left.commands})

    def finish(self, ending: Ending) -> None:
        run, summary = ending.run, ending.summary
        steps = {step.path: step for step in run.flow.steps}
        failures = [
            {
                "step": each.step,
                "occurrence": each.occurrence,
                "place": steps[each.step].place if each.step in steps else None,
                "message": each.message,
                "log": ending.tails.get(each.occurrence, []),
            }
            for each in summary.failures
        ]
        self._write(
            {
                "kind": "cli.ended",
                "run": summary.run,
                "status": summary.status,
                "exit_code": ending.exit_code,
                "intervened": summary.intervened,
                "error": summary.error,
                "failures": failures,
                "stopped_at": ending.stopped_at,
                "next": [] if ending.step is None else [debug_command(self._options, self._run, ending.step)],
                "artifacts": ending.artifacts,
            }
        )

    def _write(self, value: dict[str, Any]) -> None:
        told = {"schema": EVENT_SCHEMA, **value}
        self._out.write(json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode(errors="replace") + b"\n")
        self._out.flush()


def _readable(data: bytes) -> dict[str, str]:
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}
