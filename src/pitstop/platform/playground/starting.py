"""Starting trials: each is stored together with the firing that starts its run."""

from msgspec.structs import replace

from pitstop.engine.ports import Clock
from pitstop.errors import BadRequest, CommandRefused, Unknown, UnknownPath
from pitstop.git.names import BRANCHES, TAGS
from pitstop.platform.cards.changing import CardBench
from pitstop.platform.committed_profiles import profile_at
from pitstop.platform.open_repos import OpenRepo
from pitstop.platform.playground.limits import check_trial
from pitstop.platform.playground.trial_flows import PAUSE_AT_CALLS, empty_commit, facts_of, flow_text
from pitstop.platform.playground.trial_values import NewTrial, TrialRecord
from pitstop.platform.repo_values import FiringRecord
from pitstop.platform.stored.firings import NewFiring
from pitstop.platform.stored.trials import StoredTrials
from pitstop.platform.work_runs import CANCELLED
from pitstop.runs.run_ids import new_run_id
from pitstop.runs.run_request import RunRequest
from pitstop.steps.agents.profile import OWN_PROFILES, built_in_profiles
from pitstop.steps.failures import BadConfig


class TrialStarter:
    """Starts trials. What a run needs is made of its trial when the firing is due, also after a crash."""

    def __init__(self, trials: StoredTrials, bench: CardBench, clock: Clock) -> None:
        self._trials = trials
        self._bench = bench
        self._clock = clock

    async def create(self, new: NewTrial, who: str) -> tuple[TrialRecord, ...]:
        """A trial for each agent. BadRequest, TooMany, UnknownRef, UnknownRepo."""
        repo = await self._bench.repos.get(check_trial(new))
        if new.group is not None and (present := await self._trials.in_group(new.group)):
            return present
        opened = await self._bench.opened.ready(repo)
        asked = new.settings.ref or repo.default_branch
        sha = await opened.bare.resolve(asked)
        refs = await opened.bare.refs()
        ref = asked if BRANCHES + asked in refs or TAGS + asked in refs else None
        if new.settings.path is not None:
            await _check_path(opened, sha, new.settings.path)
        group, now = new.group or f"g-{new_run_id()}", self._clock.now()
        made = []
        for number, profile in enumerate(new.profiles):
            trial = TrialRecord(
                id=f"t-{new_run_id()}",
                repo=repo.id,
                group=group,
                profile=profile,
                prompt=new.prompt,
                settings=new.settings,
                sha=sha,
                ref=ref,
                run=new_run_id(),
                by=who,
                created_at=now + number / 1e6,  # they are listed in this order
                text="",
            )
            made.append(await self._prepared(opened, trial))
        stored = await self._trials.add([(trial, _firing_of(trial)) for trial in made])
        self._bench.wake()
        return stored

    async def _prepared(self, opened: OpenRepo, trial: TrialRecord) -> TrialRecord:
        """The trial with its flow, and where it begins without files, with that commit."""
        try:
            secrets = (await profile_at(opened.reader, trial.sha, trial.profile)).secrets
        except BadConfig as error:
            raise BadRequest(str(error)) from error
        sha = trial.sha
        if trial.settings.input == "text":
            path = f"{OWN_PROFILES}/{trial.profile}.yaml"
            own = None if trial.profile in built_in_profiles() else (await opened.reader.find(sha, path)).sha
            sha = await empty_commit(opened.bare, trial.profile, own, trial.by)
        return replace(trial, sha=sha, text=flow_text(trial.id, trial.profile, trial.settings, secrets))

    async def request_of(self, firing: FiringRecord, request: RunRequest) -> RunRequest:
        """The request of a firing, with the flow and the prompt of its trial. CommandRefused for a cancelled one."""
        trial = await self._trials.of_run(firing.run or "")
        if trial is None:
            raise Unknown("trial", firing.subject["trial"]["id"])
        if trial.state != "queued":
            raise CommandRefused(CANCELLED)
        facts = {**facts_of(trial), "prompt": trial.prompt}
        debug = PAUSE_AT_CALLS if trial.settings.debug else None
        return replace(request, text=trial.text, trigger={**(request.trigger or {}), "trial": facts}, debug=debug)


async def _check_path(opened: OpenRepo, sha: str, path: str) -> None:
    """UnknownPath."""
    if (await opened.reader.find(sha, path)).kind != "file":
        raise UnknownPath(path, sha)


def _firing_of(trial: TrialRecord) -> NewFiring:
    return NewFiring(
        repo=trial.repo,
        flow=f"trial/{trial.profile}",
        kind="trial",
        outcome="pending",
        who=trial.by,
        subject={
            "kind": "trial",
            "repo": trial.repo,
            "branch": trial.ref,
            "sha": trial.sha,
            "who": trial.by,
            "trial": facts_of(trial),
        },
        ref=trial.ref,
        sha=trial.sha,
        run=trial.run,
    )
