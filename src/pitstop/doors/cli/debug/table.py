"""Every command of the prompt, with what reads its argument and what is told about it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from pitstop.doors.cli.breakpoint_text import read_breakpoint
from pitstop.doors.cli.debug import arguments as read

Takes = Literal["step", "frame", "jq", "breakpoint", "command", "status", "watch", "file", "type"]

MOVING = "Moving"
LOOKING = "Looking"
CHANGING = "Changing"
BREAKPOINTS = "Breakpoints"
TIME = "Going back"
SESSION = "The run"
GROUPS = (MOVING, LOOKING, CHANGING, BREAKPOINTS, TIME, SESSION)


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A command as it is offered. `verb` is what a stop must allow for it; `moves` if the frame goes on by it."""

    name: str
    usage: str
    summary: str
    group: str
    read: Callable[[str], Any]
    aliases: tuple[str, ...] = ()
    verb: str | None = None
    moves: bool = False
    takes: Takes | None = None
    more: str = ""


def _moving(name: str, verb: str, summary: str, reader: Callable[[str], Any], **more: Any) -> CommandSpec:
    usage, group = more.pop("usage", name), more.pop("group", MOVING)
    return CommandSpec(name, usage, summary, group, reader, verb=verb, moves=True, **more)


BREAKPOINT_HELP = """\
PLACE is a step by its id or path, :LINE or FILE:LINE, type:TYPE, or * for any step; before is the usual position.
  b tests                            before the step tests
  b tests:after if .vars.errors > 5  after it, when the condition holds
  b type:run hits % 10               every tenth time that a step of type run is come to
  b :14 log "region ${{ .vars.region }}"   writes, and never stops
  b change .vars.region              when the value changes;  b change .vars.region equals "us"
Without anything it lists the breakpoints."""

TABLE = (
    _moving("next", "step_over", "Run this step; stop at the one after it.", read.read_nothing, aliases=("n", "over")),
    _moving("step", "step_into", "Go to the next step, also into this one.", read.read_nothing, aliases=("s", "into")),
    _moving("return", "step_out", "Run until the enclosing step is done.", read.read_nothing, aliases=("r", "out")),
    _moving(
        "continue",
        "continue",
        "Let the selected frame go on; with all, every frame.",
        read.read_all_flag,
        usage="continue [all]",
        aliases=("c", "cont"),
    ),
    _moving("until", "run_to", "Run until a step is come to.", read.read_word, usage="until STEP", takes="step"),
    CommandSpec("pause", "pause", "Stop every frame at the next step it comes to.", MOVING, read.read_nothing),
    CommandSpec(
        "p",
        "p JQ",
        "Print what an expression gives. A line that begins with a dot is one too.",
        LOOKING,
        read.read_text,
        ("print",),
        "evaluate",
        takes="jq",
    ),
    CommandSpec(
        "pp",
        "pp JQ",
        "The same, one value per line.",
        LOOKING,
        read.read_text,
        verb="evaluate",
        takes="jq",
    ),
    CommandSpec("vars", "vars", "Every variable, its layer and what set it.", LOOKING, read.read_nothing),
    CommandSpec(
        "where", "where", "The steps around this one, with their lines.", LOOKING, read.read_nothing, ("w", "bt")
    ),
    CommandSpec(
        "list",
        "list [LINE]",
        "The flow around a line; a dot is the current one.",
        LOOKING,
        read.read_line_number,
        ("l",),
    ),
    CommandSpec("frames", "frames", "Every frame, and where it is.", LOOKING, read.read_nothing),
    CommandSpec("frame", "frame NAME", "Select a frame.", LOOKING, read.read_word, takes="frame"),
    CommandSpec("log", "log [STEP] [LINES]", "What a step wrote.", LOOKING, read.read_log_part, takes="step"),
    CommandSpec(
        "diff", "diff [A B]", "What changed since the last stop, or between two points.", LOOKING, read.read_points
    ),
    CommandSpec(
        "files",
        "files [A [B]] [PATH]",
        "Files that the last step changed, or from point A to B or now; or how one did.",
        LOOKING,
        read.read_files,
    ),
    CommandSpec(
        "context", "context", "Commit, machine, image, and how to join from elsewhere.", LOOKING, read.read_nothing
    ),
    CommandSpec("watch", "watch JQ", "Show an expression at every stop.", LOOKING, read.read_text, takes="jq"),
    CommandSpec("unwatch", "unwatch JQ", "Do not show it any more.", LOOKING, read.read_text, takes="watch"),
    CommandSpec("watches", "watches", "What is watched, and its value here.", LOOKING, read.read_nothing),
    CommandSpec(
        "set",
        "set [@LAYER] PATH = JSON",
        "Put a value at a path.",
        CHANGING,
        read.read_assignment,
        verb="set",
        takes="jq",
        more="It goes to the layer that has the value now, unless one is named: set @run .vars.n = 3",
    ),
    CommandSpec(
        "unset", "unset [@LAYER] PATH", "Remove what is at a path.", CHANGING, read.read_path, verb="unset", takes="jq"
    ),
    CommandSpec("undo", "undo", "Take the last edit of this stop back.", CHANGING, read.read_nothing, verb="undo"),
    CommandSpec(
        "config",
        "config [KEY=JSON | reset]",
        "The step's config, raw and resolved; or change a key of it.",
        CHANGING,
        read.read_config,
        verb="config",
    ),
    _moving("retry", "retry", "Run the step again, with what was changed.", read.read_nothing, group=CHANGING),
    _moving(
        "skip",
        "skip",
        "Do not run the step; it may be given outputs.",
        read.read_outputs,
        usage="skip [JSON]",
        group=CHANGING,
    ),
    _moving(
        "force",
        "force",
        "Decide how the step has ended.",
        read.read_verdict,
        group=CHANGING,
        usage="force passed|failed|skipped [JSON]",
        takes="status",
    ),
    CommandSpec(
        "inject",
        "inject [before|after] TYPE {JSON}",
        "Put a step in, which runs once.",
        CHANGING,
        read.read_injection,
        verb="inject",
        takes="type",
        more="inject run make clean  is short for a script",
    ),
    CommandSpec(
        "sh",
        "sh [COMMAND]",
        "A shell in the workspace, with the step's environment.",
        CHANGING,
        read.read_optional_text,
        ("shell",),
        more="Entered in it, @resume @retry @skip @abort go on with the run; @status and @help tell more.",
    ),
    CommandSpec(
        "sidecar",
        "sidecar [COMMAND]",
        "The same beside the step: it sees the files, and cannot change them.",
        LOOKING,
        read.read_optional_text,
    ),
    CommandSpec(
        "break",
        'break [PLACE[:before|after|error] [if JQ] [hits N] [group NAME] [log "TEXT"]]',
        "Stop at a place; alone, list where it stops.",
        BREAKPOINTS,
        read.read_optional_breakpoint,
        ("b",),
        takes="step",
        more=BREAKPOINT_HELP,
    ),
    CommandSpec("tbreak", "tbreak PLACE...", "The same, only once.", BREAKPOINTS, read_breakpoint, takes="step"),
    CommandSpec(
        "clear",
        "clear N... | GROUP | all",
        "Remove breakpoints.",
        BREAKPOINTS,
        read.read_numbers_or_group,
        ("cl",),
        takes="breakpoint",
    ),
    CommandSpec(
        "enable",
        "enable N... | GROUP",
        "Switch breakpoints on.",
        BREAKPOINTS,
        read.read_numbers_or_group,
        takes="breakpoint",
    ),
    CommandSpec(
        "disable",
        "disable N... | GROUP",
        "Switch breakpoints off.",
        BREAKPOINTS,
        read.read_numbers_or_group,
        takes="breakpoint",
    ),
    _moving(
        "back",
        "step_back",
        "Go back to the stop that this frame had before.",
        read.read_agreement,
        usage="back [!]",
        group=TIME,
        more="! agrees to run steps again whose effects outside cannot be undone.",
    ),
    _moving(
        "rewind", "rewind", "Go back to a point of the history.", read.read_point, usage="rewind POINT [!]", group=TIME
    ),
    _moving(
        "restart",
        "rewind",
        "Start this frame again from its first step.",
        read.read_agreement,
        usage="restart [!]",
        group=TIME,
    ),
    _moving(
        "goto",
        "goto",
        "Go to another step of this sequence: back to it, or ahead of those between.",
        read.read_place,
        usage="goto STEP [!]",
        takes="step",
        group=TIME,
    ),
    CommandSpec("history", "history", "The points that can be gone back to.", TIME, read.read_nothing),
    CommandSpec("answer", "answer y|n [COMMENT]", "Answer a step that asks for approval.", SESSION, read.read_answer),
    CommandSpec("extend", "extend MINUTES", "Keep the stops for longer.", SESSION, read.read_minutes),
    CommandSpec(
        "export",
        "export FILE",
        "Write the session, with all that happened, to a file.",
        SESSION,
        read.read_text,
        takes="file",
    ),
    CommandSpec("detach", "detach", "Let the run go on to its end, and stop no more.", SESSION, read.read_nothing),
    CommandSpec(
        "leave", "leave", "Leave a run on a server as it is: its stops wait for the next.", SESSION, read.read_nothing
    ),
    CommandSpec(
        "help",
        "help [COMMAND]",
        "This list, or one command.",
        SESSION,
        read.read_optional_word,
        ("h", "?"),
        takes="command",
    ),
    CommandSpec(
        "quit",
        "quit",
        "End the run: what runs is cancelled, cleanup is done.",
        SESSION,
        read.read_nothing,
        ("q", "exit"),
    ),
)
