# /// script
# requires-python = ">=3.11"
# dependencies = ["pexpect>=4.9", "pyte>=0.8", "rich>=14"]
# ///
"""Records the debugger at the tool calls of an agent: a real session at a terminal, drawn as `agent-terminal.svg`.

Run it with `uv run docs/pictures/record_agent.py` after `make`, or with any Python that has the packages above.
"""

import re
import shutil
import sys
import tempfile
from io import StringIO
from pathlib import Path

import pexpect
import pyte
import record
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME
from rich.text import Text

PICTURE = Path(__file__).with_name("agent-terminal.svg")
COMMAND = ("debug", "stops.yaml", "--break", "fix/shell")
PROMPT = "(main)"

# What the person types at each stop
TYPED = ("c", 'config command="head -n 1 price.txt"', "c", "skip Leave the cache alone.")


def record_screen(folder: Path) -> pyte.Screen:
    """The screen at the end of the session."""
    shutil.copytree(record.ROOT / "examples" / "agent", folder / "shop")
    env = {
        "PATH": f"{record.PITSTOP.parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(folder),
        "PITSTOP_HOME": str(folder / "state"),
        "PROMPT_TOOLKIT_NO_CPR": "1",
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
    }
    screen = pyte.Screen(record.COLUMNS, record.ROWS)
    stream = pyte.ByteStream(screen)
    child = pexpect.spawn(
        str(record.PITSTOP),
        list(COMMAND),
        cwd=folder / "shop",
        env=env,
        dimensions=(record.ROWS, record.COLUMNS),
        timeout=record.SECONDS,
    )

    def read() -> None:
        said = child.read_nonblocking(4096, record.SECONDS)
        stream.feed(said.replace(b"\x1b[2m", b"\x1b[90m"))  # pyte knows no faint text: make it grey

    row = -1
    for line in TYPED:
        while screen.cursor.y == row or screen.display[screen.cursor.y].rstrip() != PROMPT:
            read()
        row = screen.cursor.y
        child.send(f"{line}\r")
    while True:
        try:
            read()
        except pexpect.EOF:
            return screen


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        lines = record.lines_of(record_screen(Path(folder)))
        assert not any(folder in line.plain for line in lines), "the picture is of this machine: record it again"
    console = Console(record=True, width=record.COLUMNS, file=StringIO(), force_terminal=True)
    console.print(Text(f"$ pitstop {' '.join(COMMAND)}", style="bold"), *lines, sep="\n", soft_wrap=True)
    template = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    PICTURE.write_text(
        console.export_svg(title="pitstop debug", theme=SVG_EXPORT_THEME, code_format=template, unique_id="agent"),
        encoding="utf-8",
    )
    sys.stdout.write(f"{PICTURE.relative_to(record.ROOT)}: {len(lines)} lines\n")


if __name__ == "__main__":
    main()
