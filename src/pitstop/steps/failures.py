"""The ways in which steps fail: each is the error of an `Outcome`, with its values as attributes."""

from collections.abc import Iterable, Mapping
from typing import Any

from pitstop.errors import StepFailure


class BadConfig(StepFailure):
    """The configuration does not fit the step type; `mistakes` has every reason."""

    code = "step.bad_config"

    def __init__(self, step_type: str, mistakes: Iterable[str]) -> None:
        self.step_type = step_type
        self.mistakes = tuple(mistakes)
        super().__init__(f"{step_type}: {'; '.join(self.mistakes)}")


class NotAvailable(StepFailure):
    """The step asks for something that the place where it runs does not have."""

    code = "step.not_available"

    def __init__(self, field: str, value: object, reason: str) -> None:
        super().__init__(f"{field}: {value} cannot be satisfied: {reason}")
        self.field = field
        self.value = value


class OutsideWorkspace(StepFailure):
    """A path or pattern leads out of the workspace."""

    code = "step.outside_workspace"

    def __init__(self, field: str, path: str) -> None:
        super().__init__(f"{field}: {path!r} is outside the workspace: use a relative path inside it")
        self.field = field
        self.path = path


class CannotWrite(StepFailure):
    """A file could not be written."""

    code = "step.cannot_write"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"cannot write {path!r}: {reason}")
        self.path = path


class CommandFailed(StepFailure):
    """A command ended in a way that is not accepted. `outputs` has what it handed on all the same."""

    code = "step.command_failed"

    def __init__(
        self,
        reason: str,
        last_lines: Iterable[str] = (),
        *,
        exit_code: int | None = None,
        signal: int | None = None,
        outputs: Mapping[str, Any] | None = None,
    ) -> None:
        self.reason = reason
        self.last_lines = tuple(last_lines)
        self.exit_code = exit_code
        self.signal = signal
        self.outputs = dict(outputs or {})
        super().__init__("\n".join((reason, *(f"  {line}" for line in self.last_lines))))


class BadOutput(StepFailure):
    """What a script left in $PITSTOP_OUTPUT cannot be read."""

    code = "step.bad_output"

    def __init__(self, reason: str) -> None:
        super().__init__(f"$PITSTOP_OUTPUT: {reason}")
        self.reason = reason


class BadReport(StepFailure):
    """A test report cannot be read."""

    code = "step.bad_report"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"cannot read test report {path!r}: {reason}")
        self.path = path
        self.reason = reason


class NothingMatches(StepFailure):
    """No file is there for a pattern."""

    code = "step.nothing_matches"

    def __init__(self, field: str, pattern: str, reason: str) -> None:
        super().__init__(f"{field}: {reason} {pattern!r}")
        self.field = field
        self.pattern = pattern


class CheckFailed(StepFailure):
    """What was waited for did not come true; `reason` is what was there when it was last tried."""

    code = "step.check_failed"

    def __init__(self, what: str, reason: str, *, tries: int, seconds: float | None) -> None:
        times = "once" if tries == 1 else f"{tries} times"
        tried = "" if seconds is None else f", tried {times} in {seconds:g} s"
        super().__init__(f"{what}{tried}: {reason}")
        self.what = what
        self.reason = reason
        self.tries = tries
        self.seconds = seconds


class NoAnswer(StepFailure):
    """A server could not be reached, or did not answer properly."""

    code = "step.no_answer"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class BadCall(StepFailure):
    """A Python function cannot be found, raised something, or returned what is no mapping."""

    code = "step.bad_call"

    def __init__(self, function: str, reason: str) -> None:
        super().__init__(f"{function} {reason}")
        self.function = function
        self.reason = reason


class NotApproved(StepFailure):
    """A person said no."""

    code = "step.not_approved"

    def __init__(self, prompt: str, by: str, comment: str) -> None:
        told = f": {comment}" if comment else ""
        super().__init__(f"{by or 'the user'} did not approve {prompt!r}{told}")
        self.prompt = prompt
        self.by = by
        self.comment = comment


class NobodyToApprove(StepFailure):
    """No person can be asked."""

    code = "step.nobody_to_approve"

    def __init__(self, prompt: str, how: str) -> None:
        super().__init__(f"no user can approve {prompt!r} here: {how}")
        self.prompt = prompt


class FailedOnPurpose(StepFailure):
    """The flow says that this is a failure."""

    code = "step.failed_on_purpose"


class MergeFailed(StepFailure):
    """The branch of the run could not be merged; `files` are those with conflicts."""

    code = "step.merge_failed"

    def __init__(self, into: str, reason: str, files: Iterable[str] = ()) -> None:
        super().__init__(reason)
        self.into = into
        self.files = tuple(files)


class CardFailed(StepFailure):
    """A card could not be made or started."""

    code = "step.card_failed"


class CommitFailed(StepFailure):
    """The changes of the run could not be committed; `files` are those that stand in the way."""

    code = "step.commit_failed"

    def __init__(self, reason: str, files: Iterable[str] = ()) -> None:
        super().__init__(reason)
        self.files = tuple(files)
