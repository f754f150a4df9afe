"""Every command of the prompt, with what reads its argument and what is told about it."""

from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct

from pitstop.doors.cli.breakpoint_text import read_breakpoint
from pitstop.doors.cli.debug import arguments as read
from pitstop.service.debugging import VERBS, Verb

Takes = Literal["step", "frame", "jq", "breakpoint", "command", "status", "watch", "file", "type"]

MOVING = "Moving"
LOOKING = "Looking"
CHANGING = "Changing"
BREAKPOINTS = "Breakpoints"
TIME = "Time travel"
SESSION = "The run"
GROUPS = (MOVING, LOOKING, CHANGING, BREAKPOINTS, TIME, SESSION)


class CommandSpec(Struct, frozen=True):
    """A command as it is offered. `verb` is what a stop must allow for it; `moves` if the frame resumes by it.

    It speaks the verb of its name in the debugger's table, and those in `speaks`.
    """

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
    speaks: tuple[str, ...] = ()


def _moving(name: str, verb: str, summary: str, reader: Callable[[str], Any], **more: Any) -> CommandSpec:
    usage, group = more.pop("usage", name), more.pop("group", MOVING)
    return CommandSpec(name, usage, summary, group, reader, verb=verb, moves=True, **more)


BREAKPOINT_HELP = """\
PLACE is a step ID or path, :LINE or FILE:LINE, type:TYPE, or * for any step; the default position is before.
m[1].x is the step x in the second iteration of m only, and x#2 its second attempt.
  b tests                            before the step tests
  b tests:after if .vars.errors > 5  after it, if the condition is true
  b type:run hits % 10               every tenth time a step of type run is reached
  b :14 log "region ${{ .vars.region }}"   logs a message, without pausing
  b deploy note "look at the image"  with a note that is shown in lists and when it pauses
  b fix/shell                        before each shell command of the agent in the step fix
  b */edit path migrations/** if .tool.name == "Write"   before edits of these files by any agent
  b change .vars.region              when the value changes;  b change .vars.region equals "us"
Without arguments it lists the breakpoints."""

_TABLE = (
    _moving("next", "step_over", "Run this step; pause at the next one.", read.read_nothing, aliases=("n", "over")),
    _moving(
        "step",
        "step_into",
        "Step into this step, or to the next one.",
        read.read_nothing,
        aliases=("s", "into"),
    ),
    _moving("return", "step_out", "Run until the parent step is done.", read.read_nothing, aliases=("r", "out")),
    _moving(
        "continue",
        "continue",
        "Resume the selected frame; with all, every frame.",
        read.read_all_flag,
        usage="continue [all]",
        aliases=("c", "cont"),
    ),
    _moving(
        "until",
        "run_to",
        "Run until a step is reached, or an occurrence such as m[1].x.",
        read.read_word,
        usage="until STEP",
        takes="step",
    ),
    CommandSpec("pause", "pause", "Pause every frame at its next step.", MOVING, read.read_nothing),
    CommandSpec("unpause", "unpause", "Cancel a pending pause.", MOVING, read.read_nothing, speaks=("cancel_pause",)),
    CommandSpec(
        "stop",
        "stop [STEP]",
        "Stop a running step, and pause at its failure; by default, that of the selected frame.",
        MOVING,
        read.optional(read.read_word),
        takes="step",
        speaks=("stop_step",),
    ),
    CommandSpec(
        "p",
        "p JQ",
        "Evaluate an expression. A line that starts with a dot does the same.",
        LOOKING,
        read.read_text,
        ("print",),
        "evaluate",
        takes="jq",
        speaks=("evaluate",),
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
    CommandSpec(
        "vars",
        "vars [--by-size]",
        "List all variables, their size, layer and what set them; the largest first with --by-size.",
        LOOKING,
        read.read_by_size,
        speaks=("variables",),
    ),
    CommandSpec("where", "where", "Show the call stack.", LOOKING, read.read_nothing, ("w", "bt")),
    CommandSpec(
        "list",
        "list [LINE]",
        "Show the source around a line; a dot is the current line.",
        LOOKING,
        read.read_line_number,
        ("l",),
    ),
    CommandSpec("frames", "frames", "List all frames and where they are.", LOOKING, read.read_nothing),
    CommandSpec("frame", "frame NAME", "Select a frame.", LOOKING, read.read_word, takes="frame"),
    CommandSpec("log", "log [STEP] [LINES]", "Show the log of a step.", LOOKING, read.read_log_part, takes="step"),
    CommandSpec(
        "diff",
        "diff [A B]",
        "Show changed values since the last stop, or between points.",
        LOOKING,
        read.read_points,
    ),
    CommandSpec(
        "files",
        "files [A [B]] [PATH]",
        "List files changed by the last step, or from point A to B or now; PATH shows the diff.",
        LOOKING,
        read.read_files,
        speaks=("files_diff",),
    ),
    CommandSpec("context", "context", "Show commit, machine, image, and how to attach.", LOOKING, read.read_nothing),
    CommandSpec("watch", "watch JQ", "Show an expression at every stop.", LOOKING, read.read_text, takes="jq"),
    CommandSpec("unwatch", "unwatch JQ", "Remove a watch.", LOOKING, read.read_text, takes="watch"),
    CommandSpec("watches", "watches", "List the watches and their values.", LOOKING, read.read_nothing),
    CommandSpec(
        "set",
        "set [@LAYER] PATH [=] JSON",
        "Set a value.",
        CHANGING,
        read.read_assignment,
        verb="set",
        takes="jq",
        more="It sets the layer that has the value now, unless you name one: set @run .vars.n = 3",
    ),
    CommandSpec("unset", "unset [@LAYER] PATH", "Remove a value.", CHANGING, read.read_path, verb="unset", takes="jq"),
    CommandSpec("undo", "undo", "Undo the last edit at this stop.", CHANGING, read.read_nothing, verb="undo"),
    CommandSpec(
        "config",
        "config [KEY=JSON | reset]",
        "Show the step's config, raw and resolved; or change a key.",
        CHANGING,
        read.read_config,
        verb="config",
        speaks=("read_config",),
    ),
    _moving("retry", "retry", "Retry the step, with your changes.", read.read_nothing, group=CHANGING),
    _moving(
        "skip",
        "skip",
        "Skip the step, optionally with outputs; at a tool call, refuse it and tell the agent why.",
        read.read_skip,
        usage="skip [JSON | REASON]",
        group=CHANGING,
    ),
    _moving(
        "force",
        "force",
        "Force the outcome of the step, with outputs as JSON, or the result of a tool call.",
        read.read_verdict,
        group=CHANGING,
        usage="force passed|failed|skipped [TEXT]",
        takes="status",
    ),
    _moving(
        "decide",
        "decide",
        "Choose how a fix loop that gave up continues.",
        read.read_choice,
        group=CHANGING,
        usage="decide take_over | guide TEXT | roll_back [N|base] | skip REASON | stop",
        more="""\
take_over  repair it yourself, with `sh` or an editor; then `continue` runs the tests
guide TEXT  another round of iterations, with your guidance in the prompts
roll_back [N|base]  put the files back to those after iteration N, or to those before the loop
skip REASON  pass the step, as a known issue
stop  end the loop; the step fails
The numbers 1 to 5 stand for them: 2 look at the rounding in tax.py""",
    ),
    CommandSpec(
        "inject",
        "inject [[before|after] TYPE {JSON} | STEP]",
        "Inject a step that runs once; without arguments, list those waiting to run.",
        CHANGING,
        read.optional(read.read_injection),
        verb="inject",
        takes="type",
        more="""\
inject run make clean  runs a script
inject after {"run": "make clean", "timeout": "1m"}  any step of a flow file, as JSON""",
    ),
    CommandSpec(
        "uninject",
        "uninject STEP",
        "Remove an injected step that has not run.",
        CHANGING,
        read.read_word,
    ),
    CommandSpec(
        "sh",
        "sh [COMMAND | step]",
        "Open a shell in the workspace, with the step's environment; `step` runs the step in it.",
        CHANGING,
        read.optional(read.read_text),
        ("shell",),
        more="""\
In the shell, @resume @retry @skip @abort control the run; see also @status and @help.
shell step runs the step's own command in this terminal, for a step that reads input. Its end is the step's: it passes
or fails by its exit code, and the run pauses again. If the terminal is closed first, the step stays paused.""",
    ),
    CommandSpec(
        "sidecar",
        "sidecar [COMMAND]",
        "Open a read-only shell in the workspace.",
        LOOKING,
        read.optional(read.read_text),
    ),
    CommandSpec(
        "break",
        'break [PLACE[:before|after|error] [if JQ] [hits N] [group NAME] [note "TEXT"] [log "TEXT"]]',
        "Add a breakpoint; without arguments, list them.",
        BREAKPOINTS,
        read.optional(read_breakpoint),
        ("b",),
        takes="step",
        more=BREAKPOINT_HELP,
        speaks=("add_breakpoint", "breakpoints"),
    ),
    CommandSpec(
        "tbreak",
        "tbreak PLACE...",
        "Add a one-time breakpoint.",
        BREAKPOINTS,
        read_breakpoint,
        takes="step",
    ),
    CommandSpec(
        "clear",
        "clear N... | GROUP | all",
        "Remove breakpoints.",
        BREAKPOINTS,
        read.read_numbers_or_group,
        ("cl",),
        takes="breakpoint",
        speaks=("remove_breakpoint", "clear_breakpoints"),
    ),
    CommandSpec("mute", "mute", "Mute all breakpoints until `unmute`.", BREAKPOINTS, read.read_nothing),
    CommandSpec("unmute", "unmute", "Unmute all breakpoints.", BREAKPOINTS, read.read_nothing),
    CommandSpec(
        "enable",
        "enable N... | GROUP",
        "Enable breakpoints.",
        BREAKPOINTS,
        read.read_numbers_or_group,
        takes="breakpoint",
        speaks=("change_breakpoint", "enable_breakpoint_group"),
    ),
    CommandSpec(
        "disable",
        "disable N... | GROUP",
        "Disable breakpoints.",
        BREAKPOINTS,
        read.read_numbers_or_group,
        takes="breakpoint",
    ),
    _moving(
        "back",
        "step_back",
        "Step back to the previous step of this frame.",
        read.read_agreement,
        usage="back [!]",
        group=TIME,
        more="! confirms repeating steps with external effects that cannot be undone.",
    ),
    _moving(
        "forward",
        "forward",
        "Undo the last back, rewind, restart or goto; until a step has finished since.",
        read.read_nothing,
        group=TIME,
    ),
    _moving(
        "rewind", "rewind", "Rewind to a point in the history.", read.read_point, usage="rewind POINT [!]", group=TIME
    ),
    _moving(
        "restart",
        "rewind",
        "Restart this frame from its first step.",
        read.read_agreement,
        usage="restart [!]",
        group=TIME,
    ),
    _moving(
        "goto",
        "goto",
        "Jump to another step of this sequence, back or ahead.",
        read.read_place,
        usage="goto STEP [!]",
        takes="step",
        group=TIME,
    ),
    CommandSpec("history", "history", "List the points you can rewind to.", TIME, read.read_nothing),
    CommandSpec(
        "answer", "answer y|n [COMMENT]", "Answer the step that is waiting for approval.", SESSION, read.read_answer
    ),
    CommandSpec("extend", "extend MINUTES", "Extend the timeout of the stops.", SESSION, read.read_minutes),
    CommandSpec(
        "export",
        "export FILE",
        "Export the session and its history to a file.",
        SESSION,
        read.read_text,
        takes="file",
    ),
    CommandSpec("detach", "detach", "Let the run finish without pausing.", SESSION, read.read_nothing),
    CommandSpec(
        "leave", "leave", "Leave the run paused, for later or for the next client.", SESSION, read.read_nothing
    ),
    CommandSpec(
        "help",
        "help [COMMAND]",
        "List all commands, or describe one.",
        SESSION,
        read.optional(read.read_word),
        ("h", "?"),
        takes="command",
    ),
    CommandSpec(
        "quit",
        "quit",
        "Cancel the run; cleanup still runs.",
        SESSION,
        read.read_nothing,
        ("q", "exit"),
        speaks=("abort",),
    ),
)

_SPOKEN = {name for spec in _TABLE for name in (spec.name, *spec.speaks)}
UNSPOKEN = [verb for verb in VERBS.values() if verb.name not in _SPOKEN]


def _plain(verb: Verb) -> CommandSpec:
    """The command of a verb that has none of its own."""
    group = CHANGING if verb.changes else LOOKING
    fields = [
        f"{each.encode_name}=JSON" if each.required else f"[{each.encode_name}=JSON]"
        for each in verb.fields
        if each.name != "stop"
    ]
    return CommandSpec(verb.name, " ".join((verb.name, *fields)), f"{verb.summary}.", group, read.read_fields)


TABLE = (*_TABLE, *map(_plain, UNSPOKEN))
