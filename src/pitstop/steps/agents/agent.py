"""`agent`: an AI agent works on the workspace, and the debugger can stop at its tool calls."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any, ClassVar

from pitstop.engine.executor import Command, CommandResult
from pitstop.engine.frame import Activation
from pitstop.errors import StepFailure
from pitstop.events.types import Resumed, StepNoted, StepStarted, StopEnded, Stopped
from pitstop.steps.agents.agent_config import AgentConfig
from pitstop.steps.agents.budget import Budget
from pitstop.steps.agents.failures import (
    AgentFailed,
    AgentInterrupted,
    AgentMissing,
    BudgetExceeded,
    CannotCommit,
    ProtectedFiles,
    passed_budget,
)
from pitstop.steps.agents.guards import violations
from pitstop.steps.agents.preparing import Preparation, profile_of
from pitstop.steps.agents.profile import Profile
from pitstop.steps.agents.relay.relay import Relay
from pitstop.steps.agents.work import AgentWork
from pitstop.steps.agents.workspace_git import Before, Changes, WorkspaceGit
from pitstop.steps.commands import why_it_ended
from pitstop.steps.config import read_config
from pitstop.steps.failures import BadConfig
from pitstop.steps.workplace import Workplace

REPORT_COST = ("claude", "opencode", "aider")  # streams of CLIs that say what they cost, when they end
_CANNOT_RUN, _NOT_FOUND = 126, 127
_SUBJECT_CHARACTERS = 72


class AgentStep:
    """Outputs: the last `text`, `status`, `turns`, `cost` in USD, `tokens`, `files`, `lines`, `session`, `commit`.

    An agent that was at work when Pitstop ended has failed: it is not repeated by itself.
    """

    name: ClassVar[str] = "agent"
    summary: ClassVar[str] = "Let an AI agent work on the workspace."
    shorthand_field: ClassVar[str | None] = "profile"
    Config: ClassVar[type[AgentConfig]] = AgentConfig

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    async def has_ended(self, activation: Activation) -> bool:
        return True  # an interrupted agent is not repeated by itself: it costs money, and has changed files

    async def act(self, activation: Activation, config: Mapping[str, Any]) -> dict[str, Any]:
        form = read_config(self.name, AgentConfig, config, self._workplace.mask)
        if activation.takes_result:
            raise AgentInterrupted(*last_call(activation))
        key = self._workplace.next_key(activation)
        git = WorkspaceGit(self._workplace, activation, key)
        before = await git.look()
        profile = await profile_of(self._workplace, git, before, form)
        prepared = Preparation(self._workplace, activation, form, profile, key)
        _check(prepared, before)
        async with AsyncExitStack() as stack:
            await prepared.open_relay(stack)
            work = AgentWork(self._workplace, activation, prepared.profile, _budget(form), key, prepared.relay)
            prompt = await prepared.prompt(git, before)
            command = await prepared.command(prompt, work.hook, stack)
            result = await self._run(work, command, prompt, git, before)
        await activation.run.keep_workspace(activation, "after")
        changes = Changes() if before is None else await git.changes(before)
        outputs = self._outputs(work, changes, prepared.relay)
        self._judge(prepared, result, work, outputs)
        touched = violations(form.protect, changes.files)
        if touched:
            raise ProtectedFiles(touched, outputs)
        if form.budget.lines is not None and changes.lines > form.budget.lines:
            raise passed_budget("lines", f"{changes.lines} changed lines", str(form.budget.lines), outputs)
        if form.commit and before is not None:
            outputs["commit"] = await git.commit(before, _message(form, prepared.profile, activation))
        shown: dict[str, Any] = self._workplace.masked(outputs)
        return shown

    async def _run(
        self, work: AgentWork, command: Command, prompt: str, git: WorkspaceGit, before: Before | None
    ) -> CommandResult:
        try:
            return await work.run(command, prompt)
        except StepFailure:
            if before is not None:
                await git.changes(before)  # which takes back what the agent committed
            raise

    def _outputs(self, work: AgentWork, changes: Changes, relay: Relay | None) -> dict[str, Any]:
        finished = work.finished
        if relay is not None and relay.usage.calls:  # which counts exactly
            work.spent.tokens = relay.usage.tokens
            work.spent.cost = work.spent.cost if relay.usage.cost is None else relay.usage.cost
        return {
            "text": work.last_text if finished is None or finished.text is None else finished.text,
            "status": "failed" if finished is None else finished.status,
            **work.spent.as_outputs(),
            "files": list(changes.files),
            "lines": changes.lines,
            "session": work.session,
        }

    def _judge(self, prepared: Preparation, result: CommandResult, work: AgentWork, outputs: dict[str, Any]) -> None:
        """AgentFailed, unless the agent says that it is done. Whether the work is good is for the next steps to say."""
        profile, finished, relay = prepared.profile, work.finished, prepared.relay
        if result.exit_code == _NOT_FOUND and work.is_silent:
            raise AgentMissing(profile.name, profile.program, profile.install)
        was_refused = result.exit_code == _CANNOT_RUN and work.is_silent
        work.note("agent.ended", **{name: outputs[name] for name in ("status", "turns", "cost", "tokens", "session")})
        if finished is not None and finished.status == "passed":
            return
        told: dict[str, Any] = self._workplace.masked(outputs)
        if relay is not None and relay.over_budget is not None:
            raise BudgetExceeded(relay.over_budget, told)
        said = "" if finished is None else finished.reason
        lines = work.errors.last_lines(self._workplace)
        if was_refused and lines:  # the place says why it cannot run the agent
            said, lines = lines[0].removeprefix("pitstop: "), lines[1:]
        reason = "\n".join((said or why_it_ended(result), *(f"  {line}" for line in lines)))
        raise AgentFailed(profile.name, self._workplace.mask(reason), told)


def _budget(form: AgentConfig) -> Budget:
    return Budget(**{name: getattr(form.budget, name) for name in Budget.__struct_fields__})


def _check(prepared: Preparation, before: Before | None) -> None:
    """Refuse what cannot be had: CannotCommit without a repository in order, BadConfig for an unknown cost."""
    form, profile = prepared.form, prepared.profile
    if form.budget.cost is not None and not form.prices and profile.stream not in REPORT_COST:
        hint = "add `prices` for its model, or use `budget.tokens`"
        raise BadConfig("agent", [f"budget.cost: {profile.name} does not report what it costs: {hint}"])
    if before is None and (form.commit or form.budget.lines is not None):
        asked = "commit" if form.commit else "budget.lines"
        raise CannotCommit(f"`{asked}` needs a git repository with a commit in the workspace, and there is none")
    if form.commit and before is not None and before.uncommitted:
        raise CannotCommit(
            f"the workspace has changes that are not committed ({', '.join(before.uncommitted[:3])}): "
            "commit them first, or set `commit: false`"
        )


def _message(form: AgentConfig, profile: Profile, activation: Activation) -> str:
    subject = form.message or form.prompt.strip().partition("\n")[0][:_SUBJECT_CHARACTERS]
    return f"{subject}\n\nAgent: {profile.name}\nStep: {activation.occurrence}\n"


def last_call(activation: Activation) -> tuple[str | None, bool]:
    """The tool call that the agent was at when the run's process ended, in words, and whether it was held there."""
    log, occurrence = activation.run.log, activation.occurrence
    prefix = f"{occurrence}/"
    stops: dict[int, str] = {}
    titles: dict[str, str] = {}  # of calls that have not returned
    for event in log.read() if log is not None else ():
        if isinstance(event, StepStarted) and event.occurrence == occurrence:
            stops, titles = {}, {}  # an earlier attempt
        elif isinstance(event, StepNoted) and event.occurrence == occurrence:
            call, given = str(event.data.get("call")), event.data
            if event.note == "agent.called":
                about = given.get("command") or ", ".join(given.get("paths") or ()) or given.get("name")
                titles[call] = f"call {call} ({given.get('tool')}: {about})"
            elif event.note in ("agent.returned", "agent.refused"):
                titles.pop(call, None)
        elif isinstance(event, Stopped) and event.occurrence.startswith(prefix) and event.position == "before":
            stops[event.stop] = event.occurrence.removeprefix(prefix)
        elif isinstance(event, Resumed | StopEnded):
            stops.pop(event.stop, None)
    held = next(reversed(stops.values()), None)
    if held is not None:
        return titles.get(held, f"call {held}"), True
    return next(reversed(titles.values()), None), False
