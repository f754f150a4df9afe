"""Shells in a step that is paused or runs: in its environment, with commands to Pitstop in them, recorded if asked."""

import asyncio
import os
import shlex
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from typing import Any

from pitstop.debugger.inspection import preview_config
from pitstop.debugger.running_steps import running_step
from pitstop.debugger.session import Session
from pitstop.engine.container import ContainerOptions
from pitstop.engine.executor import Shell, ShellRequest
from pitstop.engine.frame import Activation, RunContext
from pitstop.engine.workspace_files import COMMAND_FILES
from pitstop.errors import CommandRefused, NotRunning
from pitstop.runs.local_debugger import LocalDebugger
from pitstop.runs.run_files import RunFiles
from pitstop.runs.run_request import ShellMode, ShellPlace, ShellRecord
from pitstop.runs.shell_commands import LOOKING, CommandLine, Entered, ToScreen, ToShell, carry_out
from pitstop.runs.shell_recording import FOLDER, ShellRecording, recording_name
from pitstop.runs.terminal_steps import TerminalStep, prepare_step
from pitstop.runs.workplaces import RECORDINGS
from pitstop.steps.containers import container_of
from pitstop.steps.workplace import Workplace

START_FILE = f"{COMMAND_FILES}/shell.rc"


class ShellIntervention:
    """Records in the log that a shell can change files, and at a stop, which files it has changed."""

    def __init__(
        self,
        session: Session,
        activation: Activation,
        stop: int | None,
        by: str,
        files: RunFiles,
        before: str | None,
    ) -> None:
        self._session = session
        self._stop = stop
        self._files = files
        self._before = before
        self._append = session.shell_opened(activation, stop, by)
        self._is_recorded = False

    async def record(self) -> None:
        """Record the changed files. While steps run they are not known: those may have changed them too."""
        changed = await self._files.changed_since(self._before) if self._is_current() else None
        if not self._is_current():
            changed = None
        if changed is not None or not self._is_recorded:
            self._append(changed)
            self._is_recorded = True

    def _is_current(self) -> bool:
        return any(stop.id == self._stop for stop in self._session.stops)


class DebugShell:
    """A Terminal. A command such as `@retry` that is entered in it is carried out; what is over it then ends."""

    def __init__(
        self,
        shell: Shell,
        debugger: LocalDebugger,
        place: ShellPlace,
        intervention: ShellIntervention | None = None,
        recording: ShellRecording | None = None,
        on_closed: Callable[[], Awaitable[None]] | None = None,
        step: TerminalStep | None = None,
    ) -> None:
        self._shell = shell
        self._debugger = debugger
        self._place = place
        self._intervention = intervention
        self._recording = recording
        self._on_closed = on_closed
        self._step = step
        self._is_decided = False  # whether the end of the step's command has been used
        self._line = CommandLine()
        self._said: list[bytes] = []  # by Pitstop, and not read yet
        self._has_said = asyncio.Event()
        self._reading: asyncio.Task[bytes] | None = None
        self._closing = asyncio.Lock()
        self._is_closed = False

    async def read(self) -> bytes:
        """What the shell says next, or Pitstop in it; empty when it has ended."""
        while True:
            if self._said:
                self._has_said.clear()
                said, self._said = b"".join(self._said), []
                return await self._shown(said)
            if self._reading is None:  # `close` ends it
                self._reading = asyncio.get_running_loop().create_task(self._shell.read(), name="read a shell")
            if not self._reading.done():
                await self._wait_news(self._reading)
            if self._reading.done() and not self._said:
                reading, self._reading = self._reading, None
                data = b"" if reading.cancelled() else reading.result()
                self._line.see(data)
                if self._step is not None:
                    data = await self._shown_by_step(self._step, data)
                return await self._shown(data)

    async def _wait_news(self, reading: asyncio.Task[bytes]) -> None:
        async with asyncio.TaskGroup() as group:
            told = group.create_task(self._has_said.wait())
            await asyncio.wait([reading, told], return_when=asyncio.FIRST_COMPLETED)
            told.cancel()

    async def _shown_by_step(self, step: TerminalStep, data: bytes) -> bytes:
        """The same data, or at the end of the step's command what became of the step."""
        if data:
            await step.show(data)
        elif not self._is_decided:
            self._is_decided = True
            step.end_log()
            result = await self._shell.wait()
            if result.state != "cancelled":  # the user, or the end of the run, closed the terminal
                if self._intervention is not None:
                    await self._intervention.record()
                return _by_pitstop(await step.finish(result))
        return data

    async def _shown(self, data: bytes) -> bytes:
        if self._recording is not None:
            await self._recording.show(data)
        return data

    def _say(self, data: bytes) -> None:
        self._said.append(data)
        self._has_said.set()

    async def write(self, data: bytes) -> None:
        """What is typed: to the shell, but for commands to Pitstop. The command of a step gets all of it."""
        if self._recording is not None:
            await self._recording.type(data)
        if self._step is not None:
            await self._shell.write(data)
            return
        for typed in self._line.type(data):
            match typed:
                case ToShell():
                    await self._shell.write(typed.data)
                case ToScreen():
                    self._say(typed.data)
                case Entered():
                    await self._carry_out(typed.command)

    async def _carry_out(self, command: str) -> None:
        if self._recording is not None:
            await self._recording.mark(command)
        if self._intervention is not None and command not in LOOKING:
            await self._intervention.record()  # before steps can change files, too
        text, is_over = await carry_out(command, self._debugger, self._place)
        self._say(_by_pitstop(text))
        if is_over:
            await self._shell.close()
        else:
            await self._shell.write(b"\r")  # for the shell to show its prompt again

    def resize(self, rows: int, cols: int) -> None:
        if self._recording is not None:
            self._recording.resize(rows, cols)
        self._shell.resize(rows, cols)

    async def close(self) -> None:
        """End it. A second call waits until the first has recorded all that is to be recorded."""
        async with self._closing:
            if not self._is_closed:
                self._is_closed = True
                await self._close()

    async def _close(self) -> None:
        try:
            await self._shell.close()
        finally:
            if self._reading is not None:
                self._reading.cancel()
                with suppress(asyncio.CancelledError):
                    await self._reading
            if self._step is not None:
                await self._step.close()
            if self._recording is not None:
                await self._recording.close()
            if self._on_closed is not None:
                await self._on_closed()
            if self._intervention is not None:
                await self._intervention.record()


def _by_pitstop(text: str) -> bytes:
    """Lines of Pitstop on the terminal."""
    return b"".join(b"[pitstop] %s\r\n" % line.encode() for line in text.splitlines())


async def open_shell(
    run: RunContext,
    session: Session | None,
    workplace: Workplace,
    files: RunFiles,
    debugger: LocalDebugger,
    keep_recordings: Callable[[], Awaitable[None]],
    place: ShellPlace,
    by: str,
    mode: ShellMode = "shell",
    rows: int = 24,
    cols: int = 80,
    record: ShellRecord | None = None,
) -> DebugShell:
    """A shell at a stop, or in a step that runs. StaleStop, StepNotRunning, and what prevents opening one there."""
    if isinstance(place, str):
        stop = None
        activation = running_step(run, place)
        place, preview = activation.occurrence, await preview_config(activation)
        if mode == "step":
            raise CommandRefused(f"{place} is running: stop it, and run it in a terminal at its failure")
    elif session is not None:
        stop = place
        activation, preview = session.activation_at(place), await session.config(place)
    else:
        raise NotRunning
    home, config = await workplace.at(activation.home), preview.resolved
    before = await files.now() if stop is not None and mode != "sidecar" else None
    step = None
    if mode == "step" and session is not None and stop is not None:
        step = await prepare_step(session, stop, home, activation, preview)
    async with AsyncExitStack() as opened:
        if step is not None:
            opened.push_async_callback(step.close)
            shell = await home.executor.shell(home.workspace, step.request(rows, cols))
        else:
            shell = await _open_step_shell(home, activation, config, mode, rows, cols)
        opened.push_async_callback(shell.close)
        intervention = None
        if session is not None and mode != "sidecar":  # CommandRefused if the stop has ended meanwhile
            intervention = ShellIntervention(session, activation, stop, by, files, before)
        opened.pop_all()
    if record is None:
        return DebugShell(shell, debugger, place, intervention, step=step)
    recording = ShellRecording(
        workplace.files,
        f"{RECORDINGS}/{FOLDER}/{recording_name(mode, activation.occurrence)}",
        rows=rows,
        cols=cols,
        title=f"{mode} at {activation.occurrence} of run {workplace.run}",
        keys=record == "keys",
        new_stream=workplace.masked_stream,
    )
    return DebugShell(shell, debugger, place, intervention, recording, keep_recordings, step)


async def _open_step_shell(
    workplace: Workplace, activation: Activation, config: Mapping[str, Any], mode: ShellMode, rows: int, cols: int
) -> Shell:
    """A shell where a step works: its folder, variables, image, user and services; a sidecar changes no file."""
    is_command = activation.step.kind == "run"
    env = await workplace.environment(activation, config.get("env", {}) if is_command else {})
    image, container = container_of(dict(config)) if is_command else (None, ContainerOptions())
    if image is not None:
        env = workplace.without_own_home(env)
    env["PITSTOP_OUTPUT"] = f"{workplace.workspace.control}/{COMMAND_FILES}/shell.output"
    request = ShellRequest(
        argv=await _shell_with_history(workplace, activation, config.get("script"), in_container=image is not None),
        image=image,
        rows=rows,
        cols=cols,
        cwd=str(config.get("working_directory", ".")) if is_command else ".",
        env=env,
        container=container,
        beside=workplace.last_command(activation),
        read_only=mode == "sidecar",
    )
    return await workplace.executor.shell(workplace.workspace, request)


async def _shell_with_history(
    workplace: Workplace, activation: Activation, script: Any, *, in_container: bool
) -> tuple[str, ...]:
    """bash with the step's command one key away, in a history of its own; nothing for the shell of the place."""
    if not in_container and not os.environ.get("SHELL", "bash").endswith("bash"):
        return ()
    prompt = shlex.quote(f"({activation.step.title.replace(chr(92), '')}) ")
    lines = ["[ -f ~/.bashrc ] && . ~/.bashrc", "unset HISTFILE", f'PS1={prompt}"$PS1"']
    if isinstance(script, str):
        lines.append(f"history -s -- {shlex.quote(script)}")
    start = f"{workplace.workspace.control}/{START_FILE}"
    data = "".join(f"{line}\n" for line in lines).encode(errors="surrogateescape")
    await workplace.files.write("control", START_FILE, data, mode=0o644 if in_container else 0o600)
    if in_container:  # where there may be no bash
        return ("sh", "-c", 'command -v bash >/dev/null && exec bash --rcfile "$0" -i; exec sh -i', start)
    return ("bash", "--rcfile", start, "-i")
