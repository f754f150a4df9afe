"""Commands to Pitstop inside a shell: `@resume`, `@retry` and others, typed at the start of a line and entered.

They are not sent to the shell. What is typed is only held back as long as it may become one of them, so `@` can be
typed like anything else; a paste, and a program that has the whole screen, get all that is typed.
"""

from collections.abc import Iterator

from msgspec import Struct

from pitstop.errors import CommandRefused, PitstopError
from pitstop.runs import verbs
from pitstop.runs.local_debugger import LocalDebugger
from pitstop.runs.run_request import ShellPlace
from pitstop.runs.stop_info import DebugState

COMMANDS = {
    "@resume": "resume the run",
    "@retry": "retry the step, with your changes",
    "@skip": "skip the step",
    "@abort": "cancel the run; cleanup still runs",
    "@status": "show where the run is",
    "@help": "list these commands",
}

LOOKING = ("@status", "@help")

_ENTER = b"\r\n"
_BACKSPACE = b"\x7f\x08"
_CLEARS_LINE = b"\x03\x04\x15"  # Ctrl-C, Ctrl-D, Ctrl-U
_LONGEST_TYPED = 256  # what comes in more bytes at once was pasted
_PASTE, _PASTE_END = b"\x1b[200~", b"\x1b[201~"
_FULL_SCREEN, _FULL_SCREEN_END = b"\x1b[?1049h", b"\x1b[?1049l"


class ToShell(Struct, frozen=True):
    """Bytes that the shell gets."""

    data: bytes


class ToScreen(Struct, frozen=True):
    """Bytes that the terminal shows, as an echo of what is held back."""

    data: bytes


class Entered(Struct, frozen=True):
    """A command that was entered."""

    command: str


class CommandLine:
    """Finds commands in what is typed."""

    def __init__(self) -> None:
        self._held = ""
        self._is_line_start = True
        self._is_pasting = False
        self._is_full_screen = False
        self._shown = b""

    def see(self, shown: bytes) -> None:
        """What the shell shows: a program that takes the whole screen gets every key."""
        text = self._shown + shown
        begins, ends = text.rfind(_FULL_SCREEN), text.rfind(_FULL_SCREEN_END)
        if begins != ends:
            self._is_full_screen = begins > ends
        self._shown = text[-len(_FULL_SCREEN) + 1 :]

    def type(self, data: bytes) -> Iterator[ToShell | ToScreen | Entered]:
        """What becomes of the bytes that were typed."""
        was_pasting = self._is_pasting
        if _PASTE in data or _PASTE_END in data:
            self._is_pasting = data.rfind(_PASTE) > data.rfind(_PASTE_END)
            was_pasting = True
        if was_pasting or self._is_full_screen or len(data) > _LONGEST_TYPED:
            yield from self._let_go(data)
            return
        passed = bytearray()
        for byte in data:
            if not self._held and not (self._is_line_start and byte == ord("@")):
                passed.append(byte)
                self._is_line_start = byte in _ENTER or byte in _CLEARS_LINE
                continue
            if passed:
                yield ToShell(bytes(passed))
                passed.clear()
            yield from self._hold(byte)
        if passed:
            yield ToShell(bytes(passed))

    def _hold(self, byte: int) -> Iterator[ToShell | ToScreen | Entered]:
        typed = chr(byte)
        if byte in _ENTER and self._held in COMMANDS:
            command, self._held = self._held, ""
            yield ToScreen(b"\r\n")
            yield Entered(command)
        elif byte in _BACKSPACE:
            self._held = self._held[:-1]
            yield ToScreen(b"\b \b")
        elif any(command.startswith(self._held + typed) for command in COMMANDS):
            self._held += typed
            yield ToScreen(bytes([byte]))
        else:
            yield from self._let_go(bytes([byte]))

    def _let_go(self, data: bytes) -> Iterator[ToShell | ToScreen | Entered]:
        """It was no command: the shell gets what was held back, and shows it itself."""
        held, self._held = self._held.encode(), ""
        if held:
            yield ToScreen(b"\b \b" * len(held))
        if data[-1:] in (b"\x03", b"\x15"):
            held = b""  # a line that was given up
        yield ToShell(held + data)
        self._is_line_start = data[-1:] != b"" and data[-1] in (*_ENTER, *_CLEARS_LINE)


async def carry_out(command: str, debugger: LocalDebugger, place: ShellPlace) -> tuple[str, bool]:
    """Execute what was entered; returns what to say about it, and whether the shell has served its purpose."""
    try:
        match command:
            case "@resume":
                await debugger.say(verbs.Continue(await _stop_at(place, debugger)))
            case "@retry":
                await debugger.say(verbs.Retry(await _stop_at(place, debugger)))
            case "@skip":
                await debugger.say(verbs.Skip(await _stop_at(place, debugger)))
            case "@abort":
                await debugger.say(verbs.Abort())
            case "@status":
                return status_text(await debugger.say(verbs.State()), place), False
            case _:
                return "\n".join(f"{name:<8} {what}" for name, what in COMMANDS.items()), False
    except PitstopError as error:
        return str(error), False
    return {"@abort": "the run ends; this shell closes"}.get(command, "the run resumes; this shell closes"), True


async def _stop_at(place: ShellPlace, debugger: LocalDebugger) -> int:
    """The stop of a shell: the one it was opened at, or the one that its step has reached since."""
    if isinstance(place, int):
        return place
    for stop in (await debugger.say(verbs.State())).stops:
        if stop.occurrence == place:
            return stop.id
    raise CommandRefused(f"{place} is not paused")


def status_text(state: DebugState, place: ShellPlace) -> str:
    """Where the run stands, a line for each frame that stands still."""
    if state.is_ended:
        return "the run has ended"
    lines = []
    for each in state.stops:
        mark = "*" if place in (each.id, each.occurrence) else " "
        place = f" ({each.file}:{each.line})" if each.file else ""
        lines.append(f"{mark} stop {each.id}: {each.position} {each.occurrence}{place}, {', '.join(each.reasons)}")
    running = [frame.name for frame in state.frames if frame.state in ("running", "pausing")]
    if running:
        lines.append(f"  running: {', '.join(running)}")
    return "\n".join(lines) or "nothing is paused"
