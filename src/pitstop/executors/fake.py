"""An executor for tests: commands are Python functions, or are driven by the test itself."""

import asyncio
import posixpath
import shutil
import signal
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

from pitstop.engine.executor import (
    Command,
    CommandRef,
    CommandResult,
    CommandState,
    ExecutorEvent,
    LogChunk,
    Placement,
    RunnerInfo,
    Shell,
    ShellRequest,
    Stream,
    WorkspaceRef,
    listed,
)
from pitstop.engine.workspace_files import command_file_name
from pitstop.errors import NoRunner, Unavailable, WorkspaceLost
from pitstop.executors.machine.processes.spawn import EXIT_NOT_EXECUTABLE, EXIT_NOT_FOUND
from pitstop.executors.machine.snapshots.of_workspace import LocalSnapshots
from pitstop.executors.machine.snapshots.store import SnapshotStore
from pitstop.executors.machine.workspaces.files import LocalFiles
from pitstop.executors.machine.workspaces.stored_ends import is_of
from pitstop.executors.machine.workspaces.workspace import Workspace

RELEASE_GRACE_SECONDS = 1.0
RUNNER = RunnerInfo("fake")


class FakeCommand:
    """A command that runs: it says and exits what its program, or the test, tells it to.

    On TERM it does `on_term`, which ends it unless that is replaced; KILL always ends it.
    """

    def __init__(self, command: Command, repo: Path) -> None:
        self.command = command
        self.repo = repo
        self.on_term: Callable[[], None] = lambda: self.die(signal.SIGTERM)
        self.on_input: Callable[[bytes], None] = lambda data: None  # of live input; nothing is its end
        self.chunks: list[LogChunk] = []
        self.changed = asyncio.Event()
        self.result: CommandResult | None = None
        self._started_at = time.time()
        self._size = 0
        self._ending: CommandState | None = None
        self._kill: asyncio.TimerHandle | None = None

    def say(self, said: str | bytes, stream: Stream = "stdout") -> None:
        data = said.encode() if isinstance(said, str) else said
        self.chunks.append(LogChunk(stream, self._size, time.time(), data))
        self._size += len(data)
        self._notice_change()

    def exit(self, code: int = 0) -> None:
        self._end("failed" if code else "completed", exit_code=code, reason=f"it exited with code {code}" * bool(code))

    def die(self, by: signal.Signals) -> None:
        self._end("failed", signal=by, reason=f"it was killed by {by.name}")

    def refuse(self, exit_code: int, reason: str) -> None:
        """Fail as a command that could not be run."""
        self.say(f"pitstop: {reason}\n", "stderr")
        self._end("failed", exit_code=exit_code, reason=reason)

    def lose(self, reason: str) -> None:
        """Be ended by somebody else, so that nobody sees how."""
        self._ending = None
        self._end("lost", reason=reason)

    def cancel(self, grace_seconds: float, ending: CommandState) -> None:
        if self.result is not None:
            return
        if self._ending is None:
            self._ending = ending
            self.on_term()
        if self.result is None:
            kill_at = asyncio.get_running_loop().time() + grace_seconds
            if self._kill is None or kill_at < self._kill.when():
                self._stop_waiting_to_kill()
                self._kill = asyncio.get_running_loop().call_at(kill_at, self.die, signal.SIGKILL)

    @property
    def ended_by_itself(self) -> bool:
        return self.result is not None and self.result.state in ("completed", "failed")

    async def wait_ended(self) -> CommandResult:
        while self.result is None:
            await self.changed.wait()
        return self.result

    def _end(
        self, state: CommandState, *, reason: str, exit_code: int | None = None, signal: int | None = None
    ) -> None:
        if self.result is not None:
            return
        self._stop_waiting_to_kill()
        if self._ending is not None:
            state = self._ending
            reason = "it timed out" if state == "timeout" else "it was cancelled"
        now = time.time()
        self.result = CommandResult(
            state=state,
            exit_code=exit_code,
            signal=signal,
            reason=reason,
            started_at=self._started_at,
            ended_at=now,
            duration_seconds=now - self._started_at,
        )
        self._notice_change()

    def _notice_change(self) -> None:
        self.changed.set()  # who waits now goes on,
        self.changed.clear()  # and who comes later waits

    def _stop_waiting_to_kill(self) -> None:
        if self._kill is not None:
            self._kill.cancel()


class FakeShell:
    """A terminal that answers what is typed, by a function."""

    def __init__(self, answer: Callable[[bytes], bytes]) -> None:
        self.size: tuple[int, int] = (0, 0)
        self._answer = answer
        self._said: asyncio.Queue[bytes] = asyncio.Queue()
        self._closed = asyncio.Event()

    async def read(self) -> bytes:
        if self._closed.is_set() and self._said.empty():
            return b""
        return await self._said.get()

    async def write(self, data: bytes) -> None:
        self._said.put_nowait(self._answer(data))

    def resize(self, rows: int, cols: int) -> None:
        self.size = rows, cols

    async def close(self) -> None:
        if not self._closed.is_set():
            self._closed.set()
            self._said.put_nowait(b"")

    async def wait(self) -> CommandResult:
        await self._closed.wait()
        return CommandResult(state="cancelled", signal=signal.SIGHUP, reason="it was cancelled")


Program = Callable[[FakeCommand], None]


class FakeDisk:
    """Workspaces that outlive an executor, in a folder of the test, and who uses them."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.snapshots = SnapshotStore(self.folder / ".snapshots")
        self.users: dict[str, FakeExecutor] = {}
        self.kept: set[str] = set()
        self.commands: dict[str, dict[str, FakeCommand]] = {}  # by workspace and execution key

    def ended_in(self, workspace: str) -> "dict[str, FakeCommand]":
        """The commands that ended by themselves."""
        return {key: each for key, each in self.commands.get(workspace, {}).items() if each.ended_by_itself}

    def workspaces(self) -> set[str]:
        return {path.name for path in self.folder.iterdir() if not path.name.startswith(".")}

    def remove(self, workspace: str) -> None:
        shutil.rmtree(self.folder / workspace, ignore_errors=True)
        self.commands.pop(workspace, None)


class FakeExecutor:
    """Runs `programs`, found by the first word of argv or by the whole script.

    A program may exit at once or leave its command running: `commands` has it by its execution key, for the test to
    go on with. Executors with the same `disk` can take up each other's workspaces.
    """

    def __init__(
        self,
        disk: FakeDisk,
        programs: Mapping[str, Program],
        *,
        answer: Callable[[bytes], bytes] = lambda typed: typed,
    ) -> None:
        self.commands: dict[str, FakeCommand] = {}
        self._disk = disk
        self._held: dict[str, WorkspaceRef] = {}
        self._named: set[str] = set()
        self._programs = programs
        self._answer = answer
        self._workspace_of: dict[str, str] = {}
        self._shells: dict[str, list[FakeShell]] = {}
        self._acquired_count = 0
        self._closed = asyncio.Event()

    async def runners(self) -> list[RunnerInfo]:
        return [RUNNER]

    async def events(self) -> AsyncIterator[ExecutorEvent]:
        yield ExecutorEvent(RUNNER.id, RUNNER.state)
        await self._closed.wait()

    async def acquire(self, placement: Placement) -> WorkspaceRef:
        if self._closed.is_set():
            raise Unavailable("this executor is closed")
        if not RUNNER.meets(placement.requires):
            raise NoRunner(listed(placement.requires), [str(RUNNER)])
        self._acquired_count += 1
        workspace = placement.workspace or f"workspace-{id(self)}-{self._acquired_count}"
        if placement.workspace is not None:
            if workspace in self._disk.users:
                raise Unavailable(f"workspace {workspace!r} is in use by another executor")
            self._named.add(workspace)
        self._disk.users[workspace] = self
        self._disk.kept.discard(workspace)
        made = Workspace(self._disk.folder / workspace)
        made.make_folders()
        ended = {command_file_name(key) for key in self._disk.ended_in(workspace)}
        for file in made.command_files.iterdir():
            if not is_of(file.name, ended):
                file.unlink()
        self._shells[workspace] = []
        self._held[workspace] = made.ref(RUNNER.id)
        return self._held[workspace]

    async def release(self, workspace: WorkspaceRef, *, keep: bool = False) -> None:
        if self._held.pop(workspace.id, None) is None:
            return
        for shell in self._shells.pop(workspace.id):
            await shell.close()
        running = [self.commands[key] for key, where in self._workspace_of.items() if where == workspace.id]
        for command in running:
            command.cancel(RELEASE_GRACE_SECONDS, "cancelled")
        for command in running:
            await command.wait_ended()
        del self._disk.users[workspace.id]
        if keep:
            self._disk.kept.add(workspace.id)
        else:
            self._disk.remove(workspace.id)

    async def orphans(self) -> list[str]:
        return sorted(self._disk.workspaces() - self._disk.users.keys() - self._disk.kept)

    async def kept(self) -> list[str]:
        return sorted(self._disk.kept)

    async def remove_workspace(self, workspace: str) -> None:
        if workspace in self._disk.users:
            raise Unavailable(f"workspace {workspace!r} is in use by another executor")
        self._disk.remove(workspace)
        self._disk.kept.discard(workspace)

    def lapse(self) -> None:
        """Lose everything, as one who stood still for longer than his lease."""
        for workspace in [*self._held]:
            del self._held[workspace], self._disk.users[workspace]
            if workspace not in self._named:
                self._disk.remove(workspace)
        for command in self.commands.values():
            command.lose("it was suspended for longer than its lease")

    async def start(self, workspace: WorkspaceRef, command: Command) -> CommandRef:
        ref = CommandRef(self._workspace_of.get(command.key, workspace.id), command.key)
        if command.key in self.commands:
            return ref
        self._check_held(workspace)
        started = FakeCommand(command, Path(workspace.repo))
        self._know(workspace, command.key, started)
        name = command.script if command.script is not None else command.argv[0]
        if posixpath.normpath(command.cwd).split("/")[0] in ("..", ""):
            started.refuse(EXIT_NOT_EXECUTABLE, f"cannot run in the folder {command.cwd}: it is outside the workspace")
        elif missing := [path for path in command.read_only if not (started.repo / path).exists()]:
            started.refuse(EXIT_NOT_EXECUTABLE, f"cannot protect {missing[0]}: there is no such file or folder")
        elif name not in self._programs:
            started.refuse(EXIT_NOT_FOUND, f"command not found: {name}")
        else:
            self._programs[name](started)
        return ref

    async def find_ended(self, workspace: WorkspaceRef, key: str) -> CommandRef | None:
        self._check_held(workspace)
        ended = self._disk.ended_in(workspace.id).get(key)
        if ended is None:
            return None
        self._know(workspace, key, ended)
        return CommandRef(workspace.id, key)

    async def forget_ended(self, workspace: WorkspaceRef) -> None:
        self._check_held(workspace)
        self._disk.commands.pop(workspace.id, None)

    def _know(self, workspace: WorkspaceRef, key: str, command: FakeCommand) -> None:
        self.commands[key] = command
        self._workspace_of[key] = workspace.id
        self._disk.commands.setdefault(workspace.id, {})[key] = command

    async def logs(self, command: CommandRef, offset: int = 0) -> AsyncIterator[LogChunk]:
        if command.workspace not in self._held:
            raise WorkspaceLost(command.workspace, f"so is the log of {command.key!r}")
        running = self.commands[command.key]
        position = 0
        while position < len(running.chunks) or running.result is None:
            if position == len(running.chunks):
                await running.changed.wait()
                continue
            chunk = running.chunks[position]
            position += 1
            if chunk.end > offset:
                skipped = max(0, offset - chunk.offset)
                yield LogChunk(chunk.stream, chunk.offset + skipped, chunk.time, chunk.data[skipped:])

    async def write(self, command: CommandRef, data: bytes) -> None:
        if data and command.key in self.commands and self.commands[command.key].result is None:
            self.commands[command.key].on_input(data)

    async def close_input(self, command: CommandRef) -> None:
        if command.key in self.commands and self.commands[command.key].result is None:
            self.commands[command.key].on_input(b"")

    async def wait(self, command: CommandRef) -> CommandResult:
        if command.key not in self.commands:
            return CommandResult(state="lost", reason="this executor does not know it")
        return await self.commands[command.key].wait_ended()

    async def cancel(self, command: CommandRef, grace: float = 10.0, *, timed_out: bool = False) -> None:
        if command.key in self.commands:
            running = self.commands[command.key]
            running.cancel(grace, "timeout" if timed_out else "cancelled")
            await running.wait_ended()

    async def shell(self, workspace: WorkspaceRef, request: ShellRequest) -> Shell:
        self._check_held(workspace)
        shell = FakeShell(self._answer)
        shell.resize(request.rows, request.cols)
        self._shells[workspace.id].append(shell)
        return shell

    async def image_digest(self, image: str) -> str:
        return ""

    def files(self, workspace: WorkspaceRef) -> LocalFiles:
        return LocalFiles(workspace, lambda: self._check_held(workspace))

    def snapshots(self, workspace: WorkspaceRef) -> LocalSnapshots:
        return LocalSnapshots(self._disk.snapshots, workspace, lambda: self._check_held(workspace))

    async def close(self, *, keep: bool = False) -> None:
        self._closed.set()
        for workspace in [*self._held.values()]:
            await self.release(workspace, keep=keep and workspace.id in self._named)

    def _check_held(self, workspace: WorkspaceRef) -> None:
        if workspace.id not in self._held:
            raise WorkspaceLost(workspace.id, "it was released, or belongs to another executor")
