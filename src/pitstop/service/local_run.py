"""A run in this process, as doors see it."""

import asyncio
import os
import re
import shlex
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pitstop.engine.executor import LogChunk, Shell
from pitstop.engine.frame import Activation
from pitstop.engine.run import Run
from pitstop.errors import NotRunning
from pitstop.events.outcome import Outcome, Status, error_of
from pitstop.events.types import RunEnded
from pitstop.events.view import interventions_in
from pitstop.service.api import EventInfo, FlowInfo, Output, Question, RunSummary
from pitstop.service.info import tell_failures
from pitstop.service.kept_log import KeptLog
from pitstop.service.run_folder import RunFolder
from pitstop.service.workplaces import KillableWorkplace
from pitstop.steps.approvals import Decision, MemoryApprovals, NotAsked

if TYPE_CHECKING:
    from pitstop.service.sessions import LocalSession

TAIL_BYTES = 64 * 1024
KILL_EVERY_SECONDS = 0.05
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


class Outputs:
    """What the steps of a run write: kept in the folder of the run, and handed to those who listen."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._listeners: list[Callable[[Output], None]] = []

    def listen(self, listener: Callable[[Output], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def take(self, occurrence: str, chunk: LogChunk) -> None:
        self._folder.append_log(occurrence, chunk.data)
        if self._listeners:
            output = Output(occurrence, chunk.stream, chunk.time, chunk.data)
            for listener in self._listeners:
                listener(output)


class LocalRun:
    """An ActiveRun. `execute` is the run itself; the service is the parent of its task."""

    def __init__(
        self,
        *,
        flow: FlowInfo,
        texts: Mapping[str, str],
        run: Run,
        log: KeptLog,
        workplace: KillableWorkplace,
        folder: RunFolder,
        outputs: Outputs,
        session: "LocalSession | None",
        approvals: MemoryApprovals | None,
    ) -> None:
        self.flow = flow
        self.session = session
        self._texts = texts
        self._run = run
        self._log = log
        self._workplace = workplace
        self._folder = folder
        self._outputs = outputs
        self._approvals = approvals
        self._killing = asyncio.TaskGroup()
        self._ended: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()

    @property
    def id(self) -> str:
        return self._folder.id

    @property
    def is_over(self) -> bool:
        return self._ended.done()

    @property
    def status(self) -> str | None:
        """How it ended; None when it has not, or was cancelled from outside."""
        over = self._ended.done() and not self._ended.cancelled() and self._ended.exception() is None
        return self._ended.result().status.value if over else None

    @property
    def carried_over(self) -> int:
        return self._log.carried_over

    @property
    def problem(self) -> str | None:
        return self._folder.problem

    async def execute(self) -> None:
        """Run to the end, and keep how it ended for `wait`. A run that could not begin has an end all the same."""
        async with self._killing:
            try:
                self._ended.set_result(await self._run.execute())
            except BaseException as error:
                self._ended.set_exception(error)
                self._ended.exception()  # nobody has to ask
                if not isinstance(error, Exception):
                    raise
                self._log.append(RunEnded(time.time(), Outcome(Status.FAILED, error=error_of(error, ""))))
            finally:
                self._log.write()

    # Looking

    def events(self, after: int = 0) -> AsyncIterator[EventInfo]:
        return self._log.follow_told(after)

    def hear_output(self, listener: Callable[[Output], None]) -> Callable[[], None]:
        return self._outputs.listen(listener)

    def log_tail(self, occurrence: str, lines: int = 20) -> list[str]:
        text = self._folder.read_log_end(occurrence, TAIL_BYTES).decode(errors="replace")
        return [_shown(line) for line in text.rstrip("\n").split("\n")[-lines:]] if text.strip() else []

    def source_text(self, file: str) -> str | None:
        return self._texts.get(file)

    def mask_text(self, text: str) -> str:
        return self._workplace.masker.mask_text(text)

    def questions(self) -> tuple[Question, ...]:
        if self._approvals is None:
            return ()
        return tuple(Question(each.occurrence, each.prompt) for each in self._approvals.open_questions)

    # Acting

    def answer(self, occurrence: str, *, approved: bool, by: str = "", comment: str = "") -> None:
        if self._approvals is None:
            raise NotAsked(occurrence)
        self._approvals.answer(occurrence, Decision(approved, by, comment))

    def cancel(self, reason: str) -> None:
        if not self.is_over:
            self._run.abort(reason)

    def kill(self) -> None:
        if not self.is_over:  # again and again, for it may come to a cleanup yet
            self._run.abort("ended at once")
            self._killing.create_task(self._workplace.kill_commands())
            asyncio.get_running_loop().call_later(KILL_EVERY_SECONDS, self.kill)

    async def wait(self) -> RunSummary:
        outcome = await asyncio.shield(self._ended)
        events = self._log.read()
        error = None if outcome.error is None else self.mask_text(str(outcome.error))
        failures = tell_failures(events, self.mask_text)
        return RunSummary(self.id, outcome.status.value, error, failures, bool(interventions_in(events)))

    async def shell(self, stop: int, rows: int = 24, cols: int = 80) -> Shell:
        if self.session is None:
            raise NotRunning
        activation = self.session.activation_at(stop)
        config = (await self.session.config(stop)).resolved
        own = config.get("env", {}) if activation.step.kind == "run" else {}
        env = await self._workplace.environment(activation, own)
        control = Path(self._workplace.workspace.control)
        env["PITSTOP_OUTPUT"] = str(control / "shell.output")
        folder = str(config.get("working_directory", ".")) if activation.step.kind == "run" else "."
        argv = _shell_with_history(control, activation, config.get("script"))
        executor, workspace = self._workplace.executor, self._workplace.workspace
        return await executor.shell(workspace, argv, None, rows, cols, cwd=folder, env=env)


def _shell_with_history(control: Path, activation: Activation, script: Any) -> tuple[str, ...] | None:
    """bash with the step's command one key away, in a history of its own; None for the shell of the place."""
    if not os.environ.get("SHELL", "bash").endswith("bash"):
        return None
    start = control / "shell.rc"
    prompt = shlex.quote(f"({activation.step.title.replace(chr(92), '')}) ")
    lines = ["[ -f ~/.bashrc ] && . ~/.bashrc", "unset HISTFILE", f'PS1={prompt}"$PS1"']
    if isinstance(script, str):
        lines.append(f"history -s -- {shlex.quote(script)}")
    start.write_text("\n".join(lines) + "\n", errors="surrogateescape")
    return ("bash", "--rcfile", str(start), "-i")


def _shown(line: str) -> str:
    """What stands there in the end: without escape sequences, nor what was written over."""
    return _UNPRINTABLE.sub("", _ESCAPES.sub("", line.rstrip("\r").rpartition("\r")[2])).rstrip()
