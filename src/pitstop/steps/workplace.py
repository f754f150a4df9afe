"""What the steps of one run work with: a workspace, the executor that it is in, and who listens."""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol, Self

import msgspec

from pitstop.engine.executor import CommandRef, Executor, LogChunk, Placement, Stream, WorkspaceRef
from pitstop.engine.frame import Activation
from pitstop.engine.workspace_files import COMMAND_FILES, NewScan, WorkspaceFiles, command_file_name
from pitstop.errors import FileProblem, Unavailable, WorkspaceLost
from pitstop.plan.expressions import render
from pitstop.plan.scope import Values
from pitstop.steps.approvals import Approvals
from pitstop.steps.artifact_secrets import ArtifactScan, refusal
from pitstop.steps.failures import BadConfig
from pitstop.steps.step_logs import LogFiles, LogTail, StoredLog, context_folder, log_before

BASH = ("bash", "-eo", "pipefail")
SH = ("sh", "-e")

FRESH = "-fresh-"  # in the ids of workspaces that steps have for themselves, after that of the run's
SETTLE_BYTES = 4 * 1024 * 1024  # of what one command wrote, until those who keep it are waited for

OnOutput = Callable[[str, LogChunk], None]
Settle = Callable[[], Awaitable[None]]
StoredOutput = Callable[[str, float], Awaitable[Mapping[Stream, int]]]
BringFiles = Callable[[WorkspaceFiles], Awaitable[None]]  # fills the empty repo of a workspace


class MaskedStream(Protocol):
    """Takes secrets out of one stream of bytes, also where one comes in two chunks."""

    def feed(self, data: bytes) -> bytes: ...

    def finish(self) -> bytes: ...


def default_shell() -> tuple[str, ...]:
    """bash that stops at the first failure, also in a pipe; where there is no bash, sh."""
    has_bash = any(os.access(f"{folder}/{BASH[0]}", os.X_OK) for folder in os.get_exec_path())
    return BASH if has_bash else SH


class Workshop(Protocol):
    """What a run of a repository can do on its server: each raises CommandRefused, Unknown, BadRequest or GitProblem.

    Each may be repeated after a crash: what was done already is not done again.
    """

    @property
    def sha(self) -> str:
        """The commit that the workspace was filled with."""
        ...

    async def merge(self, into: str, message: str) -> Mapping[str, Any]:
        """Merge the run's commit into a branch: the merge's `sha` and others."""
        ...

    async def commit(self, tree: str, pack: AsyncIterable[bytes], message: str) -> Mapping[str, Any]:
        """Commit a tree to the run's branch: the commit's `sha` and others. The pack has what the tree adds."""
        ...

    async def make_card(self, title: str, description: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Make a card of the run's repository: its id as `card`. `options` are fields of its work."""
        ...

    async def start_card(self, card: str) -> Mapping[str, Any]:
        """Start the work of a card: its id as `card`, and the `run`."""
        ...


class Workplace(msgspec.Struct, frozen=True, kw_only=True):
    """What the steps of one run work with.

    With `is_resumable` another process may resume the run, and take up the workspaces of steps that have their own:
    `is_left` says whether it is left to one.
    `on_output` gets what commands write, masked but with the offsets of the log; `settle` waits until it is stored, and
    `stored_output` tells how many bytes of each stream an occurrence has stored since a time, and `stored_log` reads
    the last of them. `bring_files` fills the workspace of a step that has its own. `workshop` is there for a run of
    a repository.
    """

    executor: Executor
    workspace: WorkspaceRef
    run: str = "run"
    is_resumable: bool = False
    is_left: Callable[[], bool] = bool
    env: Mapping[str, str] = msgspec.field(default_factory=dict)  # laid over what the executor gives every command
    secrets: Mapping[str, str] = msgspec.field(default_factory=dict)  # a command has those that its step lists
    shell: tuple[str, ...] = msgspec.field(default_factory=default_shell)
    grace_seconds: float = 10.0
    mask: Callable[[str], str] = str
    masked_stream: Callable[[], MaskedStream] | None = None
    artifact_scan: ArtifactScan | None = None
    approvals: Approvals = msgspec.field(default_factory=Approvals)
    on_output: OnOutput | None = None
    settle: Settle | None = None
    stored_output: StoredOutput | None = None
    stored_log: StoredLog | None = None
    bring_files: BringFiles | None = None
    workshop: Workshop | None = None
    _started: dict[str, int] = msgspec.field(default_factory=dict)  # commands, by execution
    _told: dict[str, str] = msgspec.field(default_factory=dict)  # of artifacts that are refused
    _tails: dict[str, LogTail] = msgspec.field(default_factory=dict)  # of logs that other steps read, by execution
    _log_files: LogFiles = msgspec.field(default_factory=LogFiles)
    _homes: dict[str, Self] = msgspec.field(default_factory=dict)
    _home_lock: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)

    def __repr__(self) -> str:
        return f"Workplace(run={self.run!r}, workspace={self.workspace!r})"  # without the secrets

    @property
    def files(self) -> WorkspaceFiles:
        return self.executor.files(self.workspace)

    async def at(self, home: str | None) -> Self:
        """The workplace of a step that asks for a workspace of its own, made when first asked for; None is this one."""
        if home is None:
            return self
        async with self._home_lock:
            if home not in self._homes:
                name = fresh_workspace(self.workspace.id, home) if self.is_resumable else None
                workspace = await self.executor.acquire(Placement(workspace=name))
                await self._fill(self.executor.files(workspace))
                self._homes[home] = msgspec.structs.replace(
                    self,
                    workspace=workspace,
                    artifact_scan=None if self.new_scan is None else ArtifactScan(self.new_scan),
                    _started={},
                    _told={},
                    _log_files=LogFiles(),
                    _homes={},
                    _home_lock=asyncio.Lock(),
                )
            return self._homes[home]

    async def _fill(self, files: WorkspaceFiles) -> None:
        """Bring the files of the run to a new workspace. One that was taken up again has them."""
        if self.bring_files is not None and not await files.exists("repo", ".git"):
            await self.bring_files(files)

    async def leave(self, home: str) -> None:
        """Give up the workspace of such a step. The artifacts that were left there become the run's."""
        place = self._homes.pop(home, None)
        if place is not None:
            with suppress(WorkspaceLost):  # and what was in it
                try:
                    if not self.is_left():
                        await _copy_artifacts(place.files, self.files)
                finally:
                    await self.executor.release(place.workspace, keep=self.is_left())

    async def discard(self, home: str) -> None:
        """Remove the workspace of such a step, with all that was left there."""
        place = self._homes.pop(home, None)
        if place is not None:
            with suppress(WorkspaceLost):
                await self.executor.release(place.workspace)

    def keys(self) -> list[str]:
        """The execution keys given out so far."""
        return [f"{execution}:{number}" for execution, count in self._started.items() for number in range(1, count + 1)]

    def next_key(self, activation: Activation) -> str:
        """An execution key that the log determines: a run that is resumed uses those that it used before.

        An occurrence that runs again after going back, and each command of an occurrence, is another execution.
        """
        execution = self._execution(activation)
        number = self._started[execution] = self._started.get(execution, 0) + 1
        return f"{execution}:{number}"

    def last_command(self, activation: Activation) -> CommandRef | None:
        """The command that the step started last, if it started one."""
        execution = self._execution(activation)
        number = self._started.get(execution)
        return None if number is None else CommandRef(self.workspace.id, f"{execution}:{number}")

    async def has_ended(self, activation: Activation) -> bool:
        """Whether the first command of the step ended before this process had the workspace."""
        try:
            found = await self.executor.find_ended(self.workspace, f"{self._execution(activation)}:1")
        except (WorkspaceLost, Unavailable):
            return False
        return found is not None

    def _execution(self, activation: Activation) -> str:
        return f"{self.run}:{activation.occurrence}:r{activation.rewinds}"

    @asynccontextmanager
    async def control_file(
        self, key: str, kind: str, content: str, *, mode: int = 0o600
    ) -> AsyncIterator["ControlFile"]:
        """A file for the command with this execution key, until this is left."""
        file = self.result_file(key, kind)
        await self.files.write("control", file.name, content.encode(errors="surrogateescape"), mode=mode)
        try:
            yield file
        finally:
            with suppress(WorkspaceLost, FileProblem):  # it goes with the workspace
                await self.files.remove("control", file.name)

    def result_file(self, key: str, kind: str) -> "ControlFile":
        """A file that the command makes. It stays: another server may take the result before the log has it."""
        name = f"{COMMAND_FILES}/{command_file_name(key)}.{kind}"
        return ControlFile(name, f"{self.workspace.control}/{name}")

    async def environment(self, activation: Activation, own: Mapping[str, Any]) -> dict[str, str]:
        """The variables of a command: listed secrets, the run's, the flow's, its parents', its own, and ours."""
        evaluator = activation.run.evaluator
        merged: dict[str, Any] = {name: self.secrets[name] for name in activation.step.secrets if name in self.secrets}
        merged.update(self.env)
        for env, values in _from_the_outside(activation):
            merged.update(await render(env, values, evaluator))
        merged.update(own)
        return {
            **{checked_name(name): as_text(value) for name, value in merged.items()},
            "PITSTOP_RUN": self.run,
            "PITSTOP_STEP": activation.step.path,
            "PITSTOP_OCCURRENCE": activation.occurrence,
            "PITSTOP_ATTEMPT": str(activation.attempt),
            "PITSTOP_WORKSPACE": self.workspace.repo,
            "PITSTOP_CONTEXT": await self.context(activation),
        }

    async def context(self, activation: Activation) -> str:
        """The folder with the logs of the steps before this one; it is filled only if a step of the flow reads it."""
        if activation.step.fills_context:
            await self._log_files.fill(activation, self.files, self.stored_log)
        return f"{self.workspace.control}/{context_folder(activation)}"

    async def log_before(self, activation: Activation) -> str:
        """The end of the log of the step that ran before this one, without secrets; empty if there was none."""
        return await log_before(activation, self.stored_log)

    def take_log(self, activation: Activation) -> str | None:
        """The end of what the step wrote, without secrets; None if it wrote nothing, or no step reads it."""
        tail = self._tails.pop(self._execution(activation), None)
        return None if tail is None else tail.text() or None

    def _tail(self, activation: Activation) -> LogTail | None:
        return self._tails.setdefault(self._execution(activation), LogTail()) if activation.step.stores_log else None

    def without_own_home(self, env: Mapping[str, str]) -> dict[str, str]:
        """The variables for a container, which has the workspace's home and not that of the person here."""
        own_home = self.env.get("HOME")
        return {name: value for name, value in env.items() if (name, value) != ("HOME", own_home)}

    def listener(self, activation: Activation) -> "Listener | None":
        """Somebody to tell what a command of the step writes; None when nobody listens."""
        tail = self._tail(activation)
        if self.on_output is None and tail is None:
            return None
        return Listener(activation.occurrence, self.on_output, self.masked_stream, self.settle, tail)

    def tell(self, activation: Activation, text: str) -> None:
        """Let those who watch the step read a line."""
        listener = self.listener(activation)
        if listener is not None:
            data = self.mask(text + "\n").encode(errors="replace")
            listener.pass_on("stdout", 0, activation.run.now(), data)

    @property
    def new_scan(self) -> NewScan | None:
        """What looks for the secrets of the run, if it has any."""
        return None if self.artifact_scan is None else self.artifact_scan.new_scan

    async def refused_artifacts(self) -> dict[str, str]:
        """The name of a secret for each artifact that contains one, and so is not stored."""
        return {} if self.artifact_scan is None else await self.artifact_scan.refused(self.files)

    async def tell_refused_artifacts(self, activation: Activation) -> dict[str, str]:
        """The same, and those that were not known yet are told in the log of the step."""
        refused = await self.refused_artifacts()
        for path, secret in refused.items():
            if self._told.get(path) != secret:
                self._told[path] = secret
                self.tell(activation, f"pitstop: {refusal(path, secret)}")
        return refused

    def masked(self, value: Any) -> Any:
        """JSON with the secrets taken out of its texts."""
        match value:
            case str():
                return self.mask(value)
            case dict():
                return {key: self.masked(child) for key, child in value.items()}
            case list():
                return [self.masked(child) for child in value]
        return value


class ControlFile(msgspec.Struct, frozen=True):
    """A file in the control part of a workspace: its name there, and its path for a command."""

    name: str
    path: str


class Listener:
    """Passes on what a command writes, with the secrets taken out."""

    def __init__(
        self,
        occurrence: str,
        on_output: OnOutput | None,
        masked_stream: Callable[[], MaskedStream] | None,
        settle: Settle | None = None,
        tail: LogTail | None = None,
    ) -> None:
        self._occurrence = occurrence
        self._on_output = on_output
        self._masked_stream = masked_stream
        self._settle = settle
        self._tail = tail
        self._unsettled_bytes = 0
        self._streams: dict[Stream, MaskedStream] = {}
        self._to_skip: dict[Stream, int] = {}
        self._last: LogChunk | None = None

    def skip(self, sizes: Mapping[Stream, int]) -> None:
        """Do not pass on the first bytes of each stream, after masking: they are stored already."""
        self._to_skip = dict(sizes)

    async def hear(self, chunk: LogChunk) -> None:
        """Waits now and then, until what was passed on is kept."""
        self.hear_now(chunk)
        self._unsettled_bytes += len(chunk.data)
        if self._settle is not None and self._unsettled_bytes >= SETTLE_BYTES:
            self._unsettled_bytes = 0
            await self._settle()

    def hear_now(self, chunk: LogChunk) -> None:
        """For whoever cannot wait."""
        if self._masked_stream is None:
            self.pass_on(chunk.stream, chunk.offset, chunk.time, chunk.data)
            return
        if chunk.stream not in self._streams:
            self._streams[chunk.stream] = self._masked_stream()
        self._last = chunk
        self.pass_on(chunk.stream, chunk.offset, chunk.time, self._streams[chunk.stream].feed(chunk.data))

    def finish(self) -> None:
        """Pass on what was held back because it could have become a secret."""
        if self._last is not None:
            for stream, masked in self._streams.items():
                self.pass_on(stream, self._last.end, self._last.time, masked.finish())

    def pass_on(self, stream: Stream, offset: int, time: float, data: bytes) -> None:
        """Pass on what has no secrets in it."""
        if self._tail is not None:
            self._tail.add(stream, data)
        if self._to_skip.get(stream):
            skipped = min(self._to_skip[stream], len(data))
            self._to_skip[stream] -= skipped
            offset, data = offset + skipped, data[skipped:]
        if data and self._on_output is not None:
            self._on_output(self._occurrence, LogChunk(stream, offset, time, data))


def fresh_workspace(workspace: str, home: str) -> str:
    """The id of the workspace of a step that has its own, in the run with this workspace."""
    return f"{workspace}{FRESH}{hashlib.sha256(home.encode()).hexdigest()[:16]}"


async def _copy_artifacts(source: WorkspaceFiles, target: WorkspaceFiles) -> None:
    last = None
    async for file, data in source.stream("artifacts"):
        await target.write("artifacts", file.path, data, mode=file.mode, append=file.path == last)
        last = file.path


def as_text(value: object) -> str:
    """A value as it stands in an environment: text as it is, null as nothing, the rest as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else msgspec.json.encode(value).decode()


def checked_name(name: str) -> str:
    """The name, if a variable of the environment can have it."""
    if not name or "=" in name or "\0" in name:
        raise BadConfig("env", [f"invalid variable name {name!r}"])
    return name


def _from_the_outside(activation: Activation) -> Iterator[tuple[Mapping[str, Any], Values]]:
    """Every environment around a step, and the values that it was written for."""
    parent = activation.parent
    values = activation.scope.values()
    if parent is not None:
        yield from _from_the_outside(parent)
        if parent.step.kind == "call":
            yield _environment_in(values), values
    if activation.step.env:
        yield activation.step.env, values
    if parent is None:
        yield _environment_in(values), values  # last, because somebody may have edited it


def _environment_in(values: Values) -> Mapping[str, Any]:
    """That of the flow whose steps see these values."""
    env = values.get("env")
    return env if isinstance(env, Mapping) else {}
