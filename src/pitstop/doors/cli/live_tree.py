"""A run in a terminal: the tree of its steps, alive, with what runs side by side below it."""

import asyncio
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from pitstop.doors.cli.closing import Ending, Left, closing_lines, format_seconds, left_lines
from pitstop.doors.cli.plain import LEVELS
from pitstop.doors.cli.progress import SHOWN_LINES, Node, Progress
from pitstop.doors.cli.signs import sign_of
from pitstop.service.flows import FlowInfo
from pitstop.service.runs import EventInfo, Output, WorkspaceProgress

REFRESH_SECONDS = 0.1
MOST_COLUMNS = 4
LEAST_COLUMN_WIDTH = 24
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_SETTLED = ("passed", "skipped")

Row = tuple[int, Node]


class LiveDisplay:
    """Draws the tree again and again while the run goes on; leaves it as it is in the end."""

    def __init__(self, flow: FlowInfo, options: Namespace) -> None:
        self._options = options
        self._console = Console(highlight=False, markup=False, emoji=False)
        self._progress = Progress(flow)
        self._told_of_files = ""  # how far they are kept, or put back
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._live.start()
        self._timer: asyncio.TimerHandle | None = None
        self._refresh()

    def hear(self, output: Output) -> None:
        self._progress.hear(output)

    def show(self, event: EventInfo) -> None:
        self._progress.apply(event)
        is_shown_at_stop = event.fields.get("note") == "fix.escalated"
        if event.kind == "step.noted" and event.fields["note"].startswith("fix.") and not is_shown_at_stop:
            from pitstop.doors.cli.fix.lines import fix_line

            line = fix_line(event)
            if line is not None:
                self.note(f"{event.fields['occurrence']} {line}")
        elif event.kind == "debug.logged":
            self.note(f"{event.fields['occurrence']} log: {event.fields['message']}")
        elif self._options.log_level == "debug":
            self.note(f"{event.kind} {event.fields.get('occurrence', '')}")

    def tell_progress(self, progress: WorkspaceProgress) -> None:
        self._told_of_files = "" if progress.is_over else progress.text

    def note(self, text: str) -> None:
        self._console.print(Text(text, style="yellow"))

    def close(self) -> None:
        """Stop drawing, and leave the tree as it is."""
        if self._timer is not None:
            self._timer.cancel()
            self._live.stop()
            self._timer = None
            if LEVELS.index(self._options.log_level) >= LEVELS.index("info"):
                self._console.print(self._tree(list(_walk(self._progress.root, 0)), time.time()))

    def leave(self, left: Left) -> None:
        self._console.print("\n".join(left_lines(left)), markup=False)

    def finish(self, ending: Ending) -> None:
        *lines, last = closing_lines(ending, self._options)
        for line in lines:
            style = "red" if " failed" in line else "dim" if line.startswith("  | ") else ""
            self._console.print(Text(line, style=style))
        style = {"passed": "bold green", "failed": "bold"}.get(ending.summary.status, "yellow")
        self._console.print(Text(last, style=style))

    def _refresh(self) -> None:
        self._live.update(self._picture(), refresh=True)
        self._timer = asyncio.get_running_loop().call_later(REFRESH_SECONDS, self._refresh)

    def _picture(self) -> RenderableType:
        now = time.time()
        height = self._console.height
        beside = self._progress.running()
        panes = self._panes(beside) if len(beside) > 1 and height > 3 * SHOWN_LINES else None
        files = (
            [Text(self._told_of_files, style="cyan", no_wrap=True, overflow="ellipsis")] if self._told_of_files else []
        )
        room = height - 2 - len(files) - (SHOWN_LINES + 1 if panes is not None else 0)
        parts: list[RenderableType] = [self._tree(rows_that_fit(self._progress.root, room), now)]
        parts += [] if panes is None else [panes]
        return Group(*parts, *files, self._status(now))

    def _tree(self, rows: Sequence[Row | str], now: float) -> Text:
        lines = [Text(row, style="dim") if isinstance(row, str) else self._line(row, now) for row in rows]
        for line in lines:
            line.truncate(self._console.width - 1, overflow="ellipsis")
        return Text("\n").join(lines)

    def _line(self, row: Row, now: float) -> Text:
        depth, node = row
        sign, style = self._sign(node, now)
        line = Text.assemble("  " * depth, (sign, style), " ", (node.title, "bold" if node.state == "running" else ""))
        if node.attempt > 1:
            line.append(f" (attempt {node.attempt})", "yellow")
        seconds = node.seconds(now)
        if seconds is not None and node.state != "skipped":
            line.append(f"  {format_seconds(seconds)}", "dim")
        if node.reason and node.state not in _SETTLED:
            line.append(f"  {node.reason}", style)
        elif node.last_line and not node.children:
            line.append(f"  {node.last_line}", "dim")
        return line

    def _sign(self, node: Node, now: float) -> tuple[str, str]:
        sign = sign_of(node.shown_state)
        if self._console.options.ascii_only:
            return sign.ascii_shape, sign.style
        is_running = node.shown_state == "running"
        return (SPINNER[int(now * 10) % len(SPINNER)] if is_running else sign.shape), sign.style

    def _panes(self, nodes: Sequence[Node]) -> Table:
        """The last lines of what runs at the same time, side by side."""
        count = min(len(nodes), MOST_COLUMNS, max(1, self._console.width // LEAST_COLUMN_WIDTH))
        table = Table.grid(expand=True, padding=(0, 2, 0, 0))
        for _ in range(count):
            table.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
        shown = nodes[:count]
        table.add_row(*(Text(node.address, style="cyan underline") for node in shown))
        for number in range(SHOWN_LINES):
            lines = (node.lines[number] if number < len(node.lines) else "" for node in shown)
            table.add_row(*(Text(line, style="dim") for line in lines))
        return table

    def _status(self, now: float) -> Text:
        root = self._progress.root
        counts = self._progress.counts()
        told = ", ".join(f"{count} {state}" for state, count in counts.items())
        return Text(f"{root.title}  {told}  {format_seconds(root.seconds(now) or 0.0)}", style="bold")


def rows_that_fit(root: Node, room: int) -> list[Row | str]:
    """The tree in so many lines. What is over is folded first; then only what is near a running step is shown."""
    rows = list(_walk(root, 0))
    if len(rows) > room:
        rows = list(_walk(root, 0, folds=_SETTLED))
    if len(rows) <= room:
        return [*rows]
    at = next((number for number, (_, node) in enumerate(rows) if node.state == "running" and not node.children), 0)
    count = max(1, room - 2)
    first = max(0, min(at - count // 3, len(rows) - count))
    last = first + count
    above = [f"… {first} above"] if first else []
    below = [f"… {len(rows) - last} more"] if last < len(rows) else []
    return [*above, *rows[first:last], *below]


def _walk(node: Node, depth: int, folds: Sequence[str] = ()) -> Iterator[Row]:
    for child in node.children.values():
        yield depth, child
        if child.shown_state not in folds:
            yield from _walk(child, depth + 1, folds)
