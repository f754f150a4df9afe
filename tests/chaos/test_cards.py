"""A server is killed in every moment of a card's life: its work is committed once, merged once, and never hidden."""

import os
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import get_args

import pytest

from tests.amounts import IS_SOAK
from tests.chaos.carding import CardWorld, Moment, card_world
from tests.databases import database_url, postgres, postgres_url, sqlite_url  # noqa: F401 - fixtures

MOMENTS: tuple[Moment, ...] = get_args(Moment)
DELAYS = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3)  # after the moment
ENDING_SECONDS = 0.05  # from the commit to about the end of the run
KILLS, AT_ONCE = 60, 6
SEED = int(os.environ.get("PITSTOP_SEED", "1"))


async def test_work_whose_server_was_killed_while_a_flow_merged_it_is_merged_once(
    tmp_path: Path,
    sqlite_url: str,  # noqa: F811 - the fixture
) -> None:
    async with card_world(tmp_path, sqlite_url, SEED) as world:
        await kill_at(world, "judging", 0.0)
        assert await world.judge() == []


if IS_SOAK:

    @pytest.mark.timeout(900)
    @pytest.mark.parametrize("moment", MOMENTS)
    async def test_a_server_that_is_killed_at_any_moment_leaves_a_card_that_goes_on(
        tmp_path: Path,
        database_url: str,
        moment: Moment,
    ) -> None:
        async with card_world(tmp_path, database_url, SEED) as world:
            for delay in DELAYS:
                await kill_at(world, moment, delay)
            assert await world.judge() == []
        print(dict(world.repo.did))
        await world.repo.bare.fsck()

    @pytest.mark.timeout(900)
    async def test_cards_of_a_server_that_is_killed_again_and_again_are_each_worked_on_and_merged_once(
        tmp_path: Path,
        database_url: str,
    ) -> None:
        print(f"PITSTOP_SEED={SEED}")
        async with card_world(tmp_path, database_url, SEED) as world:
            lives = [partial(world.live, judged=number % 2 == 0) for number in range(AT_ONCE)]
            await world.repo.hit_often(lives, SEED, KILLS)
            assert await world.judge() == []
        print(dict(world.repo.did))
        await world.repo.bare.fsck()


async def kill_at(world: CardWorld, moment: Moment, delay_seconds: float) -> None:
    """Let one card live to its end, and kill the server at this moment of its life."""
    card, branch, mark = await world.new_card(judged=moment == "judging")
    main = world.repo.head("main")

    async def during(doing: Coroutine[None, None, object], *moments: Moment) -> None:
        """Do something, and kill the server meanwhile if this is the time for it."""
        places = {"main": world.repo.head("main"), branch: world.repo.head(branch) or main}

        def has_moved(branch: str) -> bool:
            return world.repo.head(branch) not in ("", places[branch])

        times: dict[Moment, Callable[[], bool]] = {
            "starting": lambda: world.repo.head(branch) != "",
            "running": mark.exists,
            "committing": partial(has_moved, branch),
            "ending": partial(has_moved, branch),
            "judging": partial(has_moved, "main"),
            "updating": partial(has_moved, branch),
            "approving": partial(has_moved, "main"),
        }
        if moment in moments:
            later = ENDING_SECONDS if moment == "ending" else 0.0
            await world.repo.hit_during(doing, times[moment], delay_seconds + later)
        else:
            await doing

    await during(work(world, card), "starting", "running", "committing", "ending", "judging")
    if moment == "judging":
        world.approved[card] += 1
        return
    await world.repo.write(f"{card}.md", "base\n")
    await during(world.do(card, "update-branch"), "updating")
    await world.settled(card, "in_review")
    await during(world.approve(card), "approving")


async def work(world: CardWorld, card: str) -> None:
    await world.start(card)
    await world.settled(card, "done" if "judged" in (await world.look(card))["labels"] else "in_review")
