"""The lives of trials: the moves that their table allows, limits, restarts in every state, and what is forgotten."""

import time
from collections.abc import AsyncIterator
from itertools import product
from pathlib import Path
from typing import get_args

import pytest
from msgspec import structs, to_builtins
from msgspec.structs import replace
from sqlalchemy import insert, update

from pitstop.errors import TooMany
from pitstop.platform.lives import TRIAL_MOVES, TrialState
from pitstop.platform.playground.limits import KEPT_SECONDS, MOST_A_MINUTE, MOST_KEPT, MOST_RUNNING
from pitstop.platform.playground.trial_values import TrialInfo, TrialRecord, TrialSettings
from pitstop.platform.stored.all import Stored, stored_in
from pitstop.platform.stored.firings import NewFiring
from pitstop.platform.stored.trials import trials as rows
from pitstop.runs.run_ids import new_run_id
from pitstop.service.caller import LOCAL
from pitstop.store.sql.store import SqlStore, open_sql_store
from tests.patience import wait_until
from tests.platform.playground.test_trials import HANGS, is_alive
from tests.platform.playground.trial_bench import begin, end_of, fill, hidden_refs, playground_of, reach, tried
from tests.platform.workbench import Workbench

STATES: tuple[TrialState, ...] = get_args(TrialState)


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[SqlStore]:
    store = await open_sql_store(database_url)
    yield store
    await store.close()


@pytest.fixture
def stored(store: SqlStore) -> Stored:
    return stored_in(store.database, store.news)


def record(repo: str, by: str = "ada", created_at: float = 0.0) -> TrialRecord:
    run = new_run_id()
    return TrialRecord(
        id=f"t-{run}",
        repo=repo,
        group="g",
        profile="script",
        prompt="x",
        settings=TrialSettings(),
        sha="1" * 40,
        run=run,
        by=by,
        created_at=created_at,
        text="",
    )


def firing_of(trial: TrialRecord) -> NewFiring:
    subject = {"kind": "trial", "trial": {"id": trial.id}}
    return NewFiring(
        repo=trial.repo,
        flow="trial/script",
        kind="trial",
        outcome="pending",
        who=trial.by,
        subject=subject,
        sha=trial.sha,
        run=trial.run,
    )


async def test_a_trial_makes_the_moves_of_its_table_and_no_others(stored: Stored) -> None:
    made = set()
    for number, (before, after) in enumerate(product(STATES, STATES)):
        trial = replace(record("moves", f"user-{number}"), state=before, ended_at=1.0)
        (added,) = await stored.trials.add([(trial, firing_of(trial))])
        is_moved = await stored.trials.move(added, after)
        assert (await stored.trials.get(added.id)).state == (after if is_moved else before)
        if is_moved:
            made.add((before, after))
    assert made == {(before, after) for before, allowed in TRIAL_MOVES.items() for after in allowed}


async def test_there_are_limits_for_callers_and_for_repositories(stored: Stored) -> None:
    for number in range(MOST_A_MINUTE):
        trial = replace(record(f"limit-{number}", "eve", 1000.0), ended_at=1001.0)
        await stored.trials.add([(trial, firing_of(trial))])
    late = record("limit", "eve", 1059.0)
    with pytest.raises(TooMany, match="10 trials a minute"):
        await stored.trials.add([(late, firing_of(late))])
    later = replace(late, created_at=1061.0)
    await stored.trials.add([(later, firing_of(later))])

    running = [record("busy", "max") for _ in range(MOST_RUNNING)]
    await stored.trials.add([(trial, firing_of(trial)) for trial in running])
    late = record("busy", "zoe")
    with pytest.raises(TooMany, match="10 trials can run in repository 'busy'"):
        await stored.trials.add([(late, firing_of(late))])


async def test_of_the_trials_of_a_repository_the_newest_are_kept(store: SqlStore, stored: Stored) -> None:
    now = time.time()
    ages = range(MOST_KEPT + 2)
    ended = [replace(record("full", created_at=now - age), ended_at=now) for age in ages]
    running = record("full", created_at=now - MOST_KEPT - 2)
    values = [packed(trial) for trial in (*ended, running)]
    async with store.database.write() as connection:
        await connection.execute(insert(rows), values)
    remaining = await stored.trials.forget_old("full")
    assert remaining == {running.id, *(trial.id for trial in ended[:MOST_KEPT])}


def packed(trial: TrialRecord) -> dict[str, object]:
    return {**structs.asdict(trial), "settings": to_builtins(trial.settings), "live": to_builtins(trial.live)}


async def test_trials_of_every_state_survive_the_end_of_their_server_until_they_are_old(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    async with bench.open():
        await bench.create()
        await fill(bench)
        passed, old = [await tried(bench, f"echo {name} > b.txt") for name in ("passed", "old")]
        trials = {}
        for name in ("running", "cancelling"):
            (tmp_path / name).mkdir()
            trials[name] = await begin(bench, HANGS.format(tmp_path / name))
        for name, trial in trials.items():
            await reach(bench, trial.id, "running")
            await wait_until((tmp_path / name / "child").exists)
    processes = [int((tmp_path / name / "pid").read_text()) for name in trials]
    store = await open_sql_store(bench.settings.database)
    stored = stored_in(store.database, store.news)
    assert await stored.trials.move(await stored.trials.get(trials["cancelling"].id), "cancelling")
    model = await stored.trials.get(passed.id)
    for name in ("queued", "unstarted"):
        new = replace(record(bench.repo), sha=model.sha, text=model.text, prompt="echo late > late.txt")
        (trials[name],) = await stored.trials.add([(new, firing_of(new))])
    assert await stored.trials.move(await stored.trials.get(trials["unstarted"].id), "cancelling")
    await backdate(store, old, KEPT_SECONDS + 60)
    await store.close()

    async with bench.open():  # which begins with its upkeep
        ended = {name: await end_of(bench, trial) for name, trial in trials.items()}
        assert not any(is_alive(each) for each in processes)
        assert (ended["running"].state, ended["queued"].state) == ("failed", "passed"), ended
        assert (ended["unstarted"].state, ended["unstarted"].reason) == ("cancelled", "cancelled before it was started")
        assert ended["cancelling"].state in ("cancelled", "failed")  # whichever its run saw first
        diff = await playground_of(bench).diff(LOCAL, ended["queued"].id)
        assert [file.path for file in diff.files] == ["late.txt"]
        assert await playground_of(bench).get(LOCAL, passed.id) == passed
        assert old.id not in {each.id for each in (await playground_of(bench).list(LOCAL)).trials}

        async def refs() -> bool:
            present = {f"refs/pitstop/trials/{trial.id}" for trial in (passed, ended["queued"])}
            return set(await hidden_refs(bench)) == present

        await wait_until(refs)


async def test_a_result_that_was_stored_before_its_run_knew_is_found_when_the_trial_ends(own_bench: Workbench) -> None:
    await fill(own_bench)
    trial = await tried(own_bench, "echo two > b.txt")
    store = await open_sql_store(own_bench.settings.database)
    async with store.database.write() as connection:  # as a run leaves it that is cancelled while it commits
        changed = update(rows).where(rows.c.id == trial.id)
        await connection.execute(changed.values(state="cancelling", to_sha=None, ended_at=None))
    await store.close()
    await tried(own_bench, "true")  # at whose end all that have ended are looked at
    assert (await end_of(own_bench, trial)).to_sha == trial.to_sha
    await playground_of(own_bench).delete(LOCAL, trial.id)
    assert await hidden_refs(own_bench) == []


async def backdate(store: SqlStore, trial: TrialInfo, seconds: float) -> None:
    async with store.database.write() as connection:
        changed = update(rows).where(rows.c.id == trial.id)
        await connection.execute(changed.values(created_at=rows.c.created_at - seconds))
