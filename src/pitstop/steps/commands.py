"""One command of a step, from its start until nothing of it is left."""

import asyncio
import signal
from collections import deque
from contextlib import AsyncExitStack, suppress

from msgspec import Struct
from msgspec.structs import replace

from pitstop.engine.container import ContainerOptions, is_text
from pitstop.engine.executor import Command, CommandRef, CommandResult
from pitstop.engine.frame import Activation
from pitstop.engine.scripts import can_read_file
from pitstop.errors import WorkspaceLost
from pitstop.events.written_text import shown_line
from pitstop.steps.failures import BadConfig
from pitstop.steps.workplace import Workplace

LAST_LINES = 10
VISIBLE_SECRET = (
    "a secret would be visible in the arguments of a process: pass it in `env`, or the script with `{file}` in `shell`"
)
_TAIL_BYTES = 32 * 1024
_LINE_CHARACTERS = 500
_FIRST_SIGNAL_CODE = 128  # a shell whose command was ended by signal 9 exits with 128 + 9


class Ended(Struct, frozen=True):
    """How a command ended, and the last that it said, without secrets."""

    result: CommandResult
    last_lines: tuple[str, ...]


async def run_to_end(workplace: Workplace, activation: Activation, command: Command, *, is_heard: bool = True) -> Ended:
    """Run the command to its end. Cancelling ends it with time to clean up, cancelling again without."""
    refuse_visible_secrets(workplace, activation, command)
    async with AsyncExitStack() as files:
        if workplace.secrets:
            command = await with_script_file(workplace, command, files)
        return await _run_to_end(workplace, activation, command, is_heard=is_heard)


async def with_script_file(workplace: Workplace, command: Command, files: AsyncExitStack) -> Command:
    """The command, with its script in a file until `files` ends if its shell can read one."""
    if command.script is None or not can_read_file(command.shell) or "\0" in command.script:
        return command  # one with a NUL is refused by the place
    mode = script_mode(command.container)
    file = await files.enter_async_context(workplace.control_file(command.key, "script", command.script, mode=mode))
    return replace(command, script_file=file.path)


def script_mode(container: ContainerOptions) -> int:
    """The permissions of a file with a script: another user of a container must be able to read it."""
    return 0o600 if container.user is None else 0o644


def refuse_visible_secrets(workplace: Workplace, activation: Activation, command: Command) -> None:
    """Raises BadConfig if a secret would be in the arguments of a process, which every user can read."""
    words = [*command.argv]
    if command.script is not None:
        words += command.shell if can_read_file(command.shell) else (*command.shell, command.script)
    for service in command.container.services:
        words += service.argv if is_text(service.health.command) else (*service.argv, *service.health.command)
    if any(workplace.mask(word) != word for word in words):
        raise BadConfig(activation.step.kind, [VISIBLE_SECRET])


async def _run_to_end(workplace: Workplace, activation: Activation, command: Command, *, is_heard: bool) -> Ended:
    executor = workplace.executor
    ref = CommandRef(workplace.workspace.id, command.key)
    listener = workplace.listener(activation) if is_heard else None
    tail = Tail()
    offset = 0
    try:
        await executor.start(workplace.workspace, command)
        if activation.takes_result and listener is not None and workplace.stored_output is not None:
            ended = await executor.wait(ref)
            listener.skip(await workplace.stored_output(activation.occurrence, ended.started_at))
        async for chunk in executor.logs(ref):
            offset = chunk.end
            tail.add(chunk.data)
            if listener is not None:
                await listener.hear(chunk)
        result = await executor.wait(ref)
    except BaseException:
        await _end(workplace, ref)
        if listener is not None:
            with suppress(WorkspaceLost):  # it was released meanwhile, or nothing was started
                async for chunk in executor.logs(ref, offset):  # what it said to being ended
                    await listener.hear(chunk)
        raise
    finally:
        if listener is not None:
            listener.finish()
    return Ended(result, tail.last_lines(workplace))


async def _end(workplace: Workplace, ref: CommandRef) -> None:
    try:
        await workplace.executor.cancel(ref, workplace.grace_seconds)
    except asyncio.CancelledError:
        await workplace.executor.cancel(ref, 0)
        raise


class Tail:
    """The end of what a command wrote, in the order of arrival; its memory does not grow with the output."""

    def __init__(self) -> None:
        self._chunks: deque[bytes] = deque()
        self._size = 0
        self._is_cut = False

    def add(self, data: bytes) -> None:
        if len(data) > _TAIL_BYTES:
            data = data[-_TAIL_BYTES:]
            self._is_cut = True
        self._chunks.append(data)
        self._size += len(data)
        while self._size - len(self._chunks[0]) >= _TAIL_BYTES:
            self._size -= len(self._chunks.popleft())
            self._is_cut = True

    def last_lines(self, workplace: Workplace) -> tuple[str, ...]:
        """The last lines for a message: no escape sequences, no secrets, nothing that was written over."""
        text = workplace.mask(b"".join(self._chunks).decode(errors="replace"))
        lines = [shown for line in text.split("\n") if (shown := shown_line(line))]
        if not self._is_cut:
            return tuple(_beginning(line) for line in lines[-LAST_LINES:])
        # The first line may begin in the middle, and so in the middle of a secret
        whole = lines[1:][-LAST_LINES:]
        return tuple(map(_beginning, whole)) or tuple("…" + line[-_LINE_CHARACTERS:] for line in lines)


def why_it_ended(result: CommandResult) -> str:
    """The end of a command that is not accepted, for people."""
    return "; ".join(filter(None, (_how_it_ended(result), result.hint)))


def _how_it_ended(result: CommandResult) -> str:
    if result.state == "completed":
        return "exit code 0 is not accepted"
    if result.state == "lost":
        return f"the result of the command is unknown: {result.reason}"
    if result.out_of_memory or result.signal is not None:
        name = "" if result.signal is None else f" by {_signal_name(result.signal)}"
        memory = " because it ran out of memory" if result.out_of_memory else ""
        return f"the command was killed{name}{memory}"
    if result.state in ("cancelled", "timeout"):
        return f"the command was stopped: {result.reason}"
    code = result.exit_code
    if not code or (code in (126, 127) and f"code {code}" not in result.reason):
        return result.reason  # it could not be started, or something of it could not be ended
    if code == 127:
        return "exit code 127: command not found; is it installed and on the PATH?"
    if code == 126:
        return "exit code 126: the command is not executable"
    if code > _FIRST_SIGNAL_CODE and _is_signal(code - _FIRST_SIGNAL_CODE):
        return f"exit code {code}: a command was killed by {_signal_name(code - _FIRST_SIGNAL_CODE)}"
    return f"exit code {code}"


def _beginning(line: str) -> str:
    return line if len(line) <= _LINE_CHARACTERS else line[:_LINE_CHARACTERS] + "…"


def _is_signal(number: int) -> bool:
    return number in set(signal.Signals)


def _signal_name(number: int) -> str:
    return signal.Signals(number).name if _is_signal(number) else f"signal {number}"
