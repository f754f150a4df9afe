"""What a client is told about single steps: how long they take, how they failed, what they log."""

import json
from collections.abc import Mapping
from typing import Any

from pitstop.doors.dap.session.editor import Editor
from pitstop.doors.dap.session.outputs import Outputs
from pitstop.doors.dap.session.places import Places
from pitstop.service.runs import EventInfo

IN_PYTHON = ("node", "python")  # kinds whose failures were raised in the code of a user


class StepNews:
    """Reports the events of steps. `traces` has what was raised in Python, by occurrence.

    With `tells_ends` the end of each step is an event of its own, `pitstop/step`.
    """

    def __init__(self, editor: Editor, places: Places, outputs: Outputs, *, tells_ends: bool) -> None:
        self.traces: dict[str, str] = {}
        self._editor = editor
        self._places = places
        self._outputs = outputs
        self._tells_ends = tells_ends
        self._started: dict[str, float] = {}

    def hear(self, event: EventInfo) -> None:
        fields = event.fields
        match event.kind:
            case "step.started":
                self._editor.progress.begin(fields["occurrence"], f"Step {fields['occurrence']}")
                self._started[fields["occurrence"]] = event.at
            case "step.finished":
                self._editor.progress.end(fields["occurrence"])
                self._hear_finished(fields, event.at)
            case "debug.logged":
                message = self._editor.breakpoints.as_written(fields["breakpoint"], fields["message"])
                self._editor.say_at(self._places.step(fields["step"]), message)
            case "debug.python_waited":
                self._tell_python(fields)

    def _hear_finished(self, fields: Mapping[str, Any], at: float) -> None:
        self._outputs.end(fields["occurrence"])
        outcome = fields["outcome"]
        error = outcome.get("error")
        step = self._places.step(fields["step"])
        if error and error.get("trace") and step is not None and step.kind in IN_PYTHON:
            self.traces[fields["occurrence"]] = error["trace"]
        if self._tells_ends:
            self._tell_step(fields, at)
        if outcome["status"] in ("failed", "timed_out") and error and error["origin"] in ("", fields["occurrence"]):
            self._editor.say_at(step, f"{fields['occurrence']} {outcome['status']}: {error['message']}", "stderr")

    def _tell_step(self, fields: Mapping[str, Any], at: float) -> None:
        """A custom event: how a step ended, for a client that shows it beside the step."""
        step, error = self._places.step(fields["step"]), fields["outcome"].get("error")
        started = self._started.pop(fields["occurrence"], None)
        self._editor.tell(
            "pitstop/step",
            {
                "path": fields["step"],
                "occurrence": fields["occurrence"],
                "status": fields["outcome"]["status"],
                "file": None if step is None or step.file is None else self._editor.sources.path_here(step.file),
                "line": None if step is None or step.line is None else self._editor.client.line_out(step.line),
                "seconds": None if started is None else round(at - started, 3),
                "error": None if error is None else error["message"],
            },
        )

    def _tell_python(self, fields: Mapping[str, Any]) -> None:
        """The VS Code extension attaches by itself; users of other editors are shown how to."""
        host, port, line = fields["host"], fields["port"], fields["line"]
        attach = json.dumps({"type": "debugpy", "request": "attach", "connect": {"host": host, "port": port}})
        waiting = f"{fields['occurrence']} is waiting for a Python debugger; attach with {attach}"
        self._editor.say_at(self._places.step(fields["step"]), waiting)
        self._editor.tell(
            "pitstop/python",
            {
                "host": host,
                "port": port,
                "file": fields["file"],
                "line": None if line is None else self._editor.client.line_out(line),
            },
        )
