"""The lives of repositories and firings: every move that the tables allow is made, and no other."""

from collections.abc import AsyncIterator
from itertools import count, product
from pathlib import Path
from typing import get_args

import pytest

from pitstop.errors import GitProblem, RepoNotReady
from pitstop.platform.lives import FIRING_MOVES, REPO_MOVES, FiringOutcome, RepoState
from pitstop.platform.repo_values import FiringRecord, RepoRecord
from pitstop.platform.stored.all import Stored, stored_in
from pitstop.platform.stored.firings import NewFiring, StoredFirings
from pitstop.platform.stored.repos import StoredRepos
from pitstop.service.caller import LOCAL
from pitstop.service.repos import NewRepo
from pitstop.store.sql.store import open_sql_store
from tests.platform.workbench import PASSES, Workbench

STATES: tuple[RepoState, ...] = get_args(RepoState)
OUTCOMES: tuple[FiringOutcome, ...] = get_args(FiringOutcome)
NEEDS_INPUT = "on: push\ninputs: {size: {description: How large}}\nsteps: [{run: 'true'}]\n"
FOR_RELEASES = "on: {push: {branches: [release]}}\nsteps: [{run: 'true'}]\n"
NUMBERS = count(1)


@pytest.fixture
async def stored(database_url: str) -> AsyncIterator[Stored]:
    store = await open_sql_store(database_url)
    yield stored_in(store.database, store.news)
    await store.close()


async def test_a_repository_makes_the_moves_of_its_table_and_no_others(stored: Stored) -> None:
    made = set()
    for before, after in product(STATES, STATES):
        repo = f"shop-{next(NUMBERS)}"
        record = RepoRecord(id=repo, title=repo, default_branch="main", home="home", state=before, created_at=0.0)
        await stored.repos.add(record)
        try:
            await stored.repos.move(repo, after)
        except RepoNotReady:
            assert (await stored.repos.get(repo)).state == before
        else:
            assert (await stored.repos.get(repo)).state == after
            made.add((before, after))
    assert made == {(before, after) for before, allowed in REPO_MOVES.items() for after in allowed}


async def test_a_firing_makes_the_moves_of_its_table_and_no_others(stored: Stored) -> None:
    made = set()
    for before, after in product(OUTCOMES, OUTCOMES):
        new = NewFiring(repo="shop", flow="ci", kind="push", outcome=before, who="ada", subject={}, run="run")
        firing = await stored.firings.add_one(new)
        is_moved = await stored.firings.settle(firing, after, "because")
        found = await stored.firings.get(firing.id)
        assert found is not None
        assert (found.outcome, found.reason) == ((after, "because") if is_moved else (before, None))
        if is_moved:
            made.add((before, after))
    assert made == {(before, after) for before, allowed in FIRING_MOVES.items() for after in allowed}


async def test_a_server_moves_repositories_in_every_way_that_is_allowed(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: set[tuple[RepoState, RepoState]] = set()
    move = StoredRepos.move

    async def noting(self: StoredRepos, repo: str, state: RepoState, error: str | None = None) -> None:
        before = (await self.get(repo)).state
        await move(self, repo, state, error)
        made.add((before, state))

    monkeypatch.setattr(StoredRepos, "move", noting)
    names = [f"{bench.repo}-{number}" for number in range(4)]
    for name in names[:2]:  # a file is where the repository is to be
        obstacle = bench.settings.repos / f"{name}.git"
        obstacle.write_text("")
        with pytest.raises(GitProblem):
            await bench.repos.create(LOCAL, NewRepo(name=name))
        obstacle.unlink()
    again = await bench.repos.create(LOCAL, NewRepo(name=names[0], ingest=True))
    filling = await bench.repos.create(LOCAL, NewRepo(name=names[2], ingest=True))
    created = await bench.repos.create(LOCAL, NewRepo(name=names[3]))
    states = [again.state, (await bench.repos.get(LOCAL, names[1])).state, filling.state, created.state]
    assert states == ["creating", "failed", "creating", "ready"]
    for name in names:
        await bench.repos.delete(LOCAL, name)

    assert made == {(before, after) for before, allowed in REPO_MOVES.items() for after in allowed}
    assert not [repo.id for repo in await bench.repos.list(LOCAL) if repo.id in names]


async def test_a_server_settles_each_firing_once(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[str, FiringOutcome]] = []
    settle = StoredFirings.settle

    async def noting(
        self: StoredFirings, firing: FiringRecord, outcome: FiringOutcome, reason: str | None = None
    ) -> bool:
        assert firing.outcome == "pending"
        is_moved = await settle(self, firing, outcome, reason)
        if is_moved:
            made.append((firing.flow, outcome))
        return is_moved

    monkeypatch.setattr(StoredFirings, "settle", noting)
    flows = {
        "passes": PASSES,
        "refused": NEEDS_INPUT,
        "skipped": "on: {push: {branches: [x]}}\nsteps: [{run: 'true'}]\n",
    }
    first = await bench.commit({f".pitstop/flows/{name}.yaml": text for name, text in flows.items()})
    await bench.push()
    await bench.firings()
    await bench.commit()
    await bench.push()
    await bench.push("--force", f"{first}:main")

    found = [(each.flow, each.outcome) for each in await bench.firings()]
    once = [("passes", "started"), ("refused", "refused"), ("skipped", "skipped")]
    assert sorted(found) == sorted([*once, *once, ("passes", "duplicate"), ("refused", "duplicate"), once[2]])
    assert sorted(made) == sorted([once[0], once[1]] * 2)


async def test_a_repository_that_was_being_deleted_is_gone_after_the_next_start(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    async with bench.open():
        await bench.create()
        await bench.push_flow()
        await bench.runs()
    store = await open_sql_store(bench.settings.database)
    await stored_in(store.database, store.news).repos.move("shop", "deleting")  # and then the server was killed
    await store.close()

    async with bench.open():
        assert await bench.repos.list(LOCAL) == ()
        assert not bench.bare.exists()
