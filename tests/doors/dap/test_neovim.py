"""Neovim with nvim-dap, headless, configured as the guide says.

It is collected when NVIM_DAP names a checkout of nvim-dap (0.10.0 for Neovim 0.7).
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.doors.dap.protocol import check_conversation
from tests.doors.dap.test_debug_client import read_traces

HERE = Path(__file__).parent


def test_stories_in_neovim(folder: Path) -> None:
    traces = folder / "traces"
    traces.mkdir()
    nvim = shutil.which("nvim")
    assert nvim is not None, "NVIM_DAP is set, but there is no nvim"
    env = {
        **os.environ,
        "HOME": str(folder),
        "PITSTOP_FLOWS": str(folder),
        "PITSTOP_GUIDE": str(HERE.parents[2] / "docs/guides/editors.md"),
        "PITSTOP_HOME": str(folder / "home"),
        "PITSTOP_PYTHON": sys.executable,
        "PITSTOP_TEE": str(HERE / "tee.py"),
        "PITSTOP_TRACES": str(traces),
    }
    script = str(HERE / "neovim/stories.lua")
    done = subprocess.run(
        [nvim, "--headless", "-u", "NONE", "-c", f"luafile {script}"],
        env=env,
        capture_output=True,
        text=True,
        timeout=280,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.count("passed") == 5
    for trace in read_traces(traces):
        check_conversation(trace)
