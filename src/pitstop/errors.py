"""Every error that Pitstop raises, in one tree.

    PitstopError
    ├── BadDefinition            what the user wrote cannot run
    │   ├── BadGraph             a graph with mistakes, all of them listed
    │   ├── BadFlow              a flow file with mistakes, each with its place
    │   └── BadInputs            what a run was given is not what its flow asks for
    ├── BadExpression            a jq expression that does not compile or fails on what it was given
    │   └── ExpressionTimeout    one that took longer than it was allowed to
    ├── StepFailure              a step's own failure, before it becomes an `Outcome`
    │   ├── BadUpdate            a node returned something that is no update
    │   ├── ConflictingUpdates   two branches wrote one key that has no reducer
    │   ├── RecursionLimit       a graph took more turns than it may
    │   └── UnknownRoute         a router named a node that does not exist
    ├── CommandRefused           a debugger command that changed nothing
    │   ├── StaleStop            it names a stop that is over
    │   ├── NotAllowed           it is not among the verbs of its stop
    │   ├── NotRunning           the session has no run, or its run has ended
    │   ├── SessionInUse         the session has a run already
    │   ├── UnknownBreakpoint    there is no breakpoint with that id
    │   ├── UnknownFrame         there is no frame with that id
    │   ├── UnknownPoint         the history has no such point
    │   ├── UnknownStep          the plan has no such step
    │   ├── BadBreakpoint        its parts do not make a breakpoint
    │   ├── BadEdit              the path cannot be set in that layer
    │   ├── NothingToUndo        the stop has no edit left
    │   ├── ExternalEffects      going back would repeat what cannot be undone, and nobody agreed
    │   └── NotEnded             the run has to end first
    ├── Unknown                  something was named that is not there
    │   ├── UnknownRun           no run has that id
    │   ├── UnknownFlow          no stored flow has that name
    │   └── UnknownArtifact      the run handed no such file on
    ├── BadCursor                a place in a list that no page gave
    ├── SealBroken               secrets that were sealed with another key
    ├── Elsewhere                the run is at work on another server
    ├── LogLost                  the log of a run cannot be written any more: the run is another server's now
    ├── BadLog                   an event log that does not belong to this plan, or is damaged
    ├── NoRunner                 no machine meets what a workspace needs
    ├── WorkspaceLost            the workspace is gone, for good
    └── Unavailable              an executor cannot do it now; it may be asked again

Each has a stable `code` for machines and keeps its values as attributes.
"""

from collections.abc import Iterable
from dataclasses import dataclass


class PitstopError(Exception):
    """The root of the tree."""

    code = "pitstop"


class BadDefinition(PitstopError):
    """What the user wrote cannot run; `mistakes` has every reason."""

    code = "definition"

    def __init__(self, mistakes: Iterable[str]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(self.mistakes))


class BadGraph(BadDefinition):
    """A graph that cannot be compiled."""

    code = "definition.graph"


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing that is wrong in a file, and where: lines and columns count from 1.

    As text it is what a compiler prints: the place and what is wrong, the line (`text`), and a caret with the hint.
    """

    file: str
    line: int
    column: int
    message: str
    text: str = ""
    hint: str | None = None

    def __str__(self) -> str:
        head = f"{self.file}:{self.line}:{self.column}: {self.message}"
        if not self.text.strip():
            return f"{head}; {self.hint}" if self.hint else head
        first = max(0, self.column - _SHOWN_BEFORE_CARET)
        shown = self.text[first : first + _SHOWN_OF_LINE].rstrip()
        blank = "".join(char if char == "\t" else " " for char in self.text[first : self.column - 1])
        pointer = f"{blank}^ {self.hint}" if self.hint else f"{blank}^"
        printable = "".join(
            char if char.isprintable() or char == "\t" else "\N{REPLACEMENT CHARACTER}" for char in shown
        )
        return f"{head}\n  {printable}\n  {pointer}"


_SHOWN_BEFORE_CARET = 80
_SHOWN_OF_LINE = 160


class BadFlow(BadDefinition):
    """A flow that cannot run; `found` has every mistake with its place."""

    code = "definition.flow"

    def __init__(self, found: Iterable[Mistake]) -> None:
        self.found = tuple(found)
        super().__init__(map(str, self.found))


class BadInputs(BadDefinition):
    """The inputs given to a run are not those that its flow asks for."""

    code = "definition.inputs"


class BadExpression(PitstopError):
    """A jq expression that does not compile, or fails on what it was given."""

    code = "expression"

    def __init__(self, expression: str, reason: str) -> None:
        super().__init__(f"expression {expression!r}: {reason}")
        self.expression = expression
        self.reason = reason


class ExpressionTimeout(BadExpression):
    """An expression that took longer than it was allowed to."""

    code = "expression.timeout"

    def __init__(self, expression: str, seconds: float) -> None:
        super().__init__(expression, f"took longer than {seconds:g} s and was ended")
        self.seconds = seconds


class StepFailure(PitstopError):
    """A step's own failure: it becomes the error of an `Outcome`, it never ends the engine."""

    code = "step"


class BadUpdate(StepFailure):
    """A node returned something that is not an update of the state."""

    code = "step.bad_update"

    def __init__(self, node: str, returned: object) -> None:
        super().__init__(
            f"node {node!r} returned {type(returned).__name__}: return a dict with the keys to change, or None"
        )
        self.node = node


class ConflictingUpdates(StepFailure):
    """Two branches wrote one key, and nothing says how to join the two values."""

    code = "step.conflicting_updates"

    def __init__(self, key: str, branches: tuple[str, str]) -> None:
        first, second = branches
        super().__init__(
            f"branches {first!r} and {second!r} both set {key!r}: "
            f"give it a reducer (Graph(reducers={{{key!r}: ...}})) or let only one of them set it"
        )
        self.key = key
        self.branches = branches


class RecursionLimit(StepFailure):
    """A graph took more turns than it may."""

    code = "step.recursion_limit"

    def __init__(self, limit: int, node: str) -> None:
        super().__init__(
            f"the graph took {limit} turns without reaching END, last at {node!r}: "
            f"end the loop, or raise compile(recursion_limit=...)"
        )
        self.limit = limit
        self.node = node


class UnknownRoute(StepFailure):
    """A router named a node that does not exist."""

    code = "step.unknown_route"

    def __init__(self, source: str, target: object, nearest: str | None = None) -> None:
        hint = f"; did you mean {nearest!r}?" if nearest else ""
        super().__init__(
            f"the router after {source!r} chose {target!r}, which is none of the nodes it may choose{hint}"
        )
        self.source = source
        self.target = target


class CommandRefused(PitstopError):
    """A debugger command that was refused and changed nothing."""

    code = "refused"


class StaleStop(CommandRefused):
    """The command names a stop that is over."""

    code = "refused.stale_stop"

    def __init__(self, stop: int) -> None:
        super().__init__(f"stop {stop} is over, so nothing can be done at it: ask for the current stops")
        self.stop = stop


class NotAllowed(CommandRefused):
    """The verb is not among those that its stop allows."""

    code = "refused.not_allowed"

    def __init__(self, verb: str, stop: int, reason: str) -> None:
        super().__init__(f"{verb} is not possible at stop {stop}: {reason}")
        self.verb = verb
        self.stop = stop


class NotRunning(CommandRefused):
    """The session has no run yet, or its run has ended."""

    code = "refused.not_running"

    def __init__(self) -> None:
        super().__init__("the session has no run in progress: start one with debug=session")


class SessionInUse(CommandRefused):
    """The session has a run already: one session per run."""

    code = "refused.session_in_use"

    def __init__(self) -> None:
        super().__init__("the session belongs to another run already: make a new Session for this one")


class UnknownBreakpoint(CommandRefused):
    """There is no breakpoint with that id."""

    code = "refused.unknown_breakpoint"

    def __init__(self, breakpoint_id: int) -> None:
        super().__init__(f"there is no breakpoint {breakpoint_id}")
        self.breakpoint = breakpoint_id


class UnknownFrame(CommandRefused):
    """There is no frame with that id."""

    code = "refused.unknown_frame"

    def __init__(self, frame: str) -> None:
        super().__init__(f"there is no frame {frame!r}")
        self.frame = frame


class UnknownPoint(CommandRefused):
    """The history has no such point."""

    code = "refused.unknown_point"

    def __init__(self, point: object) -> None:
        super().__init__(f"the history has no point {point!r}")
        self.point = point


class UnknownStep(CommandRefused):
    """The plan has no such step."""

    code = "refused.unknown_step"

    def __init__(self, step: str, nearest: str | None = None) -> None:
        hint = f"; did you mean {nearest!r}?" if nearest else ""
        super().__init__(f"the plan has no step {step!r}{hint}")
        self.step = step


class BadBreakpoint(CommandRefused):
    """The parts given do not make a breakpoint."""

    code = "refused.bad_breakpoint"


class BadEdit(CommandRefused):
    """The path cannot be set or unset in that layer."""

    code = "refused.bad_edit"


class NothingToUndo(CommandRefused):
    """The stop has no edit that could be undone."""

    code = "refused.nothing_to_undo"

    def __init__(self, stop: int) -> None:
        super().__init__(f"stop {stop} has no edit to undo")
        self.stop = stop


class ExternalEffects(CommandRefused):
    """Going back would repeat steps whose effects cannot be undone, and nobody agreed to it."""

    code = "refused.external_effects"

    def __init__(self, steps: Iterable[str]) -> None:
        self.steps = tuple(steps)
        super().__init__(
            f"going back would run {', '.join(self.steps)} again, whose effects outside cannot be undone: "
            f"say so with external=True"
        )


class BadLog(PitstopError):
    """An event log that is damaged or does not belong to the plan it was given to."""

    code = "log"


# --- The world where commands run: raised by every executor ----------------------------------------------------------


class NoRunner(PitstopError):
    """No machine meets what a workspace needs; `asked` and `there` tell both sides."""

    code = "executor.no_runner"

    def __init__(self, asked: str, there: Iterable[str]) -> None:
        self.asked = asked
        self.there = tuple(there)
        super().__init__(f"no runner has {asked}; there is {', '.join(self.there) or 'none at all'}")


class WorkspaceLost(PitstopError):
    """The workspace is gone, for good: what was in it is not there to be used."""

    code = "executor.workspace_lost"

    def __init__(self, workspace: str, reason: str) -> None:
        super().__init__(f"workspace {workspace!r} is gone: {reason}")
        self.workspace = workspace
        self.reason = reason


class Unavailable(PitstopError):
    """An executor cannot do what it was asked now; it may be asked again."""

    code = "executor.unavailable"


class NotEnded(CommandRefused):
    """What was asked for can only be done to a run that has ended."""

    code = "refused.not_ended"

    def __init__(self, run: str) -> None:
        super().__init__(f"run {run!r} has not ended: cancel it first")
        self.run = run


class Unknown(PitstopError):
    """Something was named that is not there."""

    code = "unknown"

    def __init__(self, what: str, name: str, hint: str = "") -> None:
        super().__init__(f"there is no {what} {name!r}{hint and f': {hint}'}")
        self.name = name


class UnknownRun(Unknown):
    """No run has that id."""

    code = "unknown.run"

    def __init__(self, run: str) -> None:
        super().__init__("run", run, "`pitstop runs` lists those that there are")


class UnknownFlow(Unknown):
    """No stored flow has that name."""

    code = "unknown.flow"

    def __init__(self, flow: str, hint: str = "") -> None:
        super().__init__("stored flow", flow, hint)


class UnknownArtifact(Unknown):
    """The run handed no such file on."""

    code = "unknown.artifact"

    def __init__(self, path: str) -> None:
        super().__init__("artifact", path)


class BadCursor(PitstopError):
    """A cursor that no page of a list gave."""

    code = "cursor"

    def __init__(self, cursor: str) -> None:
        super().__init__(f"{cursor!r} is no cursor: take the `next` of the page before")
        self.cursor = cursor


class LogLost(PitstopError):
    """The log of a run cannot be written any more, because another server has taken the run over."""

    code = "log.lost"

    def __init__(self, run: str) -> None:
        super().__init__(f"run {run!r} was taken over by another server")
        self.run = run


class SealBroken(PitstopError):
    """Secrets that cannot be opened, because they were sealed with another key or were changed."""

    code = "seal.broken"

    def __init__(self, message: str = "") -> None:
        super().__init__(
            message
            or "secrets cannot be opened: they were sealed with another key. Put the key file back, or set them anew"
        )


class Elsewhere(PitstopError):
    """The run is at work on another server, which alone can be told what to do with it."""

    code = "elsewhere"

    def __init__(self, run: str, address: str) -> None:
        super().__init__(f"run {run!r} is at work on another server: ask {address or 'it'}")
        self.run = run
        self.address = address
