"""The Executor port: what the engine asks of a place where commands run.

Everything above it (retry, requeue, timeouts, stops, the database) belongs to the engine; an executor starts a command
at most once, tells what it said and how it ended, and leaves nothing of it behind.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Literal, Protocol

import msgspec

from pitstop.engine.container import ContainerOptions
from pitstop.engine.workspace_files import WorkspaceFiles, WorkspaceSnapshots

RunnerState = Literal["ready", "busy", "unavailable", "lost"]
Stream = Literal["stdout", "stderr"]
CommandState = Literal["completed", "failed", "cancelled", "timeout", "lost"]
Labels = Mapping[str, str | tuple[str, ...]]

LIVE_INPUT: Literal["live"] = "live"
PITSTOP_PYTHON = "{pitstop-python}"  # the interpreter that Pitstop runs with at the place
PITSTOP_PACKAGE = "{pitstop}/"  # the folder of Pitstop's own modules there


class RunnerInfo(msgspec.Struct, frozen=True):
    """A machine that can hold workspaces. `slots` is None where nothing limits them."""

    id: str
    labels: Labels = msgspec.field(default_factory=dict)
    state: RunnerState = "ready"
    slots: int | None = None
    used: int = 0

    def __str__(self) -> str:
        return f"{self.id} ({listed(self.labels)})"

    def meets(self, requires: Labels) -> bool:
        """Does every label that is asked for have the values that are asked for? `runner` asks for the id."""
        labels = {**self.labels, "runner": self.id}
        return all(set(_values(wanted)) <= set(_values(labels.get(name, ()))) for name, wanted in requires.items())


class ExecutorEvent(msgspec.Struct, frozen=True):
    """A runner came up, cannot be reached, or is lost."""

    runner: str
    state: RunnerState
    reason: str = ""


class Placement(msgspec.Struct, frozen=True):
    """What a workspace needs. `deadline_seconds` is how long a runner may be waited for.

    With `folder` the workspace is in place: that folder of the machine is the repository, and is never removed.
    `workspace` is an id of letters, digits, - and _. If there is a workspace with it, because one was released to be
    kept or because its user died, it is taken up as it was left (in place it is where it always was, and `folder` need
    not be said again); else one is made with that id. One that another executor uses is waited for until the deadline.
    """

    requires: Labels = msgspec.field(default_factory=dict)
    deadline_seconds: float = 0.0
    folder: str | None = None
    workspace: str | None = None


class WorkspaceRef(msgspec.Struct, frozen=True):
    """A workspace on a runner; the folders are named as a command there sees them.

    They may be folders of another machine: only commands get these paths, and `Executor.files` opens what is there.
    """

    id: str
    runner: str
    repo: str
    home: str
    artifacts: str
    control: str


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """What to run: `argv`, or a `script` for `shell`.

    `key` is the execution key: a second start with the same key starts nothing. `cwd` is relative to the workspace's
    repo and cannot leave it. `env` is laid over what the place gives every command. `stdin` None is an empty input, and
    LIVE_INPUT one that `write` fills until `close_input`, and that ends when Pitstop does.
    With `image` it runs in a container of that image, made as `container` says, where the workspace has the same paths.
    With `script_file` the script is in that file too, and must be read from there: it may contain secrets.
    Without `inherits` it gets none of the variables of the place, but PATH and those of the workspace.
    `read_only` are files and folders, relative to the repo, that it cannot change, remove, rename or replace, nor can
    it rename their parents. Where `network` is `none` it has only a loopback of its own, and no services. `forwards`
    are ports of 127.0.0.1, there or in its container, that lead to Unix sockets, named relative to the workspace's
    control folder; the image needs Python or Node for it.
    `pids` is how many processes and threads it can have at a time. A place that cannot do one of these refuses it.
    A word of `argv` that is PITSTOP_PYTHON, or begins with PITSTOP_PACKAGE, names a file of Pitstop at the place.
    """

    key: str
    argv: tuple[str, ...] = ()
    script: str | None = None
    script_file: str | None = None
    shell: tuple[str, ...] = ("sh", "-e")
    cwd: str = "."
    env: Mapping[str, str] = msgspec.field(default_factory=dict)
    inherits: bool = True
    read_only: tuple[str, ...] = ()
    network: Literal["all", "none"] = "all"
    forwards: Mapping[int, str] = msgspec.field(default_factory=dict)
    pids: int | None = None
    stdin: bytes | Literal["live"] | None = None
    image: str | None = None
    container: ContainerOptions = msgspec.field(default_factory=ContainerOptions)

    def __post_init__(self) -> None:
        if bool(self.argv) == (self.script is not None):
            raise ValueError(f"command {self.key!r} needs either argv or a script")
        if self.forwards and self.network != "none" and self.image is None:
            raise ValueError(f"command {self.key!r} can forward ports only in a container, or without a network")

    @property
    def is_confined(self) -> bool:
        """Whether it needs more of a place than to be run there."""
        return bool(self.read_only) or self.network != "all" or self.pids is not None


class CommandRef(msgspec.Struct, frozen=True):
    """A command that was started."""

    workspace: str
    key: str


class ShellRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What shell to open: `argv`, or the default shell of the place.

    With `image` it runs in a container of that image, made as `container` says. While the command `beside` still runs
    in a container, the shell joins it there. With `read_only` it is a sidecar that cannot change the workspace.
    With `is_step`, `argv` is the command of a step: its container has the step's limits, not those of shells.
    """

    argv: tuple[str, ...] = ()
    image: str | None = None
    rows: int = 24
    cols: int = 80
    cwd: str = "."
    env: Mapping[str, str] = {}
    container: ContainerOptions = ContainerOptions()
    beside: CommandRef | None = None
    read_only: bool = False
    is_step: bool = False


class LogChunk(msgspec.Struct, frozen=True):
    """Bytes that a command wrote, as they came; `end` is the offset that the next chunk begins at.

    Offsets count both streams together, in the order of arrival. The order within a stream is exact; between the two it
    is that of arrival, because they are two pipes.
    """

    stream: Stream
    offset: int
    time: float
    data: bytes

    @property
    def end(self) -> int:
        return self.offset + len(self.data)


class CommandResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a command ended.

    `completed` is exit code 0; `failed` is any other, a signal that nobody here sent, or a command that could not be
    run, whose exit code is then the shell's: 127 not found, 126 cannot be run. `cancelled` and `timeout` were ended by
    `cancel`; `lost` is one whose end was not seen. `reason` is for people, and empty when the command completed;
    `hint` is what else was seen that may explain a failure, such as a service that has ended.
    `out_of_memory` is True only where it is known. `image_digest` names the very image that it ran in, if in any.
    """

    state: CommandState
    exit_code: int | None = None
    signal: int | None = None
    out_of_memory: bool = False
    reason: str = ""
    hint: str = ""
    started_at: float = 0.0
    ended_at: float = 0.0
    duration_seconds: float = 0.0
    image_digest: str = ""


class Shell(Protocol):
    """A terminal in a workspace."""

    async def read(self) -> bytes:
        """What the terminal says next, never cut inside a UTF-8 character; empty when it has ended."""
        ...

    async def write(self, data: bytes) -> None: ...

    def resize(self, rows: int, cols: int) -> None: ...

    async def close(self) -> None:
        """Hang up. Returns when nothing that the shell started is left."""
        ...

    async def wait(self) -> CommandResult: ...


class Executor(Protocol):
    """A place where commands run.

    The order of calls, for each workspace:

    1. `acquire`, once. Nothing else is called for a workspace before it has returned.
    2. `files(...).check_out` or `snapshots(...).restore`, if the workspace is to begin with something.
    3. Any number of commands, one after the other or concurrently: perhaps `find_ended`, `start`, then `logs` and
       `wait`, which may run concurrently and more than once, `write` and `close_input` for live input, then perhaps
       `cancel`. `files`, `snapshots(...).take` and `shell` at any time.
    4. `snapshots(...).restore` to go back: no command runs in the workspace then.
    5. `release`. What is called for the workspace later raises `WorkspaceLost`.

    `close` comes last, and may come at any time. `runners`, `events`, `orphans`, `kept`, `remove_workspace` and
    `image_digest` need no workspace and may be called at any time before.

    Every implementation must

    - let all methods run concurrently, for different workspaces and for one;
    - make `start` idempotent by the execution key, and `release`, `remove_workspace`, `cancel` and `close` idempotent;
    - leave nothing running when a cancelled `acquire`, `shell` or `start` raises `CancelledError`;
    - resolve the placeholders in `Command.argv`;
    - refuse a command that it cannot confine as asked, with what is missing, and never run it without that;
    - keep the promises that `tests/contracts/executor.py` checks.

    Every method may raise `Unavailable` (it may be repeated) and, given a workspace, `WorkspaceLost` (it is final).

    An executor that others may take over has a lease: if its process stands still for longer, its event loop included,
    its commands are ended (`lost`) and its workspaces are free for others. It has then lost them (`WorkspaceLost`), and
    can acquire them anew, by their ids, if nobody else did. When its process dies that happens at once.
    """

    async def runners(self) -> list[RunnerInfo]: ...

    def events(self) -> AsyncIterator[ExecutorEvent]:
        """The runners as they are now, then every change; ends when the executor is closed."""
        ...

    async def acquire(self, placement: Placement) -> WorkspaceRef:
        """A workspace of one's own, new or taken up again.

        Raises `NoRunner` when nothing meets the placement before its deadline, and `Unavailable` when the workspace
        that it names is still in use then. When it is taken up, nothing runs in it that its last user started, and
        the folder COMMAND_FILES of its control part has no files but those of commands that `find_ended` finds.
        """
        ...

    async def release(self, workspace: WorkspaceRef, *, keep: bool = False) -> None:
        """Give the workspace up: what still runs in it is ended, and it is removed unless it is kept.

        One that is kept can be acquired again by its id, even if the id was made up here.
        """
        ...

    async def orphans(self) -> list[str]:
        """The ids of workspaces that were acquired by an id and whose users died: to acquire again, or to remove.

        Those without an id of somebody's own are removed when an executor begins.
        """
        ...

    async def kept(self) -> list[str]:
        """The ids of workspaces that were released to be kept."""
        ...

    async def remove_workspace(self, workspace: str) -> None:
        """Remove one that nobody uses, by its id; nothing if there is none. Raises `Unavailable` if it is in use."""
        ...

    async def start(self, workspace: WorkspaceRef, command: Command) -> CommandRef:
        """Start the command, at most once per execution key; never retried here.

        A command that cannot run is a result, not an exception: `wait` tells.
        """
        ...

    async def find_ended(self, workspace: WorkspaceRef, key: str) -> CommandRef | None:
        """The command with this key that ended by itself before the workspace was taken up; None if there is none.

        From then on it counts as started: `start` starts nothing, `logs` and `wait` have all of it. Without this call,
        `start` runs it again. Only named workspaces have such commands.
        """
        ...

    async def forget_ended(self, workspace: WorkspaceRef) -> None:
        """Remove the logs and files of the commands that ended there: `find_ended` finds none of them any more."""
        ...

    def logs(self, command: CommandRef, offset: int = 0) -> AsyncIterator[LogChunk]:
        """What the command wrote from `offset` on, until it has ended. Any number of readers, each at its own pace."""
        ...

    async def wait(self, command: CommandRef) -> CommandResult:
        """The one result of the command. Cancelling the wait does not cancel the command."""
        ...

    async def write(self, command: CommandRef, data: bytes) -> None:
        """Give a command with live input more of it. Returns when the command, or its pipe, has taken all of it.

        What a command does not want any more, because it has ended or closed its input, is dropped. Calls for one
        command are made one after the other.
        """
        ...

    async def close_input(self, command: CommandRef) -> None:
        """End the live input of a command, after all that was written. Closing it again changes nothing."""
        ...

    async def cancel(self, command: CommandRef, grace: float = 10.0, *, timed_out: bool = False) -> None:
        """End the command: TERM, `grace` seconds, then KILL. Returns when nothing of it is left.

        A second cancel with less grace shortens the first. The result says `timeout` if `timed_out`, else `cancelled`;
        a command that had ended already keeps its result.
        """
        ...

    async def shell(self, workspace: WorkspaceRef, request: ShellRequest) -> Shell:
        """A shell in the workspace. Raises `NoRunner`, which names what is missing, where there can be none."""
        ...

    async def image_digest(self, image: str) -> str:
        """The very image that a command with this name of one would run in, if it is there already; else nothing."""
        ...

    def files(self, workspace: WorkspaceRef) -> WorkspaceFiles:
        """The files of the workspace. Never raises: each of its methods does, when the workspace is lost."""
        ...

    def snapshots(self, workspace: WorkspaceRef) -> WorkspaceSnapshots:
        """The snapshots of the workspace. Never raises, as `files`. The caller closes it."""
        ...

    async def close(self, *, keep: bool = False) -> None:
        """End every command and shell, and release every workspace.

        With `keep`, the workspaces that were acquired by an id are kept, for whoever goes on with them.
        """
        ...


def asked_labels(requires: Mapping[str, Any]) -> Labels:
    """Labels as a flow asks for them: a number or a truth is meant as it is written."""

    def written(value: Any) -> str:
        return str(value).lower() if isinstance(value, bool) else str(value)

    return {
        name: tuple(map(written, value)) if isinstance(value, list | tuple) else written(value)
        for name, value in requires.items()
    }


def listed(labels: Labels) -> str:
    """Labels in one line, for people."""
    return ", ".join(f"{name}={'+'.join(_values(wanted))}" for name, wanted in labels.items())


def _values(label: str | tuple[str, ...]) -> tuple[str, ...]:
    return (label,) if isinstance(label, str) else label
