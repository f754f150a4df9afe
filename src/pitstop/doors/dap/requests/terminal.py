"""Terminals of the editor: a shell where the paused step works, or the command of that step."""

import shlex
import sys
from pathlib import Path

from pitstop.doors.dap.protocol.failures import RequestFailed
from pitstop.doors.dap.session.adapter import Adapter
from pitstop.service.debugging import StopInfo, verbs
from pitstop.settings import read_settings

MODES = {"": "shell", "sidecar": "sidecar", "step": "shell step"}


async def open_shell(adapter: Adapter, stop: StopInfo, mode: str) -> str:
    """Open a shell in a terminal of the client; for a client without one, the command that opens it."""
    if mode not in MODES:
        raise RequestFailed("usage: shell [sidecar|step]")
    session = adapter.session()
    if mode == "step" and (await session.live()[0].say(verbs.Context(stop.id))).kind != "run":
        raise RequestFailed(f"{stop.occurrence} has no command to run in a terminal; `shell` opens one where it works")
    words = [sys.executable, "-m", "pitstop", "debug", session.run.id if session.run is not None else ""]
    variables = {"PITSTOP_HOME": str(read_settings().home)}
    if session.options.server is None:
        await session.make_attachable()
    else:
        words += ["--server", session.options.server]
        variables |= {"PITSTOP_TOKEN": session.options.token} if session.options.token else {}
    for command in (f"frame {stop.frame}", MODES[mode], "leave"):
        words += ["-c", command]
    if not adapter.editor.client.opens_terminals:
        home = shlex.quote(variables["PITSTOP_HOME"])
        return f"this editor cannot open a terminal; run this in one:\nPITSTOP_HOME={home} {shlex.join(words)}"
    title = f"{mode or 'shell'}: {stop.occurrence}"
    asked = {"kind": "integrated", "title": title, "cwd": str(Path.cwd()), "args": words, "env": variables}
    response = await adapter.editor.ask("runInTerminal", asked)
    if not response.success:
        raise RequestFailed(f"the editor did not open a terminal: {response.message or 'it gave no reason'}")
    return f"opened a terminal for {stop.occurrence}"
