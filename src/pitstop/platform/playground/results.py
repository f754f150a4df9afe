"""The results of trials: commits that hidden refs store, and the branches that they are saved to."""

from collections.abc import AsyncIterable, Mapping
from typing import Any

from msgspec.structs import replace

from pitstop.errors import CommandRefused, RefMoved
from pitstop.git.bare import BareRepository
from pitstop.git.commands import run_git
from pitstop.git.incoming import commit_tree, receive_tree
from pitstop.git.names import BRANCHES, ZEROS
from pitstop.platform.cards.changing import CardBench
from pitstop.platform.cards.limits import COMMIT_BYTES
from pitstop.platform.open_repos import OpenRepo
from pitstop.platform.playground.trial_values import KEPT, SAVED, TrialRecord
from pitstop.platform.stored.trials import StoredTrials
from pitstop.store.port import RunRecord

AUTHOR = "Pitstop trial"
MOST_TRIES = 20  # to find a free number
MOST_NAMED = 10  # files in an error


class TrialResults:
    """Stores what trials have changed. No branch moves, until a result is saved to a new one."""

    def __init__(self, trials: StoredTrials, bench: CardBench) -> None:
        self._trials = trials
        self._bench = bench

    async def opened(self, trial: TrialRecord) -> OpenRepo:
        """RepoElsewhere, RepoNotReady."""
        return await self._bench.opened.ready(await self._bench.repos.get(trial.repo))

    async def commit(self, record: RunRecord, tree: str, pack: AsyncIterable[bytes], message: str) -> Mapping[str, Any]:
        """Store the tree of a run as the result of its trial; once more if it has gone back. CommandRefused."""
        trial = await self._trials.of_run(record.id)
        if trial is None:
            raise CommandRefused("only the first run of a trial stores its result: start the trial again")
        opened = await self.opened(trial)
        await receive_tree(opened.bare, tree, pack, trial.sha, limit_bytes=COMMIT_BYTES)
        await _check_files(opened.bare, trial, tree)
        stored = await opened.bare.commit_at(trial.kept)
        is_changed = await opened.bare.tree_of(trial.sha) != tree
        if not is_changed and stored is not None:
            await opened.bare.delete_refs([(trial.kept, stored)], AUTHOR)
        sha = stored if is_changed else None
        if is_changed and (stored is None or await opened.bare.tree_of(stored) != tree):
            text = f"{message.strip()}\nRun: {record.id}\n"
            sha = await commit_tree(opened.bare, tree, (trial.sha,), text, AUTHOR)
            reason = f"pitstop: trial run={record.id}"
            await opened.bare.move(trial.kept, sha, stored or ZEROS, who=AUTHOR, message=reason)
        await self._trials.note_commit(trial, sha)
        return {"sha": sha, "branch": trial.kept, "is_changed": is_changed}

    async def found(self, trial: TrialRecord) -> TrialRecord:
        """The trial with its result, also if its run was cancelled when that was stored, but not noted."""
        if trial.to_sha is None:
            sha = await (await self.opened(trial)).bare.commit_at(trial.kept)
            if sha is not None:
                await self._trials.note_commit(trial, sha)
                return replace(trial, to_sha=sha)
        return trial

    async def save(self, trial: TrialRecord, name: str, who: str) -> str:
        """The new branch with the result, or the one of this name that has it already. CommandRefused, RefMoved."""
        if trial.to_sha is None:
            raise CommandRefused(f"trial {trial.id} has changed nothing{'' if trial.ended_at else ' yet'}")
        opened = await self.opened(trial)
        prefix = f"{BRANCHES}{SAVED}{name}-"
        for tries_left in reversed(range(MOST_TRIES)):
            refs = {ref: at.sha for ref, at in (await opened.bare.refs()).items() if ref.startswith(prefix)}
            numbers = {int(end): sha for ref, sha in refs.items() if (end := ref.removeprefix(prefix)).isdecimal()}
            found = next((number for number, sha in numbers.items() if sha == trial.to_sha), None)
            branch = f"{prefix}{found or max(numbers, default=0) + 1:03d}"
            if found is None:
                reason = f"pitstop: write run={trial.run}"
                try:
                    await opened.bare.move(branch, trial.to_sha, ZEROS, who=who, message=reason)
                except RefMoved:
                    if not tries_left:
                        raise
                    continue
            await self._trials.note_branch(trial, branch.removeprefix(BRANCHES))
            return branch.removeprefix(BRANCHES)
        raise AssertionError("the last try returns or raises")

    async def forget_old(self, opened: OpenRepo) -> None:
        """Delete old trials of a repository, and the results of all that were deleted."""
        printed = await run_git(opened.bare.folder, "for-each-ref", "--format=%(refname) %(objectname)", KEPT)
        found = [line.split(" ") for line in printed.decode().splitlines()]
        remaining = await self._trials.forget_old(opened.id)
        gone = [(ref, sha) for ref, sha in found if ref.removeprefix(KEPT) not in remaining]
        if gone:
            await opened.bare.delete_refs(gone, AUTHOR)


async def _check_files(bare: BareRepository, trial: TrialRecord, tree: str) -> None:
    """CommandRefused if the agent has changed a file that it must not change."""
    if trial.settings.input != "file":
        return
    changed = await bare.changed_paths(trial.sha, tree)
    others = [path for path in changed.paths if path != trial.settings.path]
    if others:
        shown = ", ".join(others[:MOST_NAMED]) + (
            f" and {len(others) - MOST_NAMED} more" if others[MOST_NAMED:] else ""
        )
        raise CommandRefused(f"only {trial.settings.path} may change in this trial, but the agent changed {shown}")
