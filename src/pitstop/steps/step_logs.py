"""The logs of steps, for the steps after them: the end of one as text, and all of them as files."""

from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from itertools import takewhile

from msgspec import Struct, field

from pitstop.engine.executor import Stream
from pitstop.engine.frame import Activation
from pitstop.engine.workspace_files import WorkspaceFiles, command_file_name
from pitstop.events.outcome import Status
from pitstop.events.types import StepFinished
from pitstop.plan.plan import Plan

LOG_TEXT_BYTES = 16 * 1024  # of `.steps.<id>.log`
LOG_FILE_BYTES = 1024 * 1024  # of a file in $PITSTOP_CONTEXT
CONTEXT_FOLDER = "context"  # in the control part of a workspace

_DID_NOT_RUN = (Status.SKIPPED, Status.CANCELLED)

StoredLog = Callable[[str, int], Awaitable[bytes]]  # takes an occurrence, and how many bytes of its end


def last_lines(data: bytes, most_bytes: int) -> bytes:
    """The end of a log, from the start of a line on; a last line that is too long is cut between characters."""
    if len(data) <= most_bytes:
        return data
    start = len(data) - most_bytes
    newline = data.find(b"\n", start - 1, len(data) - 1)
    if newline >= 0:
        return data[newline + 1 :]
    while start < len(data) and data[start] & 0xC0 == 0x80:  # inside a character of UTF-8
        start += 1
    return data[start:]


def log_text(data: bytes) -> str:
    """The end of a log as text that a variable of the environment can have."""
    return last_lines(data, LOG_TEXT_BYTES).decode(errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")


class LogTail:
    """The end of what a step writes, in whole lines as its log has them. Its memory does not grow with the output."""

    def __init__(self) -> None:
        self._blocks: deque[bytes] = deque()
        self._size = 0
        self._begun: dict[Stream, bytes] = {}  # lines that have not ended

    def add(self, stream: Stream, data: bytes) -> None:
        data = self._begun.pop(stream, b"") + data
        end = data.rfind(b"\n") + 1
        if end < len(data):
            self._begun[stream] = data[end:][-LOG_TEXT_BYTES - 1 :]
        if end:
            block = data[:end][-LOG_TEXT_BYTES - 1 :]  # one byte more shows that it was cut
            self._blocks.append(block)
            self._size += len(block)
        while self._size - len(self._blocks[0] if self._blocks else b"") > LOG_TEXT_BYTES:
            self._size -= len(self._blocks.popleft())

    def text(self) -> str:
        return log_text(b"".join((*self._blocks, *self._begun.values())))


async def log_before(activation: Activation, stored_log: StoredLog | None) -> str:
    """The end of the log of the step that ran last before this one, in its frame or those around it; empty if none."""
    event = _step_before(activation)
    if event is None:
        return ""
    if event.outcome.log is not None or stored_log is None:
        return event.outcome.log or ""
    return log_text(await stored_log(event.occurrence, LOG_TEXT_BYTES + 1))


def _step_before(activation: Activation) -> StepFinished | None:
    """The last end of a step that ran; of a group, the last of the steps in it, whichever branch that was in."""
    run, own = activation.run, activation.step.path
    frames = {frame.id for frame in activation.frame.lineage()}
    group: str | None = None
    for _, event in reversed(run.what_counts().events):
        if not isinstance(event, StepFinished) or event.outcome.status in _DID_NOT_RUN:
            continue
        is_in_group = group is not None and event.occurrence.startswith((f"{group}.", f"{group}["))
        if not (event.frame in frames or is_in_group) or event.step.partition("/")[0] == own:
            continue
        step = run.plan.steps.get(event.step)
        if step is None or step.kind not in run.combining:
            return event
        group = group or event.occurrence
    return None


class _End(Struct, frozen=True):
    """A step that ended, and the event that says so. `call` is the address of the call whose flow it is a step of."""

    number: int
    occurrence: str
    log: str | None
    call: tuple[str, ...]


class LogFiles(Struct):
    """Fills the folders that `$PITSTOP_CONTEXT` names: one for each frame of a run, because each sees other steps."""

    _followed: int = 0  # the events of the run
    _ends: dict[str, dict[tuple[str, ...], _End]] = field(default_factory=dict)  # the last by id, and frame and call
    _written: dict[str, dict[str, _End]] = field(default_factory=dict)  # by folder and id

    async def fill(self, activation: Activation, files: WorkspaceFiles, stored_log: StoredLog | None) -> None:
        """Write the log of each step that `.steps` has, if it is not there yet, and remove those of all others."""
        folder = context_folder(activation)
        if folder not in self._written:
            await files.write("control", f"{folder}/.keep", b"")
        written = self._written.setdefault(folder, {})
        ends = self._visible_ends(activation)
        for name in written.keys() - ends.keys():
            await files.remove("control", f"{folder}/{name}.log")
            del written[name]
        for name, end in ends.items():
            if written.get(name) is not end:
                await files.write("control", f"{folder}/{name}.log", await _content(end, stored_log), mode=0o644)
                written[name] = end

    def _visible_ends(self, activation: Activation) -> dict[str, _End]:
        self._follow(activation)
        steps, own = activation.scope.values().get("steps"), tuple(activation.occurrence.split("."))
        visible: dict[str, _End] = {}
        for name in steps if isinstance(steps, Mapping) else ():
            ends = [end for end in self._ends.get(name, {}).values() if own[: len(end.call)] == end.call]
            if ends:
                visible[name] = max(ends, key=lambda end: (_shared(end.occurrence, own), end.number))
        return visible

    def _follow(self, activation: Activation) -> None:
        plan, combining = activation.run.plan, activation.run.combining
        events = () if activation.run.log is None else activation.run.log.read(self._followed)
        for number, event in enumerate(events, self._followed + 1):
            self._followed = number
            if not isinstance(event, StepFinished) or event.outcome.status in _DID_NOT_RUN:
                continue
            step = plan.steps.get(event.step)
            if step is not None and step.id is not None and step.kind not in combining:
                call = tuple(event.occurrence.split(".")[: _levels_of_call(plan, event.step)])
                end = _End(number, event.occurrence, event.outcome.log, call)
                self._ends.setdefault(step.id, {})[event.frame, *call] = end


def context_folder(activation: Activation) -> str:
    """The folder of the control part with the logs that the step may read."""
    return f"{CONTEXT_FOLDER}/{command_file_name(activation.frame.id)}"


def _levels_of_call(plan: Plan, path: str) -> int:
    """How many parts of the path lead to the innermost call around the step."""
    parts = path.split(".")
    levels = range(len(parts) - 1, 0, -1)
    return next((level for level in levels if plan.steps[".".join(parts[:level])].kind == "call"), 0)


def _shared(occurrence: str, parts: tuple[str, ...]) -> int:
    """How many parts of an address an occurrence begins with."""
    pairs = zip(occurrence.split("."), parts, strict=False)
    return len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))


async def _content(end: _End, stored_log: StoredLog | None) -> bytes:
    """What is stored of the log; of a step that another run has run, only its end is known."""
    stored = b"" if stored_log is None else await stored_log(end.occurrence, LOG_FILE_BYTES + 1)
    return last_lines(stored or (end.log or "").encode(), LOG_FILE_BYTES)
