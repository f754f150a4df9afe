"""The lists that a person asks for, as styled text: frames, breakpoints, variables, history, config, help."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from rich.text import Text

from pitstop.doors.cli.debug.render import frame_style, json_text
from pitstop.doors.cli.debug.table import GROUPS, TABLE, CommandSpec
from pitstop.doors.cli.debug.trail import Caller
from pitstop.doors.cli.signs import SIGNS, sign_of
from pitstop.service.debugging import (
    BreakpointInfo,
    ConfigInfo,
    ContextInfo,
    FrameInfo,
    PointInfo,
    StopInfo,
    VariablePage,
)
from pitstop.service.runs import BreakpointRequest, RunSummary

VALUE_CHARACTERS = 60
SHORT_ALIAS = 2
LONGEST_USAGE = 34
CONTEXT_LOG_LINES = 10
ENDS = {
    "passed": "the run passed",
    "failed": "the run failed",
    "timed_out": "the run timed out",
    "cancelled": "the run was cancelled",
}


def call_stack(callers: Sequence[Caller], frames: Sequence[str]) -> list[Text]:
    """The steps that are open, the innermost last."""
    rows = [
        (
            Text("→" if caller.is_current else " ", style="bold yellow"),
            Text(caller.frame, style=frame_style(caller.frame, frames)),
            Text(caller.occurrence or "the run", style="bold" if caller.is_current else "default"),
            Text(caller.step.kind if caller.step is not None else "", style="dim"),
            Text(caller.step.place if caller.step is not None else "", style="dim"),
        )
        for caller in callers
    ]
    return columns(rows)


def frame_list(frames: Sequence[FrameInfo], stops: Iterable[StopInfo], selected: str) -> list[Text]:
    at = {stop.frame: stop for stop in stops}
    ids = [frame.id for frame in frames]
    rows = []
    for frame in frames:
        stop = at.get(frame.id)
        rows.append(
            (
                Text("→" if frame.id == selected else " ", style="bold yellow"),
                Text(frame.id, style=frame_style(frame.id, ids)),
                Text(frame.state, style="bold" if stop is not None else "dim"),
                Text(f"stop {stop.id}  {stop.position} {stop.occurrence}" if stop is not None else ""),
            )
        )
    return columns(rows)


def breakpoint_list(breakpoints: Sequence[BreakpointInfo], *, is_muted: bool = False) -> list[Text]:
    muted = [Text("all muted until `unmute`", style="yellow")] if is_muted else []
    if not breakpoints:
        return [*muted, Text("no breakpoints", style="dim")]
    return [*muted, *(breakpoint_line(each) for each in breakpoints)]


def breakpoint_line(breakpoint: BreakpointInfo) -> Text:
    wanted = breakpoint.request
    dot = ("● " if wanted.enabled else "○ ", "red")
    line = Text.assemble(dot, (f"{breakpoint.id}  ", "bold"), breakpoint_place(wanted))
    for word, value in (("if", wanted.condition), ("hits", wanted.hits), ("group", wanted.group)):
        line.append(f" {word} {value}" if value is not None else "")
    line.append(f' log "{wanted.log}"' if wanted.log is not None else "")
    line.append(" once" if wanted.once else "")
    line.append(f"  {wanted.note}" if wanted.note is not None else "", style="italic")
    if breakpoint.hit_count:
        line.append(f"  hit {breakpoint.hit_count} times" if breakpoint.hit_count > 1 else "  hit once", style="dim")
    if not wanted.enabled:
        line.append("  off", style="dim")
    if not is_found(breakpoint):
        line.append("  the flow has no such location", style="yellow")
    return line


def is_found(breakpoint: BreakpointInfo) -> bool:
    """Whether the flow has a place for it."""
    wanted = breakpoint.request
    return bool(breakpoint.paths) or (wanted.step is None and wanted.kind is None and wanted.line is None)


def breakpoint_place(wanted: BreakpointRequest) -> str:
    """Where it stops, as it can be typed."""
    if wanted.state is not None:
        changed = f"change {wanted.state}"
        return f"{changed} equals {json_text(wanted.equals)}" if wanted.has_equals else changed
    if wanted.line is not None:
        place = f"{wanted.file}:{wanted.line}"
    else:
        place = wanted.step or (f"type:{wanted.kind}" if wanted.kind else "*")
    if wanted.tool is not None or wanted.path is not None:
        place = f"{place}/{wanted.tool or 'any'}"
    place = place if wanted.position == "before" else f"{place}:{wanted.position}"
    return place if wanted.path is None else f"{place} path {wanted.path}"


def variable_list(page: VariablePage) -> list[Text]:
    rows = [
        (
            Text(each.path, style="cyan"),
            Text(each.preview if len(each.preview) <= VALUE_CHARACTERS else f"{each.preview[: VALUE_CHARACTERS - 1]}…"),
            Text("" if each.bytes is None else size_text(each.bytes), style="dim"),
            Text(each.layer, style="dim"),
            Text(f"set by {each.set_by}" if each.set_by else "", style="dim"),
        )
        for each in page.variables
    ]
    return columns(rows)


def size_text(size: float) -> str:
    """A number of bytes, as a person reads it."""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"


def history_list(points: Iterable[PointInfo], frames: Sequence[str]) -> list[Text]:
    rows = []
    for point in points:
        told = point.status if point.status is not None else f"stop {point.stop}" if point.stop else ""
        time = _clock(point.at)
        rows.append(
            (
                Text(str(point.number), style="bold"),
                Text(time, style="dim"),
                Text(point.frame, style=frame_style(point.frame, frames)),
                Text(f"{point.position} {point.occurrence}"),
                Text(told, style=sign_of(told).style if told in SIGNS else "dim"),
                Text("files" if point.has_snapshot else "", style="dim"),
            )
        )
    return columns(rows) or [Text("no history yet", style="dim")]


def context_lines(context: ContextInfo) -> list[Text]:
    """Where a stop is, for somebody who has just come."""
    commit = context.commit
    changed = ", uncommitted changes" if commit is not None and commit.has_changes else ""
    branch = f" on {commit.branch}" if commit is not None and commit.branch else ""
    told = {
        "step": f"{context.title} ({context.occurrence}), {context.number} of {context.steps}",
        "commit": "" if commit is None else f"{commit.sha[:12]}{branch}{changed}: {commit.message}",
        "machine": f"{context.machine} ({context.platform})",
        "image": "" if context.image is None else f"{context.image} {context.image_digest or '(not pulled yet)'}",
        "workspace": context.workspace + (" (your folder; changes persist)" if context.in_place else ""),
        "session": context.session + (f" until {_clock(context.lease_ends_at)}" if context.lease_ends_at else ""),
        "attach": context.join,
    }
    rows = [(Text(name, style="cyan"), Text(value)) for name, value in told.items() if value]
    log = [Text(f"  {line}", style="dim") for line in context.log[-CONTEXT_LOG_LINES:]]
    return [*columns(rows, indent="  "), *log]


def _clock(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%H:%M:%S")


def config_lines(preview: ConfigInfo) -> list[Text]:
    """Every key as it is written, and what it would be now where that is something else."""
    lines: list[Text] = []
    for key, raw in preview.raw.items():
        lines.append(Text.assemble((f"  {key} ", "cyan"), _text_or_json(raw)))
        if key in preview.resolved and preview.resolved[key] != raw:
            lines.append(Text.assemble(("    = ", "dim"), (_text_or_json(preview.resolved[key]), "green")))
    lines += [Text(f"  ! {path}: {problem}", style="yellow") for path, problem in preview.problems.items()]
    return lines or [Text("  the step has no config", style="dim")]


def _text_or_json(value: Any) -> str:
    return (
        json_text(value)
        if not isinstance(value, str) or "\n" not in value
        else value.rstrip().replace("\n", "\n      ")
    )


def help_lines(spec: CommandSpec | None = None) -> list[Text]:
    """Every command in its group, or one of them in full."""
    if spec is not None:
        lines = [Text(spec.usage, style="bold"), Text(f"  {spec.summary}")]
        if spec.aliases:
            lines.append(Text(f"  also: {', '.join(spec.aliases)}", style="dim"))
        return lines + [Text(f"  {line}") for line in spec.more.splitlines()]
    lines = []
    for group in GROUPS:
        lines.append(Text(group, style="bold"))
        lines += columns([_help_row(each) for each in TABLE if each.group == group], indent="  ")
    return [
        *lines,
        Text("An empty line repeats the last n, s, r or c. `help break` describes break.", style="dim"),
    ]


def _help_row(spec: CommandSpec) -> tuple[Text, ...]:
    aliases = ", ".join(each for each in spec.aliases if len(each) <= SHORT_ALIAS)
    usage = spec.usage if len(spec.usage) <= LONGEST_USAGE else f"{spec.name} …"
    return Text(f"{aliases:5}"), Text(usage), Text(spec.summary, style="dim")


def summary_lines(summary: RunSummary, interventions: Sequence[str]) -> list[Text]:
    """How the run ended, and what was done to it by hand."""
    sign = sign_of(summary.status)
    line = Text(f"{sign.shape} {ENDS.get(summary.status, summary.status)}", style=f"bold {sign.style}")
    if summary.intervened:
        line.append(", intervened (modified in debugger)", style="yellow")
    lines = [line]
    if summary.error and summary.status != "passed":
        lines += [Text(f"  {each}", style="red") for each in summary.error.splitlines()[:5]]
    return lines + [Text(f"  · {each}", style="dim") for each in interventions]


def columns(rows: Sequence[Sequence[Text]], indent: str = "") -> list[Text]:
    """Rows with their cells one under the other."""
    widths = [max((cell.cell_len for cell in column), default=0) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        line = Text(indent)
        for cell, width in zip(row, widths, strict=True):
            line.append_text(cell).append(" " * (width - cell.cell_len + 2) if width else "")
        line.rstrip()
        lines.append(line)
    return lines
