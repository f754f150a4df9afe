"""Starting a command: found on its own PATH, in a session of its own, with the pipes or the terminal that it gets.

Used in a supervisor, which has one command at a time and so may change its working directory for it.
"""

import errno
import marshal
import os

from pitstop.executors.machine.bare import signal

TYPE_CHECKING = False  # that of `typing`
if TYPE_CHECKING:
    from typing import Any

# A command begins with none of these ignored, though Python ignores two of them, and nohup or a shell's & some more.
NOT_IGNORED = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGPIPE,
    signal.SIGXFSZ,
    signal.SIGTSTP,
    signal.SIGTTIN,
    signal.SIGTTOU,
)
EXIT_NOT_EXECUTABLE = 126
EXIT_NOT_FOUND = 127

FileActions = list[tuple[int, int, int] | tuple[int, int, str, int, int]]


class Request:
    """What a supervisor is to start. With `terminal`, the name of a terminal's inner side, there are no pipes.

    `before` are words of a program in front of the command, which gets the path of the command's program and its argv.
    With `stores_end` the supervisor stores how the command ended before it reports that. With `container` it is the
    recorder of a command in one, and that is what is known of it: `image_digest` and `started_at`.
    """

    def __init__(
        self,
        *,
        log: str,
        argv: list[bytes],
        env: dict[bytes, bytes],
        cwd: bytes,
        before: "list[bytes] | None" = None,
        terminal: str = "",
        stores_end: bool = False,
        container: "dict[str, Any] | None" = None,
    ) -> None:
        self.log = log
        self.argv = argv
        self.env = env
        self.cwd = cwd
        self.before = before or []
        self.terminal = terminal
        self.stores_end = stores_end
        self.container = container

    def packed(self) -> bytes:
        return marshal.dumps(vars(self))

    @classmethod
    def unpacked(cls, packed: bytes) -> "Request":
        return cls(**marshal.loads(packed))


class NotStarted(Exception):
    """The command could not be started; the code is the one that a shell would give."""

    def __init__(self, exit_code: int, reason: str) -> None:
        super().__init__(reason)
        self.exit_code = exit_code
        self.reason = reason


def start_with_pipes(request: Request, stdin: int | None) -> tuple[int, int, int]:
    """The process id, and the ends of the pipes to read its stdout and stderr from."""
    stdout_end, stdout = os.pipe()
    stderr_end, stderr = os.pipe()
    actions: FileActions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0) if stdin is None else (os.POSIX_SPAWN_DUP2, stdin, 0),
        (os.POSIX_SPAWN_DUP2, stdout, 1),
        (os.POSIX_SPAWN_DUP2, stderr, 2),
    ]
    try:
        pid = _start(request, actions)
    except NotStarted:
        os.close(stdout_end)
        os.close(stderr_end)
        raise
    finally:
        os.close(stdout)
        os.close(stderr)
    os.set_blocking(stdout_end, False)
    os.set_blocking(stderr_end, False)
    return pid, stdout_end, stderr_end


def start_on_terminal(request: Request) -> int:
    """The process id. The terminal that a session leader opens first becomes the one that controls the session."""
    return _start(
        request,
        [
            (os.POSIX_SPAWN_OPEN, 0, request.terminal, os.O_RDWR, 0),
            (os.POSIX_SPAWN_DUP2, 0, 1),
            (os.POSIX_SPAWN_DUP2, 0, 2),
        ],
    )


def _start(request: Request, actions: FileActions) -> int:
    try:
        os.chdir(request.cwd)
    except OSError as error:
        folder = os.fsdecode(request.cwd)
        raise NotStarted(EXIT_NOT_EXECUTABLE, f"cannot run in the folder {folder}: {error.strerror}") from error
    name = os.fsdecode(request.argv[0])
    program = _find(request.argv[0], request.env.get(b"PATH", os.fsencode(os.defpath)))
    if program is None:
        raise NotStarted(EXIT_NOT_FOUND, f"command not found: {name}")
    try:
        return os.posix_spawn(
            request.before[0] if request.before else program,
            [*request.before, program, *request.argv] if request.before else request.argv,
            request.env,
            file_actions=actions,
            setsid=True,
            setsigmask=(),
            setsigdef=NOT_IGNORED,
        )
    except FileNotFoundError as error:
        raise NotStarted(EXIT_NOT_FOUND, f"{name} exists, but its interpreter does not") from error
    except OSError as error:
        hint = " (is a #! line missing?)" if error.errno == errno.ENOEXEC else ""
        raise NotStarted(EXIT_NOT_EXECUTABLE, f"cannot run {name}: {error.strerror}{hint}") from error
    except ValueError as error:  # a NUL in an argument, or a name in the environment that cannot be one
        raise NotStarted(EXIT_NOT_EXECUTABLE, f"cannot run {name}: {error}") from error


def _find(name: bytes, search_path: bytes) -> bytes | None:
    """The program as a shell would find it; one that may not be executed only if there is no other."""
    if b"/" in name:
        return name if os.path.lexists(name) else None
    programs = [folder + b"/" + name for folder in search_path.split(b":") if folder]
    not_executable = None
    for program in filter(os.path.isfile, programs):
        if os.access(program, os.X_OK):
            return program
        not_executable = not_executable or program
    return not_executable
