"""The command of a paused step on a terminal, for a step that reads input: its end is the step's outcome."""

import secrets
from contextlib import AsyncExitStack

from msgspec.structs import replace

from pitstop.debugger.inspection import ConfigPreview
from pitstop.debugger.session import Session
from pitstop.engine.executor import CommandResult, LogChunk, ShellRequest
from pitstop.engine.frame import Activation
from pitstop.engine.scripts import argv_reading
from pitstop.errors import CommandRefused, StepFailure
from pitstop.steps.commands import Ended, Tail, refuse_visible_secrets, with_script_file
from pitstop.steps.run import Prepared, RunStep
from pitstop.steps.workplace import Workplace


class TerminalStep:
    """A paused step whose command runs on a terminal: what that shows is the step's log. `files` ends with it."""

    def __init__(
        self,
        session: Session,
        stop: int,
        workplace: Workplace,
        activation: Activation,
        prepared: Prepared,
        files: AsyncExitStack,
    ) -> None:
        self._prepared = prepared
        self._session = session
        self._stop = stop
        self._has_run = any(each.id == stop and each.position != "before" for each in session.stops)
        self._workplace = workplace
        self._activation = activation
        self._files = files
        self._listener = workplace.listener(activation)
        self._tail = Tail()
        self._shown_bytes = 0

    def request(self, rows: int, cols: int) -> ShellRequest:
        command = self._prepared.command
        argv = command.argv
        if command.script_file is not None:
            argv = argv_reading(command.shell, command.script_file)
        elif command.script is not None:
            argv = (*command.shell, "-c", command.script)
        return ShellRequest(
            argv=argv,
            image=command.image,
            rows=rows,
            cols=cols,
            cwd=command.cwd,
            env=command.env,
            container=command.container,
            is_step=True,
        )

    async def show(self, data: bytes) -> None:
        """Log what the terminal shows, with the line ends of a log."""
        data = data.replace(b"\r\n", b"\n")
        self._tail.add(data)
        if self._listener is not None:
            await self._listener.hear(LogChunk("stdout", self._shown_bytes, self._activation.run.now(), data))
            self._shown_bytes += len(data)

    async def finish(self, result: CommandResult) -> str:
        """Decide the outcome of the step by how its command ended; returns what to say about it.

        A step that had run before and whose command fails stays paused, so that it can be tried again.
        """
        ended = Ended(result, self._tail.last_lines(self._workplace))
        status, message, outputs = "passed", None, None
        try:
            outputs = await RunStep(self._workplace).finish(self._activation, self._prepared, ended)
        except StepFailure as failure:
            status, message, outputs = "failed", str(failure), getattr(failure, "outputs", None)
        reason = "" if message is None else f": {message.partition(chr(10))[0]}"
        told = f"{self._activation.occurrence} {status}{reason}"
        if status == "failed" and self._has_run:
            return f"{told}; it is still paused"
        try:
            await self._session.force(self._stop, status, outputs, message, pauses=True)
        except CommandRefused as refusal:
            return f"the result does not count: {refusal}"
        return told

    def end_log(self) -> None:
        """Log what was held back because it could have become a secret."""
        if self._listener is not None:
            self._listener.finish()
            self._listener = None

    async def close(self) -> None:
        """End the log, and remove the files of the command."""
        self.end_log()
        await self._files.aclose()


async def prepare_step(
    session: Session, stop: int, workplace: Workplace, activation: Activation, preview: ConfigPreview
) -> TerminalStep:
    """The step of a stop, ready to run on a terminal. Raises CommandRefused where that is impossible."""
    refusal = f"cannot run {activation.occurrence} in a terminal"
    if activation.step.kind != "run":
        raise CommandRefused(f"{refusal}: it has no command of its own; `shell` opens a shell where it works")
    if preview.problems:
        problems = "; ".join(f"{path}: {problem}" for path, problem in preview.problems.items())
        raise CommandRefused(f"{refusal}: {problems}")
    if preview.resolved.get("stdin") is not None:
        raise CommandRefused(f"{refusal}: it reads its `stdin`; override `stdin` with null to type its input")
    key = f"{workplace.run}:{activation.occurrence}:terminal-{secrets.token_hex(4)}"
    async with AsyncExitStack() as files:
        try:
            prepared = await RunStep(workplace).prepare(activation, preview.resolved, files, key)
            refuse_visible_secrets(workplace, activation, prepared.command)
        except StepFailure as failure:
            raise CommandRefused(f"{refusal}: {failure}") from failure
        command = await with_script_file(workplace, prepared.command, files)
        prepared = replace(prepared, command=command)
        return TerminalStep(session, stop, workplace, activation, prepared, files.pop_all())
