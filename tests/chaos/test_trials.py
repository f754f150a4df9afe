"""A server is killed in every state of a trial: it ends, its result is stored once, and it never hides what runs."""

import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import get_args

import pytest

from pitstop.platform.playground.trial_values import KEPT, SAVED
from tests.amounts import IS_SOAK
from tests.chaos.trialing import BY_SERVER, BY_USER, HANGS, WORK, Moment, TrialWorld, trial_world
from tests.databases import database_url, postgres, postgres_url, sqlite_url  # noqa: F401 - fixtures
from tests.executors.processes import processes_with
from tests.patience import wait_until

MOMENTS: tuple[Moment, ...] = get_args(Moment)
DELAYS = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3)  # after the moment
KILLS, AT_ONCE = 60, 6
SEED = int(os.environ.get("PITSTOP_SEED", "1"))


async def test_the_result_of_a_trial_whose_server_was_killed_while_it_was_stored_is_stored_once(
    tmp_path: Path,
    sqlite_url: str,  # noqa: F811 - the fixture
) -> None:
    async with trial_world(tmp_path, sqlite_url, SEED) as world:
        await kill_at(world, "committing", 0.0)
        assert await world.judge() == []


if IS_SOAK:

    @pytest.mark.timeout(900)
    @pytest.mark.parametrize("moment", MOMENTS)
    async def test_a_server_that_is_killed_at_any_moment_leaves_a_trial_that_ends_and_says_what_runs(
        tmp_path: Path,
        database_url: str,
        moment: Moment,
    ) -> None:
        async with trial_world(tmp_path, database_url, SEED) as world:
            for delay in DELAYS:
                await kill_at(world, moment, delay)
            assert await world.judge() == []
        print(dict(world.repo.did))
        await world.repo.bare.fsck()

    @pytest.mark.timeout(900)
    async def test_trials_of_a_server_that_is_killed_again_and_again_all_end_and_are_each_stored_once(
        tmp_path: Path,
        database_url: str,
    ) -> None:
        print(f"PITSTOP_SEED={SEED}")
        async with trial_world(tmp_path, database_url, SEED) as world:
            await world.repo.hit_often([world.live] * AT_ONCE, SEED, KILLS)
            assert await world.judge() == []
        print(dict(world.repo.did))
        await world.repo.bare.fsck()


async def kill_at(world: TrialWorld, moment: Moment, delay_seconds: float) -> None:
    """Let one trial live to its end, and kill the server at this moment of its life."""
    repo, is_cancelled = world.repo, moment == "cancelling"
    places = {name: next_branch(world, name) for name in (BY_SERVER, BY_USER)}
    save = BY_SERVER if moment == "saving" else None
    trial = await world.new_trial(HANGS if is_cancelled else WORK, save=save)
    mark, result = world.mark(trial), f"{KEPT}{trial['id']}"
    times: dict[Moment, Callable[[], bool]] = {
        "queued": lambda: True,
        "running": mark.exists,
        "cancelling": mark.with_suffix(".told").exists,
        "committing": lambda: repo.ref(result) != "",
        "saving": lambda: repo.head(places[BY_SERVER]) != "",
        "ended": lambda: repo.head(places[BY_USER]) != "",
        "deleting": lambda: repo.ref(result) == "",
    }

    async def during(doing: Coroutine[None, None, object], *moments: Moment) -> None:
        """Do something, and kill the server meanwhile if this is the time for it."""
        if moment in moments:
            await repo.hit_during(doing, times[moment], delay_seconds)
        else:
            await doing

    usual = "cancelled" if is_cancelled else "passed"
    is_early = moment in ("queued", "running", "cancelling")  # the agent may have been killed with its server
    world.expected[trial["id"]] = (usual, "failed") if is_early else (usual,)
    if is_cancelled:
        await wait_until(mark.exists)
        assert processes_with(trial["run"])  # so that none are seen only where there are none
        await during(world.cancel(trial["id"]), "cancelling")
    await during(world.settled(trial["id"]), "queued", "running", "committing", "saving")
    if moment in ("ended", "deleting"):
        await during(world.save(trial["id"]), "ended")
        await during(world.delete(trial["id"]), "deleting")


def next_branch(world: TrialWorld, name: str) -> str:
    """The branch that the next result is saved to under a name."""
    number = 1
    while world.repo.head(branch := f"{SAVED}{name}-{number:03d}"):
        number += 1
    return branch
