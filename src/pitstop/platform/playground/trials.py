"""The trials of a server: everything that is done with them, and the chore that lets them end with their runs."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress

from pitstop.engine.ports import Clock
from pitstop.errors import CommandRefused, GitProblem, PitstopError, RefMoved
from pitstop.git.names import BRANCHES, ZEROS
from pitstop.platform.cards.card_info import NewCard
from pitstop.platform.cards.card_values import CardRecord, Work
from pitstop.platform.cards.cards import CardWork
from pitstop.platform.cards.work_flows import branch_name
from pitstop.platform.playground.limits import check_save_name
from pitstop.platform.playground.results import TrialResults
from pitstop.platform.playground.starting import TrialStarter
from pitstop.platform.playground.trial_values import NewTrial, TrialRecord
from pitstop.platform.repo_values import RepoRecord
from pitstop.platform.run_progress import RunProgress, follow_runs
from pitstop.platform.stored.all import Stored
from pitstop.platform.stored.trials import EndedTrial
from pitstop.platform.work_runs import WorkRuns, outcome_of

BY_USER = "the trial was cancelled"
UNCHANGED = "the agent changed nothing"

log = logging.getLogger(__name__)


class TrialWork:
    """All that is done with trials. `follow` runs while the server does; `on_moved` is told of new branches."""

    def __init__(
        self,
        stored: Stored,
        cards: CardWork,
        runs: WorkRuns,
        clock: Clock,
        on_moved: Callable[[str], Awaitable[None]],
    ) -> None:
        self.trials = stored.trials
        self.starter = TrialStarter(stored.trials, cards.bench, clock)
        self.results = TrialResults(stored.trials, cards.bench)
        self._logs = stored.run_logs
        self._progress = RunProgress(stored.run_logs, stored.trials)
        self._cards = cards
        self._bench = cards.bench
        self._runs = runs
        self._clock = clock
        self._on_moved = on_moved
        self._looking = asyncio.Lock()  # what a log says is counted once
        self._cancelled: set[str] = set()  # runs; one that is cancelled again ends at once, without cleaning up

    async def again(self, trial: str, who: str, group: str | None) -> TrialRecord:
        """A new trial with the same settings, at where its branch is now. As `create`."""
        old = await self.trials.get(trial)
        new = NewTrial(repo=old.repo, profiles=(old.profile,), prompt=old.prompt, settings=old.settings, group=group)
        (made,) = await self.starter.create(new, who)
        return made

    async def cancel(self, trial: str) -> TrialRecord:
        """End the run of a trial and wait for that, up to a limit. CommandRefused for one that has ended."""
        record = await self.trials.get(trial)
        self._cancelled.add(record.run)
        try:
            is_moved = await self.trials.move(record, "cancelling")
            if not is_moved and (await self.trials.get(trial)).ended_at is not None:
                raise CommandRefused(f"trial {trial} has ended, so it cannot be cancelled")
            await self._runs.end(record.run, BY_USER)  # it stays `cancelling` until nothing runs
        finally:
            self._cancelled.discard(record.run)
        async with self._looking:
            await self._settle_all()
        return await self.trials.get(trial)

    async def save(self, trial: str, name: str, who: str) -> TrialRecord:
        """BadRequest, CommandRefused."""
        await self.results.save(await self.trials.get(trial), check_save_name(name), who)
        record = await self.trials.get(trial)
        await self._on_moved(record.repo)
        return record

    async def delete(self, trial: str) -> TrialRecord:
        """CommandRefused for one that is running."""
        record = await self.trials.get(trial)
        opened = await self.results.opened(record)
        if not await self.trials.delete(record):
            raise CommandRefused(f"trial {trial} is running: cancel it first")
        if record.to_sha is not None:
            with suppress(RefMoved, GitProblem):  # then the next upkeep deletes it
                await opened.bare.delete_refs([(record.kept, record.to_sha)], record.by)
        return record

    async def make_card(self, trial: str, title: str, who: str) -> CardRecord:
        """A card for the same agent and prompt: in review with what the trial changed, or in todo. BadCard."""
        record = await self.trials.get(trial)
        repo = await self._bench.repos.get(record.repo)
        opened = await self._bench.opened.ready(repo)
        settings = record.settings
        work = Work(agent=record.profile, prompt=record.prompt, model=settings.model, budget=settings.budget)
        base = record.ref if await opened.bare.head_of(record.ref) else None
        card = await self._cards.create(repo, NewCard(title=title, work=work, base=base), who)
        if record.to_sha is None or settings.input == "text":
            return card
        branch = branch_name(card.number, card.title)
        reason = f"pitstop: card {card.id} begins here"
        await opened.bare.move(f"{BRANCHES}{branch}", record.to_sha, ZEROS, who=who, message=reason)
        fields = {"branch": branch, "base_sha": record.sha, "head_sha": record.to_sha}
        async with self._bench.changing(card.id) as present:
            begun = await self._bench.cards.move(present, "in_progress", **fields)
            judges = await self._bench.judges_of(repo, opened, begun, "in_review", record.to_sha, 1)
            reviewed = await self._bench.move_judged(begun, "in_review", judges)
        await self._on_moved(repo.id)
        return reviewed

    async def keep_up(self, repo: RepoRecord) -> None:
        """Forget old trials of a repository, with their results."""
        if repo.state != "ready":
            return
        try:
            await self.results.forget_old(self._bench.opened.get(repo.id))
        except (PitstopError, OSError) as error:
            log.warning("repository %s: cannot forget old trials now: %s", repo.id, error)

    # Following their runs

    async def follow(self) -> None:
        """Show what running trials do, and let them end with their runs; never returns."""
        await follow_runs(self._logs, self._clock, self._look)

    async def _look(self, changed: Collection[str]) -> None:
        async with self._looking:
            await self._progress.look(self._bench.opened.home, changed)
            for trial in await self.trials.cancelling(self._bench.opened.home):
                await self._cancel(trial.run)  # the server may have been killed before it was told
            await self._settle_all()

    async def _cancel(self, run: str) -> None:
        """Cancel a run once: there may be none, or none yet."""
        if run not in self._cancelled and await self._runs.cancel(run, BY_USER) is not None:
            self._cancelled.add(run)

    async def _settle_all(self) -> None:
        for ended in await self.trials.ended(self._bench.opened.home):
            try:
                await self._settle(ended)
            except (PitstopError, OSError) as error:
                log.warning("trial %s: cannot store its end: %s", ended.trial.id, error)

    async def _settle(self, ended: EndedTrial) -> None:
        trial = ended.trial
        with suppress(PitstopError, OSError):  # a repository that cannot be read keeps no trial from ending
            trial = await self.results.found(trial)
        state, reason = outcome_of(ended.status, ended.reason)
        if state == "passed" and trial.to_sha is None:
            reason = UNCHANGED
        if trial.settings.save is not None and trial.to_sha is not None and trial.branch is None:
            try:
                await self.results.save(trial, trial.settings.save, trial.by)
            except (PitstopError, OSError) as error:
                reason = f"{reason}; cannot save the result: {error}" if reason else f"cannot save the result: {error}"
            else:
                await self._on_moved(trial.repo)
        await self._progress.look(self._bench.opened.home, [trial.run])  # to the end of its log
        await self.trials.end(ended, state, reason)
        self._cancelled.discard(trial.run)
