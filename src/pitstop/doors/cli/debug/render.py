"""A stop and its surroundings as styled text: values in, lines out."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from rich.text import Text

from pitstop.doors.cli.debug.commands import allowed_commands
from pitstop.doors.cli.debug.table import CHANGING, MOVING, TIME
from pitstop.doors.cli.signs import sign_of
from pitstop.service.debugging import BreakpointInfo, ChangeInfo, FileChanges, FileDiff, StopInfo, ToolCallInfo
from pitstop.service.flows import StepInfo

FRAME_STYLES = ("cyan", "magenta", "yellow", "green", "blue", "bright_red")
POSITION_STYLES = {"before": "bold", "after": "bold", "error": "bold red"}
REASONS = {
    "entry": "first step",
    "failure": "step failed",
    "pause": "pause requested",
    "completed": "end of the run",
    "escalated": "gave up, needs you",
}

AROUND = 4  # lines of the source before the current one, and after it
MOST_CHANGES = 5
MOST_ERROR_LINES = 12
SHORT_CHARACTERS = 76
_INDENT = "  "


def error_line(error: object) -> Text:
    """An error in one line."""
    return Text.assemble((f"{sign_of('failed').shape} ", "red"), " ".join(str(error).split()))


def frame_style(frame: str, frames: Sequence[str]) -> str:
    """The colour of a frame: the same for as long as the run lasts."""
    return FRAME_STYLES[frames.index(frame) % len(FRAME_STYLES)] if frame in frames else "default"


def json_text(value: Any, *, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def short(value: Any, limit: int = SHORT_CHARACTERS) -> str:
    """A value in one line, cut where it is long."""
    text = json_text(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


# --- The source ------------------------------------------------------------------------------------------------------


def source_lines(
    text: str, current: int | None, centre: int, dots: Mapping[int, bool], around: int = AROUND
) -> list[Text]:
    """The lines around one, with an arrow at the current one and a dot where a breakpoint is, hollow if it is off."""
    lines = text.splitlines()
    first = max(1, centre - around)
    last = min(len(lines), max(centre + around, first + 2 * around))
    width = len(str(last))
    shown = []
    for number in range(first, last + 1):
        is_current = number == current
        line = Text.assemble(
            ("→" if is_current else " ", "bold yellow"),
            ("●" if dots.get(number) else "○" if number in dots else " ", "red"),
            (f" {number:>{width}} ", "bold" if is_current else "dim"),
            (f" {lines[number - 1]}", "bold" if is_current else ""),
        )
        line.rstrip()
        shown.append(line)
    return shown


def breakpoint_dots(breakpoints: Iterable[BreakpointInfo], steps: Mapping[str, StepInfo], file: str) -> dict[int, bool]:
    """The lines of a file that have a breakpoint, and whether one of them is on."""
    dots: dict[int, bool] = {}
    for breakpoint in breakpoints:
        found = (steps[path] for path in breakpoint.paths if path in steps)
        lines = [step.line for step in found if step.file == file and step.line is not None]
        for line in lines:
            dots[line] = dots.get(line, False) or breakpoint.request.enabled
    return dots


# --- A stop ----------------------------------------------------------------------------------------------------------


def stop_title(stop: StopInfo, step: StepInfo | None, style: str) -> Text:
    """Where a stop is, in one line."""
    title = Text.assemble(
        ("● ", style),
        (f"stop {stop.id}  ", "bold"),
        (stop.frame, style),
        "  ",
        (stop.position, POSITION_STYLES[stop.position]),
        (f" {stop.occurrence or 'the end of the run'}", "bold"),
    )
    if stop.call is not None:
        title.append(f"  {stop.call.name}")
    elif step is not None and step.title not in (stop.step, step.id):
        title.append(f"  {step.title}")
    if stop.is_injected or stop.is_cleanup:
        title.append("  injected" if stop.is_injected else "  cleanup", style="italic")
    if step is not None and step.place and stop.call is None:
        title.append(f"  {step.place}", style="dim")
    return title


def stop_reasons(stop: StopInfo, *, most_error_lines: int = MOST_ERROR_LINES) -> list[Text]:
    """Why it stopped there, what went wrong, and what is wrong with a breakpoint's condition."""
    told = [_reason(reason, stop) for reason in stop.reasons]
    lines = [Text(_INDENT).append(", ".join(told), style="dim")]
    lines += [Text(_INDENT).append(note, style="italic") for note in stop.notes]
    if not stop.will_run:
        lines.append(Text(_INDENT).append("its `if` is false: it will be skipped", style="yellow"))
    outcome = stop.outcome
    if outcome is not None and outcome.error_type is not None:
        told_lines = f"{outcome.error_type}: {outcome.error}".splitlines()
        if "escalated" in stop.reasons:  # its message has what was tried, and how to continue
            lines += [Text(f"{_INDENT}{line}") for line in told_lines]
        else:
            lines += [Text(f"{_INDENT}{line}", style="red") for line in told_lines[:most_error_lines]]
    elif outcome is not None:
        sign = sign_of(outcome.status)
        lines.append(Text(_INDENT).append(f"{sign.shape} {outcome.status}", style=sign.style))
    return lines + [Text(_INDENT).append(f"! {problem}", style="yellow") for problem in stop.problems]


def call_lines(call: ToolCallInfo) -> list[Text]:
    """What a tool call will do: its command or files, its other input, and whether the hold is a guarantee."""
    shown = [("command", call.command or ""), ("files", ", ".join(call.paths))]
    told = {call.command, *call.paths}
    shown += [(name, short(value)) for name, value in call.input.items() if _is_untold(value, told)]
    lines = [
        Text(_INDENT).append(name, style="cyan").append(f"  {line}")
        for name, text in shown
        if text
        for line in text.splitlines()[:MOST_ERROR_LINES]
    ]
    if not call.guarantee:
        hint = "the agent's own hook holds this call: a convenience, not a guard"
        lines.append(Text(_INDENT).append(hint, style="dim"))
    return lines


def _is_untold(value: Any, told: Collection[str | None]) -> bool:
    return not isinstance(value, str) or value not in told


def _reason(reason: str, stop: StopInfo) -> str:
    if reason == "breakpoint" and stop.breakpoints:
        return f"breakpoint {', '.join(map(str, stop.breakpoints))}"
    return REASONS.get(reason, reason)


def stop_verbs(stop: StopInfo) -> Text:
    """What can be done here, in the words of the prompt."""
    allowed = allowed_commands(stop.allowed)
    parts = [" ".join(allowed[group]) for group in (MOVING, CHANGING, TIME) if group in allowed]
    return Text(_INDENT).append("can  ", style="dim").append(" · ".join(parts), style="dim")


def watch_lines(values: Mapping[str, Any]) -> list[Text]:
    return [_watch_line(expression, value) for expression, value in values.items()]


def _watch_line(expression: str, found: Mapping[str, Any]) -> Text:
    line = Text(_INDENT).append(expression, style="cyan").append(" = ")
    return line.append(found["error"], style="red") if "error" in found else line.append(short(found["value"]))


def change_lines(changes: Sequence[ChangeInfo], most: int | None = None) -> list[Text]:
    """What changed; a short list says how much it leaves out."""
    shown = changes if most is None else changes[:most]
    lines = [_change_line(change) for change in shown]
    if len(shown) < len(changes):
        lines.append(Text(f"{_INDENT}… {len(changes) - len(shown)} more: diff", style="dim"))
    return lines


def file_lines(found: FileChanges) -> list[Text]:
    """Files that changed, by path."""
    signs = {"added": ("+", "green"), "removed": ("-", "red"), "changed": ("~", "yellow"), "mode": ("m", "yellow")}
    lines = []
    for change in found.changes:
        sign, style = signs[change.kind]
        lines.append(Text(_INDENT).append(f"{sign} {change.path}", style=style))
    if len(found.changes) < found.total:
        lines.append(Text(f"{_INDENT}… {found.total - len(found.changes)} more", style="dim"))
    return lines


def file_diff_lines(diff: FileDiff) -> list[Text]:
    if not diff.kind:
        return [Text(f"{_INDENT}{diff.path} is unchanged", style="dim")]
    if not diff.diff:
        told = "its permissions changed" if diff.kind == "mode" else f"{diff.kind}; binary file"
        return [Text(f"{_INDENT}{diff.path}: {told}", style="dim")]
    styles = {"+": "green", "-": "red", "@": "cyan"}
    lines = [Text(line, style=styles.get(line[:1], "default")) for line in diff.diff.splitlines()]
    return [*lines, Text("… only the beginning was compared", style="dim")] if diff.is_cut else lines


def _change_line(change: ChangeInfo) -> Text:
    line = Text(_INDENT)
    match change.kind:
        case "added":
            return line.append(f"+ {change.path} ", style="green").append(short(change.after))
        case "removed":
            return line.append(f"- {change.path} ", style="red").append(short(change.before))
        case "changed":
            before, after = short(change.before, SHORT_CHARACTERS // 2), short(change.after, SHORT_CHARACTERS // 2)
            return line.append(f"~ {change.path} ", style="yellow").append(f"{before} → {after}")
