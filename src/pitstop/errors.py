"""Every error that Pitstop raises, in one tree.

    PitstopError
    ├── BadDefinition            what the user wrote cannot run
    │   ├── BadGraph             a graph with mistakes, all of them listed
    │   ├── BadFlow              a flow file with mistakes, each with its place
    │   │   └── FlowTooLarge     one that is not read any further
    │   └── BadInputs            what a run was given is not what its flow asks for
    ├── BadExpression            a jq expression that does not compile or fails on what it was given
    │   └── ExpressionTimeout    one that took longer than it was allowed to
    ├── StepFailure              a step's own failure, before it becomes an `Outcome`
    │   ├── NoteTooLarge         a step reported more than a log should carry
    │   ├── LimitExceeded        a step wanted more of something than its run may have
    │   ├── BadUpdate            a node returned something that is no update
    │   ├── ConflictingUpdates   two branches wrote one key that has no reducer
    │   ├── RecursionLimit       a graph took more turns than it may
    │   └── UnknownRoute         a router named a node that does not exist
    ├── CommandRefused           a debugger command that changed nothing
    │   ├── StaleStop            it names a stop that is over
    │   ├── NotAllowed           it is not among the verbs of its stop
    │   ├── NotRunning           the session has no run, or its run has ended
    │   │   └── RunLeft          it is paused in no process, until it is taken up
    │   ├── InAnotherProcess     the run is in another process, which alone can act on it
    │   ├── NotAttachable        the process of a run cannot be reached
    │   ├── SessionInUse         the session has a run already
    │   ├── NoPausePending       no pause is pending there
    │   ├── UnknownBreakpoint    there is no breakpoint with that id
    │   ├── UnknownFrame         there is no frame with that id
    │   ├── UnknownPoint         the history has no such point
    │   ├── NoScopes             what the steps of a graph saw is gone with its run
    │   ├── NoFiles              no files were kept at a point of the history
    │   ├── UnknownStep          the plan has no such step
    │   ├── StepNotRunning       no step with that name is running
    │   ├── SeveralSteps         more than one running step has that name
    │   ├── UnknownOccurrence    the step is there, but no execution with that address
    │   ├── BadBreakpoint        its parts do not make a breakpoint
    │   ├── BadEdit              the path cannot be set in that layer
    │   ├── NothingToUndo        the stop has no edit left
    │   ├── NoFuture             there is nothing to return to after going back
    │   ├── ExternalEffects      going back would repeat what cannot be undone, without consent
    │   ├── WorkspaceInUse       going back would change files under the hands of frames that run
    │   ├── NotAsked             the answer belongs to no question that is open
    │   ├── NotEnded             the run has to end first
    │   ├── RunExists            there is a run with that id already
    │   ├── RepoExists           there is a repository with that name already
    │   ├── RepoNotReady         the repository is being created or deleted, or could not be created
    │   ├── ProtectedRef         only a merge by Pitstop may change that branch
    │   ├── RefMoved             a branch is not at the commit that was expected
    │   ├── FileChanged          a file of a branch is not what was opened
    │   ├── NothingToMerge       the branch has nothing that the other one does not have
    │   ├── MergeConflict        two branches change the same lines
    │   ├── BadMove              a card cannot get there from where it is
    │   ├── CardInProgress       a card is being worked on, so it cannot be changed like that
    │   ├── NeedsServer          a step can only do its work on a server
    │   ├── FlowDisabled         the flow is switched off
    │   ├── TooDeep              a run was started by a run that was started by a run, too often
    │   └── GraphRefused         a server was asked to import a graph
    ├── Unknown                  something was named that is not there
    │   ├── UnknownRun           no run has that id
    │   ├── UnknownFlow          no stored flow has that name
    │   ├── UnknownRepo          no repository has that name
    │   ├── UnknownRef           the repository has no such branch, tag or commit
    │   ├── UnknownPath          the commit has no such file or folder
    │   ├── UnknownHook          no webhook has that address
    │   ├── UnknownCard          no card has that id
    │   ├── UnknownSnapshot      no snapshot has that id, or it has no such file
    │   └── UnknownArtifact      the run handed no such file on
    ├── UnknownStepType          no step type has that name
    ├── BrokenStepType           a package has added a step type that cannot be used
    ├── BadCommand               a line at the debugger's prompt that is no command
    ├── BadCursor                a place in a list that no page gave
    ├── BadCommit                a commit that is not there, or cannot be checked out
    ├── GitProblem               git cannot do what it was asked for
    ├── SealBroken               secrets that were sealed with another key
    ├── Elsewhere                the run is at work on another server
    ├── RepoElsewhere            the files of the repository are on another server
    ├── StoreProblem             runs cannot be kept or read
    │   ├── StoreUnavailable     the store cannot be reached or written now; it may be asked again
    │   └── BadStore             it is of another version, or no store at all
    ├── LogLost                  the log of a run cannot be written any more: the run is another server's now
    ├── BadLog                   an event log that does not belong to this plan, or is damaged
    ├── BadRequest               what came to a server cannot be taken as it is
    │   ├── TooLarge             it has more bytes than are read
    │   ├── HeadTooLarge         its head has more bytes than are read
    │   ├── HeadTimeout          its head did not arrive in time
    │   ├── Changed              what it was made for has changed since
    │   │   └── StaleCard        a card was changed by another user meanwhile
    │   ├── BadCard              a card, a note or an attempt cannot be like that
    │   ├── KeyReused            its idempotency key belongs to another request
    │   ├── BadRepoName          a repository cannot have that name
    │   ├── BadRepoSetting       a repository cannot have that setting
    │   └── BadSecret            a secret cannot have that name, scope or list of repositories
    ├── AccessDenied             a server does not do this for the client
    │   ├── NotKnown             the client is not authenticated
    │   ├── NotPermitted         their role does not allow it
    │   ├── OutOfScope           their token is for something else
    │   ├── BadSignature         a delivery of a webhook was not signed with its secret
    │   └── Foreign              it came from, or for, another site
    ├── ServerTrouble            a server cannot be used now
    │   ├── NoServer             no server of this user is known
    │   ├── ServerUnreachable    no server answers there
    │   ├── ServerBusy           it has as much to do as it takes on
    │   ├── TooMany              the client has too much open
    │   └── OtherVersion         it speaks another version
    ├── NoRunner                 no machine meets what a workspace needs
    ├── WorkspaceLost            the workspace is gone, for good
    ├── FileProblem              a file of a workspace cannot be used as asked
    │   ├── FileMissing          there is nothing at its path
    │   ├── NotAFile             there is something else at its path
    │   ├── FileTooLarge         it has more bytes than may be read
    │   └── PathOutside          its path leads out of its part of the workspace
    ├── SnapshotTooLarge         a workspace has more in it than a snapshot may have
    ├── RestoreIncomplete        not everything of a snapshot could be put back
    └── Unavailable              an executor cannot do it now; it may be asked again
        ├── NoEngine             no container engine answers on this machine
        └── NoShell              an image has no shell

Each has a stable `code` for machines and keeps its values as attributes.
"""

from collections.abc import Iterable

from msgspec import Struct

from pitstop.program import program


class PitstopError(Exception):
    """The base of every error that Pitstop raises. `code` is stable, for programs to compare with."""

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


class Mistake(Struct, frozen=True):
    """An error in a file, and its position: lines and columns count from 1.

    As text it looks like a compiler error: the position and message, the line (`text`), and a caret with the hint.
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


class FlowTooLarge(BadFlow):
    """A flow that is beyond a limit, and was not read any further."""

    code = "definition.flow_too_large"


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
        super().__init__(expression, f"timed out after {seconds:g} s")
        self.seconds = seconds


class StepFailure(PitstopError):
    """A step's own failure: it becomes the error of an `Outcome`, it never ends the engine."""

    code = "step"


class NoteTooLarge(StepFailure):
    """A step wanted to log a note that is larger than a note may be."""

    code = "step.note_too_large"

    def __init__(self, note: str, size: int, limit: int) -> None:
        super().__init__(
            f"the note {note!r} has {size:,} bytes, but at most {limit:,} can be logged: write it to an artifact"
        )
        self.note = note
        self.size = size


class LimitExceeded(StepFailure):
    """A step wanted more of something than its run may have."""

    code = "step.limit"


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
            f"the graph ran {limit} nodes without reaching END (last node: {node!r}): "
            f"end the loop, or raise compile(recursion_limit=...)"
        )
        self.limit = limit
        self.node = node


class UnknownRoute(StepFailure):
    """A router named a node that does not exist."""

    code = "step.unknown_route"

    def __init__(self, source: str, target: object, nearest: str | None = None) -> None:
        hint = f"; did you mean {nearest!r}?" if nearest else ""
        super().__init__(f"the router after {source!r} chose {target!r}, which is not one of its targets{hint}")
        self.source = source
        self.target = target


class CommandRefused(PitstopError):
    """A debugger command that was refused and changed nothing."""

    code = "refused"


class StaleStop(CommandRefused):
    """The command names a stop that is over."""

    code = "refused.stale_stop"

    def __init__(self, stop: int) -> None:
        super().__init__(f"stop {stop} has already ended: list the current stops and try again")
        self.stop = stop


class NotAllowed(CommandRefused):
    """The verb is not among those that its stop allows."""

    code = "refused.not_allowed"

    def __init__(self, verb: str, stop: int, reason: str) -> None:
        super().__init__(f"{verb} is not possible at stop {stop}: {reason}")
        self.verb = verb
        self.stop = stop


class NotGivenUp(CommandRefused):
    """The run has no fix loop that waits for a user."""

    code = "refused.not_given_up"

    def __init__(self, run: str) -> None:
        super().__init__(f"no fix loop of run {run} waits for a decision: `pitstop runs` shows where runs are paused")
        self.run = run


class NotRunning(CommandRefused):
    """The session has no run yet, or its run has ended."""

    code = "refused.not_running"

    def __init__(self) -> None:
        super().__init__("the session has no active run: start one with debug=session")


class RunLeft(NotRunning):
    """The run was left paused, and no process has it."""

    code = "refused.left"

    def __init__(self, run: str) -> None:
        PitstopError.__init__(self, f"run {run} was left paused: `{program()} debug {run}` resumes it")
        self.run = run


class InAnotherProcess(CommandRefused):
    """The run is in another process of this machine; `process` is its id, if it is known."""

    code = "refused.in_another_process"

    def __init__(self, run: str, process: int | None = None) -> None:
        which = "another process" if process is None else f"another process ({process})"
        super().__init__(
            f"run {run} is running in {which}: debug it in the terminal where it was started, "
            f"or start it with --attachable or on a server"
        )
        self.run = run
        self.process = process


class NotAttachable(CommandRefused):
    """The process that a run is in cannot be reached."""

    code = "refused.not_attachable"

    def __init__(self, run: str) -> None:
        super().__init__(f"cannot attach to run {run}: it has ended, or was started without --attachable")
        self.run = run


class SessionInUse(CommandRefused):
    """The session has a run already: one session per run."""

    code = "refused.session_in_use"

    def __init__(self) -> None:
        super().__init__("the session already belongs to another run: create a new Session for this one")


class UnknownBreakpoint(CommandRefused):
    """There is no breakpoint with that id."""

    code = "refused.unknown_breakpoint"

    def __init__(self, breakpoint_id: int) -> None:
        super().__init__(f"there is no breakpoint {breakpoint_id}")
        self.breakpoint = breakpoint_id


class NoPausePending(CommandRefused):
    """There is no pending pause to take back."""

    code = "refused.no_pause_pending"

    def __init__(self, frame: str | None) -> None:
        super().__init__("no pause is pending" + (f" in frame {frame!r}" if frame is not None else ""))
        self.frame = frame


class UnknownFrame(CommandRefused):
    """There is no frame with that id."""

    code = "refused.unknown_frame"

    def __init__(self, frame: str, reason: str = "") -> None:
        super().__init__(f"there is no frame {frame!r}" + (f": {reason}" if reason else ""))
        self.frame = frame


class UnknownPoint(CommandRefused):
    """The history has no such point."""

    code = "refused.unknown_point"

    def __init__(self, point: object) -> None:
        super().__init__(f"the history has no point {point!r}")
        self.point = point


class NoScopes(CommandRefused):
    """What the steps of a run saw is not known any more: it would take code that may have changed since."""

    code = "refused.no_scopes"

    def __init__(self, run: str) -> None:
        super().__init__(f"cannot compare the values of run {run}: values of a graph are not stored after its run ends")
        self.run = run


class NoFiles(CommandRefused):
    """What the workspace looked like is not known: nothing was kept there, or it is gone."""

    code = "refused.no_files"

    def __init__(self, where: str) -> None:
        super().__init__(
            f"no files are stored for {where}: files are stored before a step with `snapshot: true`, and in a run with "
            f"its own workspace before each step if it is debugged, and before each tool call of an agent"
        )
        self.where = where


class UnknownStep(CommandRefused):
    """The plan has no such step."""

    code = "refused.unknown_step"

    def __init__(self, step: str, nearest: str | None = None) -> None:
        hint = f"; did you mean {nearest!r}?" if nearest else ""
        super().__init__(f"the plan has no step {step!r}{hint}")
        self.step = step


class StepNotRunning(CommandRefused):
    """No step with that name is running."""

    code = "refused.step_not_running"

    def __init__(self, step: str, running: Iterable[str]) -> None:
        self.step = step
        self.running = tuple(running)
        now = f"running now: {', '.join(self.running)}" if self.running else "no step is running now"
        super().__init__(f"step {step!r} is not running; {now}")


class SeveralSteps(CommandRefused):
    """More than one running step has that name."""

    code = "refused.several_steps"

    def __init__(self, step: str, running: Iterable[str]) -> None:
        self.step = step
        self.running = tuple(running)
        super().__init__(f"several steps are running in {step!r}: choose one of {', '.join(self.running)}")


class UnknownOccurrence(CommandRefused):
    """The plan has the step, but no execution of it can have this address."""

    code = "refused.unknown_occurrence"

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"there is no occurrence {address!r}: {reason}")
        self.address = address


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


class NoFuture(CommandRefused):
    """The run has not gone back, or a step has finished since."""

    code = "refused.no_future"

    def __init__(self, stop: int) -> None:
        super().__init__(
            f"there is nothing to undo at stop {stop}: its frame was not rewound, or has finished a step since"
        )
        self.stop = stop


class ExternalEffects(CommandRefused):
    """Going back would repeat steps whose effects cannot be undone, without consent."""

    code = "refused.external_effects"

    def __init__(self, steps: Iterable[str]) -> None:
        self.steps = tuple(steps)
        super().__init__(
            f"going back would repeat the external effects of {', '.join(self.steps)}, which cannot be undone: "
            f"pass external=True to confirm"
        )


class WorkspaceInUse(CommandRefused):
    """Going back would put files back under the hands of frames that run."""

    code = "refused.workspace_in_use"

    def __init__(self, frames: Iterable[str]) -> None:
        self.frames = tuple(frames)
        super().__init__(
            f"cannot restore the workspace while {', '.join(self.frames)} may be writing to it: pause every frame first"
        )


class BadCommit(PitstopError):
    """A commit that is not there to be run at, and why."""

    code = "request.commit"

    def __init__(self, commit: str, reason: str) -> None:
        super().__init__(f"cannot use commit {commit!r}: {reason}")
        self.commit = commit
        self.reason = reason


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
        super().__init__(f"no runner has {asked}; available: {', '.join(self.there) or 'none'}")


class WorkspaceLost(PitstopError):
    """The workspace is gone, for good: what was in it is not there to be used."""

    code = "executor.workspace_lost"

    def __init__(self, workspace: str, reason: str) -> None:
        super().__init__(f"workspace {workspace!r} is lost: {reason}")
        self.workspace = workspace
        self.reason = reason


class Unavailable(PitstopError):
    """An executor cannot do what it was asked now; it may be asked again."""

    code = "executor.unavailable"


class NoShell(Unavailable):
    """The image of a container has no shell."""

    code = "executor.no_shell"

    def __init__(self, image: str) -> None:
        super().__init__(f"image {image} has no shell")
        self.image = image


class NoEngine(Unavailable):
    """No container engine answers on this machine; `tried` tells where one was looked for."""

    code = "executor.no_engine"

    def __init__(self, tried: Iterable[str], hint: str) -> None:
        self.tried = tuple(tried)
        where = f" ({'; '.join(self.tried)})" if self.tried else ""
        super().__init__(f"no container engine answers on this machine{where}: {hint}")


class FileProblem(PitstopError):
    """A file of a workspace cannot be used as asked; `reason` says why."""

    code = "file"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path!r}: {reason}")
        self.path = path
        self.reason = reason


class FileMissing(FileProblem):
    """There is nothing at the path."""

    code = "file.missing"

    def __init__(self, path: str) -> None:
        super().__init__(path, "there is no such file")


class NotAFile(FileProblem):
    """There is something at the path that is not a regular file."""

    code = "file.not_a_file"

    def __init__(self, path: str) -> None:
        super().__init__(path, "it is not a regular file")


class FileTooLarge(FileProblem):
    """The file has more bytes than may be read."""

    code = "file.too_large"

    def __init__(self, path: str, size: int, limit: int) -> None:
        super().__init__(path, f"it has {size:,} bytes, but at most {limit:,} are allowed")
        self.size = size
        self.limit = limit


class PathOutside(FileProblem):
    """The path, or a link on its way, leads out of its part of the workspace."""

    code = "file.outside"

    def __init__(self, path: str) -> None:
        super().__init__(path, "it is outside the workspace")


class NotAsked(CommandRefused):
    """The answer belongs to no question that is open."""

    code = "refused.not_asked"

    def __init__(self, occurrence: str) -> None:
        super().__init__(f"step {occurrence!r} is not waiting for approval")
        self.occurrence = occurrence


class UnknownStepType(PitstopError):
    """No step type has that name."""

    code = "step_type.unknown"

    def __init__(self, name: str, nearest: str | None = None) -> None:
        hint = f"; did you mean {nearest!r}?" if nearest else ""
        super().__init__(f"unknown step type {name!r}{hint}")
        self.name = name


class BrokenStepType(PitstopError):
    """A package has added a step type that cannot be used."""

    code = "step_type.broken"

    def __init__(self, name: str, package: str, entry_point: str, reason: str) -> None:
        super().__init__(f"step type {name!r} of package {package!r} ({entry_point}) cannot be used: {reason}")
        self.name = name
        self.package = package
        self.entry_point = entry_point


class BadCommand(PitstopError):
    """A line that is no command; the message says what would be one."""

    code = "command"


class RunExists(CommandRefused):
    """There is a run with that id already."""

    code = "refused.run_exists"

    def __init__(self, run: str) -> None:
        super().__init__(f"run {run!r} already exists")
        self.run = run


class GraphRefused(CommandRefused):
    """A server was asked to import a graph, which would run the code of a user inside it."""

    code = "refused.graph"

    def __init__(self, graph: str) -> None:
        super().__init__(
            f"a server does not import Python, so the graph {graph} cannot run there: "
            f"run it on your own machine, with `pitstop debug {graph}`"
        )
        self.graph = graph


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
        super().__init__("run", run, f"`{program()} runs` lists all runs")


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
        super().__init__(f"invalid cursor {cursor!r}: use `next` from the previous page")
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
            or "cannot decrypt secrets: they were encrypted with another key. Restore the key file, or set them again"
        )


class Elsewhere(PitstopError):
    """The run is active on another server, which alone can act on it."""

    code = "elsewhere"

    def __init__(self, run: str, address: str) -> None:
        super().__init__(f"run {run!r} is active on another server: send the request to {address or 'that server'}")
        self.run = run
        self.address = address


# --- Between a server and those who ask it ---------------------------------------------------------------------------


class BadRequest(PitstopError):
    """A request that cannot be taken as it is; `problems` has each place that is wrong, and why."""

    code = "request"

    def __init__(self, message: str, problems: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


class BadSecret(BadRequest):
    """A secret cannot have this name, this scope or these repositories."""

    code = "request.secret"


class TooLarge(BadRequest):
    """The request has more bytes than are read."""

    code = "request.too_large"

    def __init__(self, most_bytes: int) -> None:
        super().__init__(f"the request is larger than {most_bytes} bytes")
        self.most_bytes = most_bytes


class HeadTooLarge(BadRequest):
    """The head of the request has more bytes than are read."""

    code = "request.head_too_large"

    def __init__(self, most_bytes: int) -> None:
        super().__init__(f"the URL and headers of the request are larger than {most_bytes} bytes")
        self.most_bytes = most_bytes


class HeadTimeout(BadRequest):
    """The head of the request did not arrive in time."""

    code = "request.timeout"

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the headers of the request did not arrive within {seconds:g} s")
        self.seconds = seconds


class Changed(BadRequest):
    """What the request was made for has changed since."""

    code = "request.changed"

    def __init__(self, etag: str) -> None:
        super().__init__("it has changed since you read it: reload it and try again")
        self.etag = etag


class KeyReused(BadRequest):
    """The idempotency key came with another request before."""

    code = "request.key_reused"

    def __init__(self, key: str) -> None:
        super().__init__(f"the idempotency key {key!r} was already used for another request: create a new one")
        self.key = key


class AccessDenied(PitstopError):
    """A server does not do this for the client."""

    code = "access"


class NotKnown(AccessDenied):
    """The client is not authenticated: no token or session, or one that is invalid or expired."""

    code = "access.not_known"

    def __init__(self) -> None:
        login = f"`{program()} login`"
        super().__init__(f"authentication required: use a valid token, or a login link from {login}")


class NotPermitted(AccessDenied):
    """The client's role does not allow it."""

    code = "access.not_permitted"

    def __init__(self, role: str, needed: str) -> None:
        super().__init__(f"the role {role} does not allow this: it requires the role {needed}")
        self.role = role
        self.needed = needed


class Foreign(AccessDenied):
    """The request came from the page of another site, or for a name that is not this server's."""

    code = "access.foreign"

    def __init__(self, header: str, value: str) -> None:
        super().__init__(f"{header} {value!r} does not belong to this server")
        self.header = header
        self.value = value


class ServerTrouble(PitstopError):
    """A server cannot be used now."""

    code = "server"


class NoServer(ServerTrouble):
    """No server of this user is known."""

    code = "server.none"

    def __init__(self) -> None:
        super().__init__(f"no server is running here: start one with `{program()} up`, or pass --server")


class ServerUnreachable(ServerTrouble):
    """No server answers at the address."""

    code = "server.unreachable"

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"cannot reach a server at {url} ({reason}): is it running? `{program()} up` starts one")
        self.url = url
        self.reason = reason


class ServerBusy(ServerTrouble):
    """The server has as much to do as it takes on."""

    code = "server.busy"


class TooMany(ServerTrouble):
    """The client has too much open already."""

    code = "server.too_many"


class OtherVersion(ServerTrouble):
    """The server speaks another version than this program."""

    code = "server.other_version"

    def __init__(self, url: str, theirs: str, ours: str) -> None:
        super().__init__(f"the server at {url} is version {theirs}, but this client is {ours}: upgrade the older one")
        self.url = url
        self.theirs = theirs
        self.ours = ours


class StoreProblem(PitstopError):
    """Runs cannot be kept, or not be read."""

    code = "store"


class StoreUnavailable(StoreProblem):
    """The store cannot be reached or written now; it may be asked again."""

    code = "store.unavailable"

    def __init__(self, reason: str) -> None:
        super().__init__(f"the store is unavailable: {reason}")
        self.reason = reason


class BadStore(StoreProblem):
    """What is there is of a later version, is no store, or is not what was asked for."""

    code = "store.bad"


class UnknownSnapshot(Unknown):
    """No snapshot has that id, or the one that has it has no such file."""

    code = "unknown.snapshot"

    def __init__(self, snapshot: str, path: str | None = None) -> None:
        super().__init__(*("snapshot", snapshot) if path is None else (f"file in snapshot {snapshot!r}:", path))
        self.snapshot = snapshot
        self.path = path


class SnapshotTooLarge(PitstopError):
    """A workspace has more in it than a snapshot may have; `setting` is the name of the limit."""

    code = "snapshot.too_large"

    def __init__(self, size: str, limit: str, setting: str) -> None:
        super().__init__(
            f"the workspace has {size}, but a snapshot is limited to {limit}: remove unneeded files, or raise {setting}"
        )
        self.size = size
        self.limit = limit
        self.setting = setting


class RestoreIncomplete(PitstopError):
    """Some of the workspace is as in the snapshot, and `missing` tells what is not, and why."""

    code = "snapshot.incomplete"

    def __init__(self, missing: Iterable[tuple[str, str]]) -> None:
        self.missing = tuple(missing)
        shown = "; ".join(f"{path}: {reason}" for path, reason in self.missing[:20])
        more = f"; and {len(self.missing) - 20} more" if len(self.missing) > 20 else ""
        super().__init__(f"could not restore everything: {shown}{more}")


# --- Repositories and triggers ---------------------------------------------------------------------------------------


class UnknownRepo(Unknown):
    """No repository has that name."""

    code = "unknown.repo"

    def __init__(self, repo: str) -> None:
        super().__init__("repository", repo, f"`{program()} repos` lists them")


class RepoElsewhere(PitstopError):
    """The files of the repository are on another server. `trouble` is why that one cannot be asked, and the way out."""

    code = "elsewhere.repo"

    def __init__(self, repo: str, address: str, trouble: str = "") -> None:
        where = f"the server at {address}" if address else "another server"
        super().__init__(f"repository {repo!r} is on {where}" + (f", {trouble}" if trouble else ": ask that one"))
        self.repo = repo
        self.address = address
        self.trouble = trouble


class UnknownRef(Unknown):
    """The repository has no such branch, tag or commit."""

    code = "unknown.ref"

    def __init__(self, repo: str, ref: str) -> None:
        super().__init__("branch, tag or commit", ref, f"it is not in repository {repo!r}")
        self.repo = repo


class UnknownPath(Unknown):
    """The commit has no such file or folder."""

    code = "unknown.path"

    def __init__(self, path: str, sha: str) -> None:
        super().__init__("file or folder", path, f"it is not in commit {sha[:12]}")
        self.sha = sha


class UnknownHook(Unknown):
    """No webhook has that address, or it is disabled."""

    code = "unknown.hook"

    def __init__(self, hook: str) -> None:
        super().__init__("webhook", hook)


class UnknownCard(Unknown):
    """No card has that id."""

    code = "unknown.card"

    def __init__(self, card: str) -> None:
        super().__init__("card", card, f"`{program()} cards` lists the cards of a repository")


class BadCard(BadRequest):
    """A card, a note or an attempt cannot be like that."""

    code = "request.card"


class StaleCard(Changed):
    """A card was changed by another user since the client read it; `version` is the present one."""

    code = "request.changed.card"

    def __init__(self, card: str, version: int) -> None:
        PitstopError.__init__(self, f"card {card} has changed since you read it: look at it and try again")
        self.card = card
        self.version = version
        self.etag = f'"{version}"'


class BadRepoName(BadRequest):
    """A repository cannot have that name."""

    code = "request.repo_name"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"invalid repository name {name!r}: use at most 64 lowercase letters, digits, '.', '_' and '-', "
            f"begin with a letter or digit, and do not use '..' or end with .git or .lock"
        )
        self.name = name


class BadRepoSetting(BadRequest):
    """A repository cannot have that setting; the message says why."""

    code = "request.repo_setting"


class BadSignature(AccessDenied):
    """A delivery of a webhook was not signed with its secret."""

    code = "access.signature"

    def __init__(self, header: str, reason: str) -> None:
        super().__init__(f"the delivery is refused: {header} {reason}")
        self.header = header


class OutOfScope(AccessDenied):
    """The token of the client is for something else."""

    code = "access.scope"

    def __init__(self, scope: str, wanted: str) -> None:
        super().__init__(f"this token has scope {scope}, so it cannot be used for {wanted}")
        self.scope = scope


class GitProblem(PitstopError):
    """git cannot do what it was asked for; `reason` is what it said."""

    code = "git"

    def __init__(self, what: str, reason: str) -> None:
        super().__init__(f"git {what} failed: {reason}")
        self.what = what
        self.reason = reason

    @classmethod
    def of_start(cls, what: str, error: OSError) -> "GitProblem":
        """git cannot be run at all."""
        advice = ": install git" if isinstance(error, FileNotFoundError) else ""
        return cls(what, f"cannot run git: {error.strerror}{advice}")


class RepoExists(CommandRefused):
    """There is a repository with that name already."""

    code = "refused.repo_exists"

    def __init__(self, repo: str) -> None:
        super().__init__(f"repository {repo!r} already exists: choose another name")
        self.repo = repo


class RepoNotReady(CommandRefused):
    """The repository is being created or deleted, or could not be created."""

    code = "refused.repo_not_ready"

    def __init__(self, repo: str, state: str, reason: str = "") -> None:
        super().__init__(f"repository {repo!r} cannot be used, because its state is {state}{reason and f': {reason}'}")
        self.repo = repo
        self.state = state


class ProtectedRef(CommandRefused):
    """Only a merge by Pitstop may change that branch."""

    code = "refused.protected_ref"

    def __init__(self, repo: str, branch: str, reason: str = "") -> None:
        why = f": {reason}" if reason else ": only a merge by Pitstop may change it"
        super().__init__(f"branch {branch!r} of {repo!r} is protected{why}")
        self.repo = repo
        self.branch = branch


class RefMoved(CommandRefused):
    """A branch is not at the commit that was expected."""

    code = "refused.ref_moved"

    def __init__(self, branch: str, expected: str, found: str | None) -> None:
        now = f"is at {found[:12]}" if found else "does not exist"
        wanted = f"it was expected at {expected[:12]}" if expected.strip("0") else "it was expected not to exist"
        super().__init__(f"branch {branch!r} {now}, but {wanted}: look at the new commits and try again")
        self.branch = branch
        self.expected = expected
        self.found = found


class FileChanged(CommandRefused):
    """A file of a branch is not what was opened; `found` is its blob, or None if it is gone."""

    code = "refused.file_changed"

    def __init__(self, branch: str, path: str, found: str | None) -> None:
        what = "has been changed" if found else "has been deleted"
        super().__init__(f"{path} {what} on {branch} since it was opened: load it again, and repeat the change")
        self.branch = branch
        self.path = path
        self.found = found


class NothingToMerge(CommandRefused):
    """The branch has nothing that the other one does not have."""

    code = "refused.nothing_to_merge"

    def __init__(self, source: str, target: str) -> None:
        super().__init__(f"nothing to merge: {target!r} already has all commits of {source!r}")
        self.source = source
        self.target = target


class MergeConflict(CommandRefused):
    """Two branches change the same lines; nothing was merged. `conflicts` are paths with their kinds."""

    code = "refused.merge_conflict"

    def __init__(self, source: str, target: str, conflicts: Iterable[tuple[str, str]]) -> None:
        self.source = source
        self.target = target
        self.conflicts = tuple(conflicts)
        self.files = tuple(path for path, _ in self.conflicts)
        shown = ", ".join(self.files[:10]) + (f" and {len(self.files) - 10} more" if len(self.files) > 10 else "")
        super().__init__(
            f"cannot merge {source!r} into {target!r}, because both change {shown}: "
            f"merge {target!r} into {source!r} by yourself, resolve the conflicts, and push"
        )


class BadMove(CommandRefused):
    """A card cannot get there from where it is."""

    code = "refused.move"

    def __init__(self, card: str, status: str, wanted: str, reason: str) -> None:
        super().__init__(f"card {card} cannot move from {status} to {wanted}: {reason}")
        self.card = card
        self.status = status
        self.wanted = wanted


class CardInProgress(CommandRefused):
    """A card is being worked on, so it cannot be changed like that."""

    code = "refused.card_in_progress"

    def __init__(self, card: str, what: str) -> None:
        super().__init__(f"cannot {what} card {card} while it is in progress: cancel it first")
        self.card = card


class NeedsServer(CommandRefused):
    """A step can only do its work on a server."""

    code = "refused.needs_server"

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} needs a repository on a Pitstop server: start one with `{program()} up`, take the repository in "
            f"with `{program()} ingest`, and start the flow there"
        )


class FlowDisabled(CommandRefused):
    """The flow is switched off."""

    code = "refused.flow_disabled"

    def __init__(self, repo: str, flow: str) -> None:
        super().__init__(f"flow {flow!r} of repository {repo!r} is disabled: enable it in the settings of its flows")
        self.repo = repo
        self.flow = flow


class TooDeep(CommandRefused):
    """A run was started by a run that was started by a run, too often."""

    code = "refused.too_deep"

    def __init__(self, flow: str, limit: int) -> None:
        super().__init__(
            f"flow {flow!r} is not started: it would be the start number {limit + 1} in a chain of runs that start "
            f"each other, and at most {limit} are allowed"
        )
        self.flow = flow
        self.limit = limit
