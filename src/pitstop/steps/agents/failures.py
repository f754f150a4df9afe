"""The ways in which an agent step fails."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pitstop.errors import StepFailure


class AgentFailed(StepFailure):
    """The agent says that it failed, or ended without a result. `outputs` has what it came to."""

    code = "step.agent_failed"

    def __init__(self, profile: str, reason: str, outputs: Mapping[str, Any] | None = None) -> None:
        super().__init__(f"{profile} failed: {reason}")
        self.profile = profile
        self.reason = reason
        self.outputs = dict(outputs or {})


class AgentMissing(StepFailure):
    """The CLI of the agent is not where the step runs."""

    code = "step.agent_missing"

    def __init__(self, profile: str, program: str, install: str) -> None:
        how = f"install it with `{install}`" if install else "install it"
        super().__init__(f"{profile}: there is no program `{program}` on the PATH; {how}, or use an `image` with it")
        self.profile = profile
        self.program = program


class NoAgentKey(StepFailure):
    """The agent needs a key for its model, and the step has none."""

    code = "step.no_agent_key"

    def __init__(self, profile: str, names: tuple[str, ...], listed: Collection[str] = ()) -> None:
        is_listed = any(name in listed for name in names)
        more = (
            f"; `pitstop secrets set {names[0]} --scope repo:NAME` stores it on a server, for a repository"
            if is_listed
            else f", and list it in the step: `secrets: [{names[0]}]`"
        )
        super().__init__(f"{profile} needs a key: give the run the secret {' or '.join(names)}{more}")
        self.profile = profile
        self.names = names


class BudgetExceeded(StepFailure):
    """The agent was ended because it used more than it may."""

    code = "step.budget_exceeded"

    def __init__(self, reason: str, outputs: Mapping[str, Any] | None = None) -> None:
        super().__init__(reason)
        self.outputs = dict(outputs or {})


def passed_budget(what: str, used: str, limit: str, outputs: Mapping[str, Any]) -> BudgetExceeded:
    """The failure of an agent that used more than this."""
    reason = f"the agent used {used}, and its budget of {what} is {limit}: raise `budget.{what}` or retry"
    return BudgetExceeded(reason, outputs)


class ProtectedFiles(StepFailure):
    """The agent made files that match `protect` where there was nothing to mount read-only."""

    code = "step.protected_files"

    def __init__(self, files: Sequence[str], outputs: Mapping[str, Any]) -> None:
        shown = ", ".join(files[:5]) + (f" and {len(files) - 5} more" if len(files) > 5 else "")
        super().__init__(f"the agent changed protected files: {shown}")
        self.files = tuple(files)
        self.outputs = dict(outputs)


class GateMissing(StepFailure):
    """The agent made a tool call that the gate has not seen, so breakpoints cannot hold its calls."""

    code = "step.gate_missing"

    def __init__(self, profile: str, reason: str) -> None:
        super().__init__(f"{profile} was ended: {reason}, so its tool calls cannot be held")
        self.profile = profile


class AgentFlooded(StepFailure):
    """The agent reported more than a run can store."""

    code = "step.agent_flooded"

    def __init__(self, profile: str, limit: str) -> None:
        super().__init__(f"{profile} was ended: it wrote more than {limit}")
        self.profile = profile


class AgentInterrupted(StepFailure):
    """Pitstop ended while the agent was at work. What it did until then is in the workspace."""

    code = "step.agent_interrupted"

    def __init__(self, call: str | None, is_held: bool) -> None:
        happened = "tool calls that it asked for afterwards were refused"
        if call is not None:
            at_call = "was held at that time and did not run" if is_held else "had not returned, and may have run"
            happened = f"{call} {at_call}"
        super().__init__(
            f"Pitstop ended while the agent was at work; {happened}. What it changed before is in the workspace: "
            "retry the step to start the agent again"
        )
        self.call = call
        self.is_held = is_held


class CannotCommit(StepFailure):
    """The changes of the agent could not be committed."""

    code = "step.cannot_commit"
