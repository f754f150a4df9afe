"""The desk for the playground, over the workshop of this server."""

from pitstop.engine.ports import Clock
from pitstop.errors import BadCursor, BadRequest
from pitstop.git.names import BRANCHES
from pitstop.platform.open_repos import OpenRepo
from pitstop.platform.playground.trial_values import SAVED, TrialRecord
from pitstop.platform.workshop import Workshop
from pitstop.service.caller import Caller, Record
from pitstop.service.cards import CardInfo, Cards
from pitstop.service.playground import (
    Comparison,
    Diff,
    NewTrial,
    Patch,
    TrialBranch,
    TrialInfo,
    TrialPage,
    TrialResult,
)

MOST_LISTED = 100


class PlaygroundDesk:
    """The Playground of this server."""

    def __init__(self, workshop: Workshop, cards: Cards, clock: Clock, record: Record) -> None:
        self._workshop = workshop
        self._work = workshop.trials
        self._trials = workshop.trials.trials
        self._cards = cards
        self._clock = clock
        self._record = record

    async def create(self, caller: Caller, request: NewTrial) -> tuple[TrialInfo, ...]:
        caller.require("operator")
        created = await self._work.starter.create(request, caller.name)
        for trial in created:
            await self._note(caller, "create_trial", trial)
        return tuple(map(_info, created))

    async def list(
        self, caller: Caller, repo: str | None = None, cursor: str | None = None, limit: int = 50
    ) -> TrialPage:
        if repo is not None:
            await self._workshop.repos.get(repo)
        size = max(1, min(limit, MOST_LISTED))
        found = await self._trials.newest(repo, _place_in(cursor), size + 1)
        shown = found[:size]
        following = f"{shown[-1].created_at!r} {shown[-1].id}" if len(found) > size else None
        return TrialPage(tuple(map(_info, shown)), following)

    async def get(self, caller: Caller, trial: str) -> TrialInfo:
        return _info(await self._trials.get(trial))

    # What they changed

    async def diff(self, caller: Caller, trial: str) -> Diff:
        record, opened = await self._opened(trial)
        return await opened.reader.diff(record.sha, record.result, direct=True)

    async def patch(self, caller: Caller, trial: str, path: str) -> Patch:
        record, opened = await self._opened(trial)
        return await opened.reader.patch(record.sha, record.result, path, direct=True)

    async def compare(self, caller: Caller, a: str, b: str) -> Comparison:
        (one, opened), (other, _) = [await self._opened(trial) for trial in (a, b)]
        if one.repo != other.repo:
            raise BadRequest(f"trials {a} and {b} are of two repositories: compare trials of one")
        results = [await _result(opened, record) for record in (one, other)]
        between = await opened.reader.diff(one.result, other.result, direct=True)
        return Comparison(a=results[0], b=results[1], between=between)

    async def _opened(self, trial: str) -> tuple[TrialRecord, OpenRepo]:
        record = await self._trials.get(trial)
        return record, await self._work.results.opened(record)

    # Changing them

    async def cancel(self, caller: Caller, trial: str) -> TrialInfo:
        caller.require("operator")
        return await self._note(caller, "cancel_trial", await self._work.cancel(trial))

    async def save(self, caller: Caller, trial: str, name: str) -> TrialInfo:
        caller.require("operator")
        return await self._note(caller, "save_trial", await self._work.save(trial, name, caller.name))

    async def again(self, caller: Caller, trial: str, group: str | None = None) -> TrialInfo:
        caller.require("operator")
        return await self._note(caller, "repeat_trial", await self._work.again(trial, caller.name, group))

    async def make_card(self, caller: Caller, trial: str, title: str) -> CardInfo:
        caller.require("operator")
        card = await self._work.make_card(trial, title, caller.name)
        await self._record(caller, "create_card", None, names={"card": card.id, "trial": trial})
        return await self._cards.get(caller, card.id)

    async def delete(self, caller: Caller, trial: str) -> None:
        caller.require("operator")
        await self._note(caller, "delete_trial", await self._work.delete(trial))

    async def _note(self, caller: Caller, operation: str, trial: TrialRecord) -> TrialInfo:
        names = {"trial": trial.id, "repo": trial.repo, "state": trial.state, "branch": trial.branch}
        await self._record(caller, operation, trial.run, names={name: each for name, each in names.items() if each})
        return _info(trial)

    # Cleaning up

    async def branches(self, caller: Caller, repo: str) -> tuple[TrialBranch, ...]:
        record = await self._workshop.repos.get(repo)
        opened = await self._workshop.opened.ready(record)
        refs = await opened.bare.refs()
        default = refs.get(BRANCHES + record.default_branch)
        found = []
        for ref, commit in refs.items():
            if ref.startswith(BRANCHES + SAVED):
                is_merged = default is not None and await opened.bare.is_ancestor(commit.sha, default.sha)
                age_seconds = max(0.0, self._clock.now() - commit.at)
                name = ref.removeprefix(BRANCHES)
                found.append(TrialBranch(name=name, commit=commit, age_seconds=age_seconds, is_merged=is_merged))
        return tuple(sorted(found, key=lambda branch: (-branch.commit.at, branch.name)))


def _info(trial: TrialRecord) -> TrialInfo:
    return TrialInfo(**{name: getattr(trial, name) for name in TrialInfo.__struct_fields__})


async def _result(opened: OpenRepo, trial: TrialRecord) -> TrialResult:
    files = (await opened.reader.diff(trial.sha, trial.result, direct=True)).files
    is_over = trial.started_at is not None and trial.ended_at is not None
    seconds = (trial.ended_at or 0.0) - (trial.started_at or 0.0) if is_over else None
    return TrialResult(trial=_info(trial), files=files, seconds=seconds)


def _place_in(cursor: str | None) -> tuple[float, str] | None:
    """The time and the trial in a cursor. BadCursor."""
    if cursor is None:
        return None
    at, _, trial = cursor.partition(" ")
    try:
        return float(at), trial
    except ValueError as error:
        raise BadCursor(cursor) from error
