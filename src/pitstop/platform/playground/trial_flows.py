"""The flow that a trial executes, and how its run is debugged."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from pitstop.git.bare import BareRepository
from pitstop.git.commands import run_git
from pitstop.git.incoming import commit_tree
from pitstop.platform.playground.trial_values import TrialInfo, TrialSettings
from pitstop.platform.work_runs import paused_at
from pitstop.runs.run_request import BreakpointRequest
from pitstop.steps.agents.profile import OWN_PROFILES

PAUSE_AT_CALLS = paused_at(BreakpointRequest(tool="any"))
_ONLY_ONE_FILE = "Change only the file `${{ .trigger.trial.path }}`: a change of another file is refused."
_SUBJECT_CHARACTERS = 72


def flow_text(trial: str, profile: str, settings: TrialSettings, secrets: Sequence[str]) -> str:
    """The flow of a trial. The prompt is in `.trigger`, so that no text of a user is an expression.

    What a failed agent has changed is committed, too. An agent that was cancelled may have left git in any state.
    """
    step: dict[str, Any] = {"id": "work", "agent": profile, "prompt": "${{ .trigger.trial.prompt }}"}
    step |= {"model": settings.model} if settings.model is not None else {}
    step |= {"budget": dict(settings.budget)} if settings.budget else {}
    step |= {"instructions": _ONLY_ONE_FILE} if settings.input == "file" else {}
    step |= {"secrets": [*secrets]} if secrets else {}
    commit = {
        "id": "commit",
        "if": '.steps.work.status == "passed" or .steps.work.status == "failed"',
        "commit": "${{ .trigger.trial.message }}",
    }
    return msgspec.yaml.encode({"name": f"trial {trial}", "steps": [step], "cleanup": [commit]}).decode()


def facts_of(trial: TrialInfo) -> Mapping[str, Any]:
    """What a run sees of its trial, as `.trigger.trial`."""
    subject = trial.prompt.strip().partition("\n")[0][:_SUBJECT_CHARACTERS]
    message = f"{subject}\n\nTrial: {trial.id}\nAgent: {trial.profile}\n"
    return {"id": trial.id, "profile": trial.profile, "path": trial.settings.path or "", "message": message}


async def empty_commit(repository: BareRepository, profile: str, profile_sha: str | None, who: str) -> str:
    """A commit without files of the repository, but with its own profile of the agent if there is one."""
    entries = "" if profile_sha is None else f"100644 blob {profile_sha}\t{profile}.yaml\n"
    tree = (await run_git(repository.folder, "mktree", input=entries.encode())).decode().strip()
    for folder in reversed(OWN_PROFILES.split("/") if entries else []):
        entries = f"040000 tree {tree}\t{folder}\n"
        tree = (await run_git(repository.folder, "mktree", input=entries.encode())).decode().strip()
    return await commit_tree(repository, tree, (), "Begin without files", who)
