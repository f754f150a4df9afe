"""What can be said to the debugger of a run: a request for each verb. `verb_table.py` lists them."""

import re
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from pitstop.runs.file_changes import FileChanges, FileDiff
from pitstop.runs.run_request import BreakpointInfo, BreakpointRequest, Request, Text
from pitstop.runs.stop_info import ContextInfo, DebugState, InjectedState, PointInfo, WayInfo
from pitstop.runs.variable_info import ChangeInfo, ConfigInfo, Evaluated, Sort, VariablePage, WholeScope

Stop = Annotated[int, Meta(ge=1, lt=2**53, description="The stop to act on; 409 if it has ended.")]
Number = Annotated[int, Meta(ge=0, lt=2**53)]
Point = Annotated[int, Meta(ge=0, lt=2**53, description="The number of a point in the history.")]
Values = Annotated[dict[str, Any], Meta(max_length=10_000)]
Pauses = Annotated[bool, Meta(description="Pause the frame at its next point.")]
External = Annotated[bool, Meta(description="Confirm repeating external effects that cannot be undone.")]

# --- Moving ----------------------------------------------------------------------------------------------------------


class Continue(Request[None], frozen=True):
    stop: Stop | None = None
    all: bool = False
    keeps_step: Annotated[bool, Meta(description="As if it had not paused: an interrupted step command continues.")] = (
        False
    )

    def __post_init__(self) -> None:
        if (self.stop is None) is not self.all:
            raise ValueError("use `stop` or `all`")
        if self.all and self.keeps_step:
            raise ValueError("`keeps_step` needs a `stop`")


class Step(Request[None], frozen=True):
    stop: Stop
    kind: Literal["into", "over", "out", "to", "back"]
    step: (
        Annotated[
            str,
            Meta(
                max_length=4096, description="The target, for the kind `to`: a step, or an occurrence such as `m[1].x`."
            ),
        ]
        | None
    ) = None
    external: External = False
    code: Annotated[
        bool,
        Meta(
            description="For the kind `into`: pause in the function that the step calls, where a debugger can attach."
        ),
    ] = False

    def __post_init__(self) -> None:
        if (self.kind == "to") is not (self.step is not None):
            raise ValueError("`step` is required for the kind `to`, and not allowed otherwise")
        if self.code and self.kind != "into":
            raise ValueError("`code` is only for the kind `into`")


class Pause(Request[None], frozen=True):
    frame: Text | None = None


class CancelPause(Request[None], frozen=True):
    """The frame, or every frame, keeps running as if no pause had been requested."""

    frame: Text | None = None


class StopStep(Request[None], frozen=True):
    """The step fails, and its frame pauses there. A second request kills its command at once."""

    step: Annotated[str, Meta(max_length=4096, description="A running step: its occurrence, path or ID.")]
    reason: Text = "stopped by the user"


class CancelFrame(Request[None], frozen=True):
    """Cancel a branch; what happens to its siblings is up to the flow. To cancel the main frame, abort the run."""

    frame: Text
    reason: Text = "cancelled by the user"


class Detach(Request[None], frozen=True):
    """The run continues as if it were not debugged."""


class Abort(Request[None], frozen=True):
    reason: Text = "cancelled by the user"


# --- Changing --------------------------------------------------------------------------------------------------------


class Skip(Request[None], frozen=True):
    """Skip the step. A tool call is refused, and the agent is told the message."""

    stop: Stop
    outputs: Values | None = None
    message: Text | None = None
    pauses: Pauses = False


class Force(Request[None], frozen=True):
    stop: Stop
    status: Literal["passed", "failed", "skipped", "cancelled", "timed_out"]
    outputs: Values | None = None
    message: Text | None = None
    pauses: Pauses = False


class Retry(Request[None], frozen=True):
    stop: Stop


class Decide(Request[None], frozen=True):
    """Say how a step that gave up continues: only at a stop with the reason `escalated`.

    `guide` needs guidance in `text`, `skip` a reason; `roll_back` takes the number of an iteration, or `base`. After
    `take_over` the run stays paused: repair it, then continue.
    """

    stop: Stop
    choice: Literal["take_over", "guide", "roll_back", "skip", "stop"]
    text: Annotated[str, Meta(max_length=16_384)] = ""

    def __post_init__(self) -> None:
        if self.choice in ("guide", "skip") and not self.text.strip():
            raise ValueError(f"`{self.choice}` needs a `text`")
        if self.choice == "roll_back" and not re.fullmatch(r"\s*(base|\d{1,3})?\s*", self.text):
            raise ValueError("`roll_back` takes the number of an iteration, or `base`")


class Inject(Request[InjectedState], frozen=True):
    """The answer also has the path of the injected step."""

    stop: Stop
    step: Annotated[
        dict[str, Any],
        Meta(max_length=10_000, description="A step as in a flow file: a type, its options, or a group of steps."),
    ]
    position: Literal["before", "after"] = "before"


class Uninject(Request[None], frozen=True):
    stop: Stop
    step: Annotated[str, Meta(max_length=4096, description="The path of an injected step that has not run.")]


class Set(Request[None], frozen=True):
    stop: Stop
    path: Text
    value: Any
    layer: Text | None = None


class Unset(Request[None], frozen=True):
    stop: Stop
    path: Text
    layer: Text | None = None


class Undo(Request[None], frozen=True):
    stop: Stop


class Config(Request[None], frozen=True):
    stop: Stop
    config: Values


# --- Going back, or ahead --------------------------------------------------------------------------------------------


class Rewind(Request[None], frozen=True):
    """What followed the point in its frames no longer counts, and runs again."""

    stop: Stop
    point: Point
    external: External = False


class Forward(Request[WayInfo], frozen=True):
    """Undo the last step back, rewind, restart or jump back of the frame, until a step has finished since.

    The answer says where it leads, and whether files are restored.
    """

    stop: Stop


class Restart(Request[None], frozen=True):
    stop: Stop
    external: External = False


class Goto(Request[None], frozen=True):
    """Go to a step of the same sequence, back or ahead, and stop before it. The steps between are skipped."""

    stop: Stop
    step: Text
    external: External = False


# --- Breakpoints, watches, leases; a BreakpointRequest adds one -------------------------------------------------------

BreakpointId = Annotated[int, Meta(ge=0, lt=2**53)]


ChangeBreakpoint: Any = msgspec.defstruct(
    "ChangeBreakpoint",
    [
        ("breakpoint", BreakpointId),
        *((each.name, each.type | None | UnsetType, UNSET) for each in msgspec.structs.fields(BreakpointRequest)),
    ],
    bases=(Request,),
    namespace={
        "__doc__": "Changes of a breakpoint; omitted fields stay as they are.",
        "__orig_bases__": (Request[BreakpointInfo],),
    },
    frozen=True,
)


class RemoveBreakpoint(Request[None], frozen=True):
    breakpoint: BreakpointId


class ClearBreakpoints(Request[None], frozen=True):
    """Remove every breakpoint, also the one that pauses at failures."""


class Mute(Request[None], frozen=True):
    """Muted breakpoints are kept but ignored, across restarts too, until they are unmuted."""

    muted: bool = True


class EnableBreakpointGroup(Request[tuple[BreakpointInfo, ...]], frozen=True):
    group: Text
    enabled: bool


class Watch(Request[None], frozen=True):
    expression: Text


class Unwatch(Request[None], frozen=True):
    expression: Text


class Extend(Request[None], frozen=True):
    seconds: float


# --- Looking ---------------------------------------------------------------------------------------------------------


class State(Request[DebugState], frozen=True):
    """Apply the events above `last_event`, which is also the ETag, to follow it from there."""


class Breakpoints(Request[tuple[BreakpointInfo, ...]], frozen=True):
    """They are also part of the state."""


class Evaluate(Request[Evaluated], frozen=True):
    """The answer has every value that the expression returns."""

    expression: Text
    stop: Annotated[int, Meta(ge=1, lt=2**53, description="A current stop; omit it for the run as a whole.")] | None = (
        None
    )


class Watches(Request[dict[str, Any]], frozen=True):
    """A watch that fails has `{"error": text}` in place of `{"value": value}`."""

    stop: Stop


class Variables(Request[VariablePage], frozen=True):
    """A page of the children of the value at a path."""

    stop: Stop
    path: Annotated[str, Meta(max_length=4096, description="A jq path, such as `.vars.list[0]`.")] = "."
    cursor: Number = 0
    limit: Annotated[int, Meta(ge=1, le=5000)] = 100
    search: Annotated[str, Meta(max_length=1000, pattern=r"^[^\x00-\x1f\x7f]*$")] | None = None
    sort: Annotated[Sort, Meta(description="`bytes` lists the largest first.")] = "order"


class Scope(Request[WholeScope], frozen=True):
    stop: Stop


class ReadConfig(Request[ConfigInfo], frozen=True):
    stop: Stop


class History(Request[tuple[PointInfo, ...]], frozen=True):
    """The points that still count, oldest first."""


class Diff(Request[tuple[ChangeInfo, ...]], frozen=True):
    """What changed since the previous stop of its frame, or between two points of the history."""

    stop: Stop | None = None
    before: Point | None = msgspec.field(default=None, name="from")
    after: Point | None = msgspec.field(default=None, name="to")

    def __post_init__(self) -> None:
        if (self.before is None) is not (self.after is None) or (self.stop is None) is (self.before is None):
            raise ValueError("use `stop`, or `from` and `to`")


class Files(Request[FileChanges], frozen=True):
    """What changed in the workspace between two points, or from one until now."""

    before: Point = msgspec.field(name="from")
    after: Point | None = msgspec.field(default=None, name="to")
    limit: Annotated[int, Meta(ge=1, le=100_000)] = 1000


class FilesDiff(Request[FileDiff], frozen=True):
    path: Annotated[str, Meta(max_length=4096, description="The path, as in the list of changes.")]
    before: Point = msgspec.field(name="from")
    after: Point | None = msgspec.field(default=None, name="to")


class Context(Request[ContextInfo], frozen=True):
    """Where the stop is: commit, machine, image, step, the last lines of its log, and how to attach."""

    stop: Stop


class Export(Request[dict[str, Any]], frozen=True):
    """Options, breakpoints, watches and all events."""
