"""Commands as processes of this machine, each in the hands of a supervisor that leaves nothing of it behind."""

import asyncio
import contextlib
import os
import platform
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pitstop.engine.executor import (
    LIVE_INPUT,
    Command,
    CommandRef,
    CommandResult,
    ExecutorEvent,
    Labels,
    LogChunk,
    Placement,
    RunnerInfo,
    RunnerState,
    Shell,
    ShellRequest,
    WorkspaceRef,
    listed,
)
from pitstop.engine.threads import in_thread
from pitstop.errors import NoRunner, Unavailable, WorkspaceLost
from pitstop.executors.machine.processes.argv import argv_of
from pitstop.executors.machine.processes.confined import UNCONFINED, Confinement, confinement_of
from pitstop.executors.machine.processes.confinement_check import ConfinementCheck
from pitstop.executors.machine.processes.held_workspace import HeldWorkspace
from pitstop.executors.machine.processes.keeper_process import KeeperProcess, spawn_keeper
from pitstop.executors.machine.processes.live_input import LiveInput
from pitstop.executors.machine.processes.result import result_of, stored_result
from pitstop.executors.machine.processes.spawn import Request
from pitstop.executors.machine.processes.supervisors import Supervised, Supervisors, ended_before, refused
from pitstop.executors.machine.spill import STDERR, SpillReader, write_all
from pitstop.executors.machine.workspaces.files import LocalFiles
from pitstop.executors.machine.workspaces.held import Workspaces
from pitstop.executors.machine.workspaces.leftovers import EPOCH_VARIABLE
from pitstop.executors.machine.workspaces.workspace import path_in_repo
from pitstop.settings import environment_for_commands

if TYPE_CHECKING:  # what a run without snapshots or containers need not pay for
    from pitstop.executors.machine.processes.recording import Recording
    from pitstop.executors.machine.snapshots.of_workspace import LocalSnapshots
    from pitstop.executors.machine.snapshots.store import SnapshotStore

RELEASE_GRACE_SECONDS = 1.0
LEASE_SECONDS = 15.0
OTHER_NAMES = {"x86_64": ("x86_64", "amd64"), "aarch64": ("aarch64", "arm64")}  # of architectures
LAPSED = "Pitstop was suspended for {seconds:g} s, so its commands were killed and its workspaces released"

BeforeRelease = Callable[[WorkspaceRef], Awaitable[None]]


class ProcessExecutor:
    """Runs commands on this machine, as the user that Pitstop runs as. Workspaces are made below `workspaces`.

    A command gets `env`, by default that of this process without Pitstop's own settings, then HOME, PITSTOP_ARTIFACTS,
    PITSTOP_EPOCH and PITSTOP_EXECUTION_KEY, and over these its own.

    Where others may take over (a server beside this one), `lease_seconds` is how long this process may stand still
    before its commands are ended and its workspaces are free: LEASE_SECONDS is a good value. None is for one who works
    alone, so that he may stop his program (with Ctrl-Z, or in a debugger) as long as he likes.
    """

    def __init__(
        self,
        workspaces: Path,
        *,
        runner: str = "local",
        labels: Labels | None = None,
        env: Mapping[str, str] | None = None,
        lease_seconds: float | None = None,
        new_keeper: Callable[[], KeeperProcess] = spawn_keeper,
        new_snapshots: "Callable[[], SnapshotStore] | None" = None,
    ) -> None:
        self._workspaces = Workspaces(workspaces)
        self._new_snapshots = new_snapshots
        self._lease_seconds = lease_seconds
        self._runner = runner
        self._labels: Labels = {"os": platform.system().lower(), "arch": _architecture(), **(labels or {})}
        self._env = _encoded(environment_for_commands(on_server=lease_seconds is not None) if env is None else env)
        self._held: dict[str, HeldWorkspace] = {}
        self._started: dict[str, tuple[CommandRef, Supervised]] = {}
        self._found: dict[str, CommandResult] = {}  # of those that ended under a former holder of the workspace
        self._supervisors = Supervisors(lease_seconds, self._workspaces.notice_lapse, new_keeper)
        self._check = ConfinementCheck(self._supervisors)
        self._before_release: list[BeforeRelease] = []
        self._closed = asyncio.Event()
        self.orphans = self._workspaces.orphans
        self.kept = self._workspaces.kept
        self.remove_workspace = self._workspaces.remove

    async def runners(self) -> list[RunnerInfo]:
        state: RunnerState = "ready" if self._supervisors.can_start else "unavailable"
        return [RunnerInfo(self._runner, self._labels, state, used=len(self._held))]

    async def events(self) -> AsyncIterator[ExecutorEvent]:
        yield ExecutorEvent(self._runner, "ready")
        await self._closed.wait()

    # --- Workspaces

    async def acquire(self, placement: Placement) -> WorkspaceRef:
        if self._closed.is_set():
            raise Unavailable("this executor is closed")
        (here,) = await self.runners()
        if not here.meets(placement.requires):
            raise NoRunner(listed(placement.requires), [str(here)])
        self._workspaces.notice_lapse()
        workspace = await self._workspaces.acquire(placement)
        epoch = self._workspaces.epoch
        try:
            self._supervisors.begin(epoch)
        except OSError as error:
            workspace.keep() if workspace.named else workspace.destroy()
            raise Unavailable(f"could not start the process keeper: {error}") from error
        given = {
            "HOME": str(workspace.home),
            "PITSTOP_ARTIFACTS": str(workspace.artifacts),
            EPOCH_VARIABLE: epoch.name,
        }
        path = {name: value for name, value in self._env.items() if name == b"PATH"}
        own = {**path, **_encoded(given)}
        self._held[workspace.id] = HeldWorkspace(workspace, {**self._env, **own}, own)
        return workspace.ref(self._runner)

    async def release(self, workspace: WorkspaceRef, *, keep: bool = False) -> None:
        held = self._held.get(workspace.id)
        if held is None:
            return
        held.is_left, held.is_kept = True, held.is_kept or keep
        async with held.turn:  # who releases it meanwhile, or closes all, waits until it is done
            if self._held.get(workspace.id) is held:
                await self._end_all_in(held)
                try:
                    await self._give_up(held)
                finally:
                    del self._held[workspace.id]

    def before_release(self, end: BeforeRelease) -> None:
        """Call `end` with each workspace that is released, before its processes end."""
        self._before_release.append(end)

    async def _end_all_in(self, held: HeldWorkspace) -> None:
        for end in self._before_release:
            await end(held.workspace.ref(self._runner))
        for shell in held.shells:
            await shell.close()
        started = {key: it for key, (ref, it) in self._started.items() if ref.workspace == held.workspace.id}
        for supervised in started.values():
            supervised.cancel(RELEASE_GRACE_SECONDS, "cancelled")
        for key, supervised in started.items():
            await supervised.wait_ended()
            del self._started[key]
            self._found.pop(key, None)

    async def _give_up(self, held: HeldWorkspace) -> None:
        if self._has_lost(held):
            return  # it may be somebody else's by now
        with contextlib.suppress(WorkspaceLost):
            if held.is_kept or not held.workspace.destroy_at_once():
                await in_thread(held.workspace.keep if held.is_kept else held.workspace.destroy)

    async def image_digest(self, image: str) -> str:
        return ""

    def files(self, workspace: WorkspaceRef) -> LocalFiles:
        return LocalFiles(workspace, lambda: self.check_held(workspace))

    def snapshots(self, workspace: WorkspaceRef) -> "LocalSnapshots":
        from pitstop.executors.machine.snapshots.of_workspace import LocalSnapshots
        from pitstop.executors.machine.snapshots.store import SnapshotStore

        folder, held = self._workspaces.folder, self._held.get(workspace.id)
        store = SnapshotStore(folder / ".snapshots") if self._new_snapshots is None else self._new_snapshots()
        is_in_place = held is not None and held.workspace.folder is not None
        without = (folder.resolve(),) if is_in_place else ()  # it may be in the user's own folder
        return LocalSnapshots(store, workspace, lambda: self.check_held(workspace), without)

    # --- Commands

    async def start(self, workspace: WorkspaceRef, command: Command) -> CommandRef:
        if command.key in self._started:
            return self._started[command.key][0]
        held = self._find(workspace)
        ref = CommandRef(workspace.id, command.key)
        confinement = await self._confine(workspace, held, command) if command.is_confined else UNCONFINED
        if command.key in self._started:  # by another call, while this one waited
            return ref
        try:
            self._started[command.key] = ref, self._start(held, command, confinement)
        except OSError as error:
            raise Unavailable(f"could not start a supervisor for command {command.key!r}: {error}") from error
        return ref

    async def find_ended(self, workspace: WorkspaceRef, key: str) -> CommandRef | None:
        ref = CommandRef(workspace.id, key)
        if key in self._started:
            return ref if self._started[key][1].ended.done() else None
        place = self._find(workspace).workspace
        end = place.end_of(key)
        result = None if end is None else stored_result(end)
        if result is None:
            return None
        self._started[key], self._found[key] = (ref, ended_before(place.log_of(key))), result
        return ref

    async def forget_ended(self, workspace: WorkspaceRef) -> None:
        held = self._find(workspace)
        if held.workspace.named:  # else it is removed when it is released
            await in_thread(held.workspace.clear_commands)

    def knows(self, key: str) -> bool:
        """Whether it was started or found here."""
        return key in self._started

    def discard_end(self, workspace: WorkspaceRef, key: str) -> None:
        """Let a command that ended under a former holder run again. Raises WorkspaceLost."""
        self._find(workspace).workspace.discard_end_of(key)

    def record(self, workspace: WorkspaceRef, key: str, recording: "Recording") -> Supervised:
        """Start the recorder of the command with this key, which runs in a container. Raises WorkspaceLost, OSError."""
        return self._supervisors.start(recording.request(self._find(workspace), key), [recording.stdin])

    async def _confine(self, workspace: WorkspaceRef, held: HeldWorkspace, command: Command) -> Confinement | str:
        """What the command is kept from, or why that cannot be had."""
        try:
            confinement = confinement_of(command, held.workspace)
        except ValueError as error:
            return str(error)
        return await self._why_not(confinement, workspace) or confinement

    def _start(self, held: HeldWorkspace, command: Command, confinement: Confinement | str) -> Supervised:
        held.workspace.discard_end_of(command.key)
        log = held.workspace.log_of(command.key)
        if command.image is not None:
            return refused(log, f"image {command.image}: this executor cannot run containers")
        if isinstance(confinement, str):
            return refused(log, confinement)
        try:
            cwd = path_in_repo(held.workspace.repo, command.cwd)
        except ValueError as error:
            return refused(log, f"cannot run in the folder {command.cwd}: {error}")
        inherited = held.env if command.inherits else held.own_env
        request = Request(
            log=log,
            argv=[os.fsencode(argument) for argument in argv_of(command, log)],
            env={**inherited, b"PITSTOP_EXECUTION_KEY": os.fsencode(command.key), **_encoded(command.env)},
            cwd=os.fsencode(cwd),
            before=confinement.argv(os.fsencode(cwd)) if command.is_confined else None,
            stores_end=held.workspace.named,
        )
        if command.stdin is None:
            return self._supervisors.start(request)
        if command.stdin == LIVE_INPUT:
            return self._supervisors.start_with_live_input(request)
        with os.fdopen(os.memfd_create("stdin"), "w+b", buffering=0) as stdin:
            write_all(stdin.fileno(), command.stdin)
            stdin.seek(0)
            return self._supervisors.start(request, [stdin.fileno()])

    async def write(self, command: CommandRef, data: bytes) -> None:
        if (live := self._input_of(command)) is not None:
            await live.write(data)

    async def close_input(self, command: CommandRef) -> None:
        if (live := self._input_of(command)) is not None:
            await live.close()

    def _input_of(self, command: CommandRef) -> LiveInput | None:
        return self._started[command.key][1].input if command.key in self._started else None

    async def logs(self, command: CommandRef, offset: int = 0) -> AsyncIterator[LogChunk]:
        if command.key not in self._started:
            raise WorkspaceLost(command.workspace, f"so is the log of {command.key!r}")
        _, supervised = self._started[command.key]
        reader = SpillReader(supervised.log, offset)
        try:
            while True:
                ended = supervised.ended.done()  # asked first: what it wrote before its end is still to be read
                if supervised.has_log and (chunk := reader.read()):
                    stream, begin, written_at, data = chunk
                    yield LogChunk("stderr" if stream == STDERR else "stdout", begin, written_at, data)
                    await asyncio.sleep(0)  # a reader that never waits must not keep the loop to itself
                elif ended:
                    return
                else:
                    await supervised.wait_grown(reader.offset)
        finally:
            reader.close()

    async def wait(self, command: CommandRef) -> CommandResult:
        if command.key not in self._started:
            return CommandResult(state="lost", reason="this executor does not know it")
        if command.key in self._found:
            return self._found[command.key]
        end = await self._started[command.key][1].wait_ended()
        held = self._held.get(command.workspace)
        if end is None and held is not None and self._has_lost(held):
            return CommandResult(state="lost", reason=self._why_lost())
        return result_of(end)

    async def cancel(self, command: CommandRef, grace: float = 10.0, *, timed_out: bool = False) -> None:
        if command.key in self._started:
            _, supervised = self._started[command.key]
            supervised.cancel(grace, "timeout" if timed_out else "cancelled")
            await supervised.wait_ended()

    async def shell(self, workspace: WorkspaceRef, request: ShellRequest) -> Shell:
        from pitstop.executors.machine.processes.terminal import TerminalShell, open_terminal

        if request.image is not None:
            raise NoRunner(f"image {request.image}", [f"{self._runner}, which cannot run containers"])
        held = self._find(workspace)
        folder = os.fsencode(path_in_repo(held.workspace.repo, request.cwd))
        words = [os.fsencode(word) for word in request.argv] or [held.env.get(b"SHELL", b"/bin/sh")]
        confinement = Confinement(read_only=tuple(held.roots())) if request.read_only else None
        if confinement is not None and (why_not := await self._why_not(confinement, workspace)):
            raise NoRunner("a read-only view of a workspace", [f"{self._runner}, where {why_not}"])
        try:
            outer, inner = open_terminal(request.rows, request.cols)
        except OSError as error:
            raise Unavailable(f"there is no terminal for a shell: {error}") from error
        spawned = Request(
            log=os.devnull,
            argv=words,
            env={b"TERM": b"xterm-256color", **held.env, **_encoded(request.env)},
            cwd=folder,
            before=None if confinement is None else confinement.argv(folder),
            terminal=os.ttyname(inner),
        )
        try:
            supervised = self._supervisors.start(spawned, [inner])
        except OSError as error:
            os.close(outer)
            raise Unavailable(f"could not start a supervisor for the shell: {error}") from error
        finally:
            os.close(inner)
        shell = TerminalShell(outer, supervised)
        held.shells.append(shell)
        return shell

    async def _why_not(self, confinement: Confinement, workspace: WorkspaceRef) -> str:
        """Why nothing can be confined like that here; nothing if it can."""
        return await self._check.why_not(confinement, self._find(workspace), lambda: self.check_held(workspace))

    async def close(self, *, keep: bool = False) -> None:
        self._closed.set()
        try:
            for held in [*self._held.values()]:
                await self.release(held.workspace.ref(self._runner), keep=keep and held.workspace.named)
        finally:
            await self._supervisors.close()
            self._workspaces.close()

    def holds(self, workspace: WorkspaceRef) -> bool:
        """Whether it was acquired here, and not released since."""
        held = self._held.get(workspace.id)
        return held is not None and not held.is_left

    def check_held(self, workspace: WorkspaceRef) -> None:
        """Raises WorkspaceLost if it is not this executor's, or not any more."""
        self._find(workspace)

    def _find(self, workspace: WorkspaceRef) -> HeldWorkspace:
        held = self._held.get(workspace.id)
        if held is None or held.is_left:
            raise WorkspaceLost(workspace.id, "it was released, or belongs to another executor")
        if self._has_lost(held):
            raise WorkspaceLost(workspace.id, self._why_lost())
        return held

    def _has_lost(self, held: HeldWorkspace) -> bool:
        """Is the epoch over in which it was acquired? The keeper's message may not have arrived yet."""
        self._workspaces.notice_lapse()
        return not self._workspaces.is_in(held.workspace.epoch)

    def _why_lost(self) -> str:
        if self._lease_seconds is None:
            return f"the contents of {self._workspaces.folder} were removed"
        return LAPSED.format(seconds=self._lease_seconds)


def _architecture() -> str | tuple[str, ...]:
    """What the machine is called, and what others call it."""
    machine = platform.machine()
    return OTHER_NAMES.get(machine, machine)


def _encoded(env: Mapping[str, str]) -> dict[bytes, bytes]:
    return {os.fsencode(name): os.fsencode(value) for name, value in env.items()}
