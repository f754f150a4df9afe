# /// script
# requires-python = ">=3.11"
# dependencies = ["pexpect>=4.9", "pyte>=0.8", "rich>=14"]
# ///
"""Records Neovim with nvim-dap: a real session with the settings of the guide, drawn as `neovim.svg`.

Run it with `NVIM_DAP=<a checkout of nvim-dap> uv run docs/pictures/record_neovim.py` after `make`. It needs `nvim`.
"""

import os
import re
import shutil
import sys
import tempfile
import time
from io import StringIO
from pathlib import Path

import pexpect
import pyte
import record
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME

PICTURE = Path(__file__).with_name("neovim.svg")
GUIDE = record.ROOT / "docs/guides/editors.md"
ROWS, COLUMNS = 40, 120
ASKED = ".steps.version.outputs\r"

# After the settings of the guide: what a person would do by hand
STORY = """
vim.opt.runtimepath:prepend(vim.env.NVIM_DAP)
vim.opt.number, vim.opt.laststatus, vim.opt.showmode = true, 3, false
vim.opt.termguicolors = true
vim.cmd("syntax on | filetype on | colorscheme desert | highlight Normal guibg=NONE | highlight SignColumn guibg=NONE")
vim.cmd("highlight DapLine guibg=#3a3a00")
vim.fn.sign_define("DapStopped", { text = "→", linehl = "DapLine", numhl = "" })
vim.fn.sign_define("DapBreakpoint", { text = "●", texthl = "ErrorMsg", linehl = "", numhl = "" })
%s
dap.listeners.after.event_stopped["picture"] = function()
  vim.defer_fn(function()
    local widgets = require("dap.ui.widgets")
    local scopes = widgets.sidebar(widgets.scopes, { width = 52 })
    scopes.open()
    vim.defer_fn(function()
      vim.fn.win_execute(vim.fn.bufwinid("dap-scopes"), "normal! gg")
      dap.repl.open({ height = 12 })
      vim.cmd("wincmd b | startinsert")
    end, 1500)
  end, 500)
end
vim.cmd("edit flow.yaml")
vim.fn.search("id: tests")
dap.set_breakpoint()
dap.continue()
"""


def settings() -> str:
    """What the guide tells users of Neovim to write."""
    found = re.search(r"## Neovim.*?```lua\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert found is not None
    return found[1]


def record_screen(folder: Path) -> pyte.Screen:
    project = folder / "shop"
    shutil.copytree(record.ROOT / "examples" / "broken", project)
    (folder / "init.lua").write_text(STORY % settings())
    env = {
        "PATH": f"{record.PITSTOP.parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(folder),
        "PITSTOP_HOME": str(folder / "state"),
        "NVIM_DAP": os.environ["NVIM_DAP"],
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
    }
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    child = pexpect.spawn("nvim", ["-u", "../init.lua"], cwd=project, env=env, dimensions=(ROWS, COLUMNS))
    deadline = time.monotonic() + record.SECONDS
    is_asked = False
    while sum("1.4.0" in line for line in screen.display) < 2:  # in the scopes, and as the answer
        if not is_asked and any("dap>" in line for line in screen.display):
            is_asked = child.send(ASKED) > 0
        assert time.monotonic() < deadline, "\n".join(screen.display)
        try:
            stream.feed(child.read_nonblocking(4096, 1).replace(str(folder).encode(), b"~"))
        except pexpect.TIMEOUT:
            continue
    child.terminate(force=True)
    return screen


def main() -> None:
    record.ROWS, record.COLUMNS = ROWS, COLUMNS
    with tempfile.TemporaryDirectory() as folder:
        lines = record.lines_of(record_screen(Path(folder)))
        assert not any(folder in line.plain for line in lines), "the picture is of this machine: record it again"
    console = Console(record=True, width=COLUMNS, file=StringIO(), force_terminal=True, color_system="truecolor")
    console.print(*lines[:-1], sep="\n", soft_wrap=True)
    template = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    title = "Neovim with nvim-dap"
    PICTURE.write_text(
        console.export_svg(title=title, theme=SVG_EXPORT_THEME, code_format=template, unique_id="neovim"),
        encoding="utf-8",
    )
    sys.stdout.write(f"{PICTURE.relative_to(record.ROOT)}: {len(lines)} lines\n")


if __name__ == "__main__":
    main()
