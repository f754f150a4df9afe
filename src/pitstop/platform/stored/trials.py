"""Trials in the database: a change and what the feed tells of it are one transaction."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Double,
    Index,
    Row,
    Table,
    and_,
    delete,
    func,
    insert,
    or_,
    select,
    text,
    update,
)

from pitstop.errors import TooMany, Unknown
from pitstop.platform.live_state import Live
from pitstop.platform.lives import TrialState, trial_states_before
from pitstop.platform.playground.limits import KEPT_SECONDS, MOST_A_MINUTE, MOST_KEPT, MOST_RUNNING
from pitstop.platform.playground.trial_values import TrialRecord
from pitstop.platform.stored.feed import add_news
from pitstop.platform.stored.firings import NewFiring, StoredFirings, firings
from pitstop.platform.stored.repos import repos
from pitstop.store.port import ENDED, Status
from pitstop.store.sql.columns import AnyText, Packed
from pitstop.store.sql.database import Database, telling_problems
from pitstop.store.sql.schema import metadata, runs

PROMPT_IN_LISTS = 500  # characters

T = TypeVar("T")

_OPEN = text("ended_at IS NULL")

trials = Table(
    "trials",
    metadata,
    Column("id", AnyText, primary_key=True),
    Column("repo", AnyText, nullable=False),
    Column("group", AnyText, nullable=False),
    Column("ref", AnyText),
    Column("sha", AnyText, nullable=False),
    Column("profile", AnyText, nullable=False),
    Column("prompt", AnyText, nullable=False),
    Column("settings", Packed, nullable=False),
    Column("text", AnyText, nullable=False),
    Column("run", AnyText, nullable=False),
    Column("firing", BigInteger, nullable=False),
    Column("state", AnyText, nullable=False),
    Column("reason", AnyText),
    Column("to_sha", AnyText),
    Column("branch", AnyText),
    Column("live", Packed, nullable=False),
    Column("by", AnyText, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("started_at", Double),
    Column("ended_at", Double),
    Index("trials_by_age", "created_at", "id"),
    Index("trials_by_repo", "repo", "created_at", "id"),
    Index("trials_by_run", "run", unique=True),
    Index("trials_open", "repo", sqlite_where=_OPEN, postgresql_where=_OPEN),
)


class EndedTrial(Struct, frozen=True):
    """A trial whose run has ended, or never began: then it has no status, and the reason is that of its firing."""

    trial: TrialRecord
    status: Status | None
    reason: str | None
    started_at: float | None
    ended_at: float | None


class StoredTrials:
    """The rows of trials. How a trial ends is stored once, however often its end is seen."""

    def __init__(self, database: Database, stored_firings: StoredFirings) -> None:
        self._database = database
        self._firings = stored_firings

    async def transact(self, work: Callable[[Connection], T]) -> T:
        with telling_problems():
            return await self._database.transact(work)

    async def add(self, made: Sequence[tuple[TrialRecord, NewFiring]]) -> tuple[TrialRecord, ...]:
        """Store trials of one repository and caller, with what starts them. TooMany."""

        def work(connection: Connection) -> tuple[TrialRecord, ...]:
            self._database.lock_feed(connection)  # one at a time, so that the counts are right
            self._check_room(connection, made[0][0], len(made))
            return tuple(self._add_in(connection, trial, firing) for trial, firing in made)

        return await self.transact(work)

    def _check_room(self, connection: Connection, trial: TrialRecord, count: int) -> None:
        new = (trials.c.by == trial.by, trials.c.created_at > trial.created_at - 60)
        if _count(connection, *new) + count > MOST_A_MINUTE:
            raise TooMany(f"at most {MOST_A_MINUTE} trials a minute can be started: wait a moment")
        if _count(connection, trials.c.repo == trial.repo, trials.c.ended_at.is_(None)) + count > MOST_RUNNING:
            raise TooMany(f"at most {MOST_RUNNING} trials can run in repository {trial.repo!r}: cancel one, or wait")

    def _add_in(self, connection: Connection, trial: TrialRecord, firing: NewFiring) -> TrialRecord:
        added = replace(trial, firing=self._firings.add(connection, firing).id)
        packed = {name: msgspec.to_builtins(getattr(added, name)) for name in ("settings", "live")}
        connection.execute(insert(trials).values({**msgspec.structs.asdict(added), **packed}))
        self._tell(connection, added, "trial.started", added.state)
        return added

    # Reading

    async def get(self, trial: str) -> TrialRecord:
        """Unknown."""
        rows = await self._database.rows(select(trials).where(trials.c.id == trial))
        if not rows:
            raise Unknown("trial", trial, "it was deleted, or has been forgotten after 7 days")
        return _to_trial(rows[0])

    async def in_group(self, group: str) -> tuple[TrialRecord, ...]:
        """In the order in which they were created."""
        wanted = select(trials).where(trials.c.group == group).order_by(trials.c.created_at)
        return tuple(map(_to_trial, await self._database.rows(wanted)))

    async def of_run(self, run: str) -> TrialRecord | None:
        rows = await self._database.rows(select(trials).where(trials.c.run == run))
        return _to_trial(rows[0]) if rows else None

    async def newest(self, repo: str | None, before: tuple[float, str] | None, limit: int) -> tuple[TrialRecord, ...]:
        """With the beginnings of their prompts. `before` is the time and the id of the last one of a page."""
        shown = [each for each in trials.c if each.name != "prompt"]
        prompt = func.substr(trials.c.prompt, 1, PROMPT_IN_LISTS).label("prompt")
        wanted = select(*shown, prompt).order_by(trials.c.created_at.desc(), trials.c.id.desc()).limit(limit)
        if repo is not None:
            wanted = wanted.where(trials.c.repo == repo)
        if before is not None:
            at, trial = before
            same = and_(trials.c.created_at == at, trials.c.id < trial)
            wanted = wanted.where(or_(trials.c.created_at < at, same))
        return tuple(map(_to_trial, await self._database.rows(wanted)))

    async def running(self, home: str) -> set[str]:
        """The runs of the trials that have not ended, in the repositories of this home."""
        joined = select(trials.c.run).join(repos, repos.c.id == trials.c.repo)
        rows = await self._database.rows(joined.where(trials.c.ended_at.is_(None), repos.c.home == home))
        return {row.run for row in rows}

    async def cancelling(self, home: str) -> tuple[TrialRecord, ...]:
        joined = select(trials).join(repos, repos.c.id == trials.c.repo)
        is_wanted = (trials.c.ended_at.is_(None), trials.c.state == "cancelling", repos.c.home == home)
        return tuple(map(_to_trial, await self._database.rows(joined.where(*is_wanted))))

    async def ended(self, home: str) -> tuple[EndedTrial, ...]:
        """The trials of this home whose runs are over, until that is stored."""
        of_run = [runs.c[name].label(f"run_{name}") for name in ("status", "error", "started_at", "ended_at")]
        found = select(trials, *of_run, firings.c.reason.label("refusal"))
        joined = (
            found.join(repos, repos.c.id == trials.c.repo)
            .outerjoin(runs, runs.c.id == trials.c.run)
            .outerjoin(firings, firings.c.id == trials.c.firing)
        )
        is_settled = and_(runs.c.id.is_(None), firings.c.outcome.is_distinct_from("pending"))
        is_over = or_(runs.c.status.in_(ENDED), is_settled)
        rows = await self._database.rows(joined.where(trials.c.ended_at.is_(None), repos.c.home == home, is_over))
        return tuple(map(_to_ended, rows))

    # Changes

    async def move(self, trial: TrialRecord, state: TrialState, **fields: Any) -> bool:
        """Store another state; False when the present one does not allow it."""
        is_it = (trials.c.id == trial.id, trials.c.state.in_(trial_states_before(state)))
        kind = "trial.ended" if "ended_at" in fields else "trial.progress"
        return await self._update(trial, is_it, {**fields, "state": state}, kind, state)

    async def end(self, ended: EndedTrial, state: TrialState, reason: str | None) -> bool:
        """Store how a trial ended; False when that is stored already."""
        at = self._database.now if ended.ended_at is None else ended.ended_at
        return await self.move(ended.trial, state, reason=reason, started_at=ended.started_at, ended_at=at)

    async def note_progress(self, run: str, live: Live, status: str) -> None:
        """Store what the agent of a run is doing, and that it has begun."""
        trial = await self.of_run(run)
        if trial is None or trial.ended_at is not None:
            return
        if trial.state == "queued" and status in ("running", "paused"):
            await self.move(trial, "running", live=msgspec.to_builtins(live), started_at=self._database.now)
            return
        is_it = (trials.c.id == trial.id, trials.c.ended_at.is_(None))
        await self._update(trial, is_it, {"live": msgspec.to_builtins(live)}, "trial.progress", trial.state)

    async def note_commit(self, trial: TrialRecord, to_sha: str | None) -> None:
        changed = update(trials).where(trials.c.id == trial.id).values(to_sha=to_sha)
        await self.transact(lambda connection: connection.execute(changed))

    async def note_branch(self, trial: TrialRecord, branch: str) -> None:
        is_it = (trials.c.id == trial.id,)
        await self._update(trial, is_it, {"branch": branch}, "trial.saved", trial.state, branch=branch)

    async def delete(self, trial: TrialRecord) -> bool:
        """False for one that is running."""
        gone = delete(trials).where(trials.c.id == trial.id, trials.c.ended_at.is_not(None))

        def work(connection: Connection) -> bool:
            is_gone = connection.execute(gone).rowcount > 0
            if is_gone:
                self._tell(connection, trial, "trial.deleted", trial.state)
            return is_gone

        return await self.transact(work)

    async def forget_old(self, repo: str) -> set[str]:
        """Delete what is old or too much in a repository; the ids of those that remain."""
        newest = select(trials.c.id).where(trials.c.repo == repo)
        newest = newest.order_by(trials.c.created_at.desc(), trials.c.id.desc()).limit(MOST_KEPT)
        is_old = or_(trials.c.created_at < self._database.now - KEPT_SECONDS, trials.c.id.not_in(newest))
        is_it = (trials.c.repo == repo, trials.c.ended_at.is_not(None), is_old)
        await self._database.delete(delete(trials).where(*is_it))
        return {row.id for row in await self._database.rows(select(trials.c.id).where(trials.c.repo == repo))}

    async def _update(
        self, trial: TrialRecord, is_it: Sequence[Any], row: dict[str, Any], kind: str, state: TrialState, **body: Any
    ) -> bool:
        def work(connection: Connection) -> bool:
            is_changed = connection.execute(update(trials).where(*is_it).values(row)).rowcount > 0
            if is_changed:
                self._tell(connection, trial, kind, state, **body)
            return is_changed

        return await self.transact(work)

    def _tell(self, connection: Connection, trial: TrialRecord, kind: str, state: TrialState, **body: Any) -> None:
        told = {"trial": trial.id, "group": trial.group, "state": state, "run": trial.run, **body}
        add_news(self._database, connection, f"repo:{trial.repo}", kind, told)


def _count(connection: Connection, *wanted: Any) -> int:
    return int(connection.execute(select(func.count()).select_from(trials).where(*wanted)).scalar_one())


def _to_ended(row: "Row[Any]") -> EndedTrial:
    reason = row.refusal if row.run_status is None else row.run_error
    return EndedTrial(_to_trial(row), row.run_status, reason, row.run_started_at, row.run_ended_at)


def _to_trial(row: "Row[Any]") -> TrialRecord:
    return msgspec.convert({name: getattr(row, name) for name in TrialRecord.__struct_fields__}, TrialRecord)
