# /// script
# requires-python = ">=3.11"
# dependencies = ["pexpect>=4.9", "pyte>=0.8", "rich>=14"]
# ///
"""Records the debugger: a real session at a real terminal, drawn as `debug.svg`.

Run it with `uv run docs/pictures/record.py` after `make`, or with any Python that has the packages above.
"""

import re
import shutil
import sys
import tempfile
from io import StringIO
from itertools import groupby
from pathlib import Path

import pexpect
import pyte
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import SVG_EXPORT_THEME
from rich.text import Text

ROOT = Path(__file__).parents[2]
PITSTOP = ROOT / ".venv" / "bin" / "pitstop"
PICTURE = Path(__file__).with_name("debug.svg")
ROWS, COLUMNS = 90, 112
SECONDS = 30
CTRL_D = "\x04"
COLOURS = {"brown": "yellow", "brightbrown": "bright_yellow", "default": None}

# What the person reads, and types then
SESSION = (
    ("(main)", "c\r"),
    ("(checks.tests)", "p .steps.version.outputs\r"),
    ("(checks.tests)", "sh\r"),
    ("$ ", "cat shop/settings.json\r"),
    ("$ ", "sed -i 's/0,19/0.19/' shop/settings.json\r"),
    ("$ ", CTRL_D),
    ("(checks.tests)", "retry\r"),
)


def record(folder: Path) -> pyte.Screen:
    """The screen at the end of the session."""
    project = folder / "shop"
    shutil.copytree(ROOT / "examples" / "broken", project)
    (folder / ".bashrc").write_text("PS1='$ '\nbind 'set enable-bracketed-paste off'\n")
    env = {
        "PATH": f"{PITSTOP.parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(folder),
        "PITSTOP_HOME": str(folder / "state"),
        "PROMPT_TOOLKIT_NO_CPR": "1",
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "SHELL": "/bin/bash",
    }
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)

    def show(said: bytes) -> None:
        said = said.replace(b"\x1b[2m", b"\x1b[90m")  # pyte knows no faint text: make it grey
        stream.feed(said.replace(str(folder).encode(), b"~"))

    child = pexpect.spawn(
        str(PITSTOP), ["debug", "flow.yaml"], cwd=project, env=env, dimensions=(ROWS, COLUMNS), timeout=SECONDS
    )
    for awaited, keys in SESSION:
        row = screen.cursor.y
        while awaited not in screen.display[screen.cursor.y] or (screen.cursor.y == row and row):
            show(child.read_nonblocking(4096, SECONDS))
        child.send(keys)
    while True:
        try:
            show(child.read_nonblocking(4096, SECONDS))
        except pexpect.EOF:
            return screen


def lines_of(screen: pyte.Screen) -> list[Text]:
    """What is on the screen, with its colours."""
    lines = []
    for row in range(ROWS):
        chars = [screen.buffer[row][column] for column in range(COLUMNS)]
        line = Text()
        for style, run in groupby(chars, key=_style):
            line.append("".join(char.data for char in run), style)
        line.rstrip()
        lines.append(line)
    while lines and not lines[-1].plain:
        lines.pop()
    return lines


def _style(char: pyte.screens.Char) -> Style:
    return Style(color=_colour(char.fg), bold=char.bold, italic=char.italics)


def _colour(name: str) -> str | None:
    if re.fullmatch(r"[0-9a-f]{6}", name):
        return f"#{name}"
    return COLOURS.get(name, re.sub(r"^bright(?=\w)", "bright_", name))


def draw(lines: list[Text]) -> str:
    """The lines as a picture, which loads nothing from elsewhere."""
    console = Console(record=True, width=COLUMNS, file=StringIO(), force_terminal=True)
    console.print(Text("$ pitstop debug flow.yaml", style="bold"), *lines, sep="\n", soft_wrap=True)
    template = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    return console.export_svg(title="pitstop debug", theme=SVG_EXPORT_THEME, code_format=template, unique_id="debug")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        lines = lines_of(record(Path(folder)))
        assert not any(folder in line.plain for line in lines), "the picture is of this machine: record it again"
    PICTURE.write_text(draw(lines), encoding="utf-8")
    sys.stdout.write(f"{PICTURE.relative_to(ROOT)}: {len(lines)} lines\n")


if __name__ == "__main__":
    main()
