"""What a repository stores is limited, and what is still to be done is never forgotten."""

from pathlib import Path

import pytest

from pitstop.platform.lives import FiringOutcome
from pitstop.platform.stored import firings as stored_firings
from pitstop.platform.stored.firings import NewFiring, StoredFirings
from pitstop.store.sql.store import open_sql_store


def firing(flow: str, outcome: FiringOutcome) -> NewFiring:
    return NewFiring(repo="shop", flow=flow, kind="push", outcome=outcome, who="eve", subject={})


async def test_of_the_firings_of_a_repository_the_newest_are_kept_and_those_that_are_pending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_firings, "MOST_KEPT", 2)
    store = await open_sql_store(f"sqlite:///{tmp_path}/store.db")
    try:
        stored = StoredFirings(store.database)
        first = await stored.add_one(firing("a", "pending"))
        others = [await stored.add_one(firing(flow, "skipped")) for flow in "bcd"]

        await stored.forget_old("shop")

        kept = [await stored.get(each.id) for each in (first, *others)]
        assert [each.flow for each in kept if each is not None] == ["a", "c", "d"]
    finally:
        await store.close()
