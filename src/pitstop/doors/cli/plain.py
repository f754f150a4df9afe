"""A run as lines of text without escape sequences: for logs, pipes and everything that is no terminal."""

import re
from argparse import Namespace
from collections.abc import Mapping
from typing import Any, BinaryIO

from pitstop.doors.cli.closing import Ending, Left, closing_lines, format_seconds, left_lines
from pitstop.service.flows import FlowInfo
from pitstop.service.runs import EventInfo, Output, WorkspaceProgress, printable

LEVELS = ("error", "warning", "info", "debug")
HELD_BYTES = 64 * 1024  # of a line that does not end, before it is shown all the same
TELL_SECONDS = 2.0  # at least between two lines on how far something is
_C1 = rb"\xc2[\x80-\x9f]"  # control characters that can begin an escape sequence, in UTF-8
_BAD_ENDS = ("failed", "timed_out", "cancelled")


class PlainDisplay:
    """A line for each event, and all that steps write, with the step before each line. Lines are written in batches."""

    def __init__(self, flow: FlowInfo, out: BinaryIO, options: Namespace) -> None:
        self._steps = {step.path: step for step in flow.steps}
        self._out = out
        self._options = options
        self._rank = LEVELS.index(options.log_level)
        self._shows_output = self._rank >= LEVELS.index("info")
        self._begun: dict[tuple[str, str], bytes] = {}  # lines that have not ended, by occurrence and stream
        self._started_at: dict[str, float] = {}
        self._seldom = Seldom()

    def hear(self, output: Output) -> None:
        if not self._shows_output:
            return
        key = (output.occurrence, output.stream)
        begun, data = self._begun.pop(key, b""), output.data
        end = data.rfind(b"\n") + 1
        if end:
            self._write_lines(output.occurrence, begun, data, end)
            begun, data = b"", data[end:]
        if len(begun) + len(data) > HELD_BYTES:
            self._write_lines(output.occurrence, begun, data + b"\n", len(data) + 1)
        elif begun or data:
            self._begun[key] = begun + data

    def show(self, event: EventInfo) -> None:
        level, line = self._told(event)
        if event.kind == "step.finished":
            self._end_lines(event.fields["occurrence"])
        if line and LEVELS.index(level) <= self._rank:
            self.note(line)

    def tell_progress(self, progress: WorkspaceProgress) -> None:
        if self._shows_output and progress.text and self._seldom.is_due(progress):
            self.note(progress.text)

    def note(self, text: str) -> None:
        self._out.write(f"{printable(text)}\n".encode(errors="replace"))
        self._out.flush()

    def close(self) -> None:
        for occurrence in {occurrence for occurrence, _ in self._begun}:
            self._end_lines(occurrence)

    def leave(self, left: Left) -> None:
        self.note("\n".join(left_lines(left)))

    def finish(self, ending: Ending) -> None:
        self.note("\n".join(closing_lines(ending, self._options)))

    def _end_lines(self, occurrence: str) -> None:
        """Show what a step left without a newline."""
        for stream in ("stdout", "stderr"):
            if data := self._begun.pop((occurrence, stream), b""):
                self._write_lines(occurrence, data, b"\n", 1)

    def _write_lines(self, occurrence: str, begun: bytes, data: bytes, end: int) -> None:
        """Write whole lines, each with its step before it: `begun`, and `data` up to `end`. Floods come this way."""
        if b"\r" in begun or b"\r" in data:
            begun, data = b"", folded(begun + data[:end])
            end = len(data)
        if _has_escapes(begun) or _has_escapes(data):
            text = (begun + data[:end]).decode(errors="surrogateescape")
            begun, data = b"", printable(text).encode(errors="surrogateescape")
            end = len(data)
        prefix = f"{occurrence} | ".encode()
        shown = data.replace(b"\n", b"\n" + prefix, data.count(b"\n") - 1)
        self._out.write(prefix + begun)
        self._out.write(memoryview(shown)[: len(shown) - len(data) + end])
        self._out.flush()

    def _told(self, event: EventInfo) -> tuple[str, str]:
        """The level of an event, and its line."""
        fields = event.fields
        match event.kind:
            case "step.started":
                self._started_at[fields["occurrence"]] = event.at
                step = self._steps.get(fields["step"])
                detail = f": {step.detail}" if step is not None and step.detail else ""
                return "info", f"{fields['occurrence']} started{detail}"
            case "step.finished":
                status, reason = ending_of(fields["outcome"])
                seconds = event.at - self._started_at.pop(fields["occurrence"], event.at)
                took = "" if status == "skipped" else f" after {format_seconds(seconds)}"
                line = f"{fields['occurrence']} {status}{took}{reason}"
                return ("warning" if status in _BAD_ENDS else "info"), line
            case "step.retried":
                return "warning", f"{fields['occurrence']} is retried"
            case "debug.stopped":
                why = ", ".join(fields["reasons"])
                return "warning", f"paused {fields['position']} {fields['occurrence']} ({why})"
            case "step.noted" if fields["note"].startswith("fix."):
                from pitstop.doors.cli.fix.lines import fix_line

                note = fix_line(event)
                return "info", "" if note is None else f"{fields['occurrence']} {note}"
            case "debug.logged":
                return "info", f"{fields['occurrence']} log: {fields['message']}"
            case "run.started":
                return "info", f"{fields['plan']} started"
            case "run.ended":
                status, reason = ending_of(fields["outcome"])
                return "debug", f"the run {status}{reason}"
        told = " ".join(f"{name}={value}" for name, value in fields.items())
        return "debug", f"{event.kind} {told}"


class Seldom:
    """Lets only so much through of what is told again and again, where each time is a line that stays."""

    def __init__(self) -> None:
        self._told_at: float | None = None

    def is_due(self, progress: WorkspaceProgress) -> bool:
        if progress.is_over:
            self._told_at = None
            return True
        if self._told_at is not None and progress.at - self._told_at < TELL_SECONDS:
            return False
        self._told_at = progress.at
        return True


def _has_escapes(data: bytes) -> bool:
    return b"\x1b" in data or re.search(_C1, data) is not None


def folded(lines: bytes) -> bytes:
    """Whole lines; of one that was written over with CR, the last state."""
    return b"\n".join(line.rstrip(b"\r").rpartition(b"\r")[2] for line in lines.split(b"\n"))


def ending_of(outcome: Mapping[str, Any]) -> tuple[str, str]:
    """The status, and the first line of why it came to that."""
    error = outcome.get("error")
    reason = str(error["message"] or error["type"]).partition("\n")[0] if error else ""
    return outcome["status"], f": {reason}" if reason else ""
