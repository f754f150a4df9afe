"""The statuses of a card: which it can get from which, by hand and by each verb."""

from collections.abc import AsyncIterator
from itertools import count, product
from typing import get_args

import pytest

from pitstop.errors import BadCard, BadMove, CardInProgress, CommandRefused, StaleCard, UnknownCard
from pitstop.platform.lives import CARD_MOVES, CardStatus
from pitstop.platform.repo_values import RepoRecord
from pitstop.platform.stored.all import Stored, stored_in
from pitstop.service.caller import LOCAL
from pitstop.service.cards import CardChanges, CardMove, Rejection, StartCard, Work
from pitstop.store.sql.store import open_sql_store
from tests.platform.card_bench import SCRIPT, at_once, card_of, card_row_in, cards_of, rows_of, worked, write
from tests.platform.workbench import Workbench

STATUSES: tuple[CardStatus, ...] = get_args(CardStatus)
NUMBERS = count(1)
TO_TODO = {("in_review", "todo"), ("failed", "todo"), ("done", "todo")}
INSTEAD = {  # what to do, where a move is more than that
    ("todo", "in_progress"): "start it",
    ("failed", "in_progress"): "retry it",
    ("in_review", "in_progress"): "retry it",
    ("in_review", "done"): "approve it",
    ("in_review", "failed"): "reject it",
}


@pytest.fixture
async def stored(database_url: str) -> AsyncIterator[Stored]:
    store = await open_sql_store(database_url)
    yield stored_in(store.database, store.news)
    await store.close()


@pytest.fixture
async def repo(stored: Stored) -> str:
    name = f"moves-{next(NUMBERS)}"
    await stored.repos.add(
        RepoRecord(id=name, title=name, default_branch="main", home="home", state="ready", created_at=0.0)
    )
    return name


async def test_a_card_makes_the_moves_of_its_table_and_no_others(stored: Stored, repo: str) -> None:
    made = set()
    for before, after in product(STATUSES, STATUSES):
        card = await card_row_in(stored, repo, before)
        try:
            moved = await stored.cards.move(card, after, reason="because")
        except BadMove as refused:
            assert str(refused).endswith(f"from there it can only get to {' or '.join(CARD_MOVES[before])}")
            assert await stored.cards.get(card.id) == card
        else:
            assert moved == await stored.cards.get(card.id)
            assert (moved.status, moved.reason, moved.version) == (after, "because", card.version + 1)
            made.add((before, after))
    assert made == {(before, after) for before, allowed in CARD_MOVES.items() for after in allowed}


async def test_a_change_of_a_card_that_has_changed_or_is_gone_is_refused(stored: Stored, repo: str) -> None:
    card = await card_row_in(stored, repo, "todo", labels=("a,b", "100%", "_"), description="a\0b\ud800")
    assert await stored.cards.get(card.id) == card
    changed = await stored.cards.change(card, title="Another")
    for late in (stored.cards.change(card, title="Late"), stored.cards.move(card, "in_progress")):
        with pytest.raises(StaleCard) as stale:
            await late
        assert stale.value.version == changed.version
    with pytest.raises(StaleCard):
        await stored.cards.delete(card)
    await stored.cards.delete(changed)
    with pytest.raises(UnknownCard):
        await stored.cards.change(changed, title="Late")


async def test_a_person_can_move_a_card_only_where_nothing_else_is_needed(bench: Workbench) -> None:
    await write(bench, "a.txt", "one\n")
    moved = set()
    async with rows_of(bench) as stored:
        for before, after in product(STATUSES, STATUSES):
            card = await card_row_in(stored, bench.repo, before)
            try:
                shown = await cards_of(bench).move(LOCAL, card.id, CardMove(status=after))
            except BadMove as refused:
                usual = f"from there it can only get to {' or '.join(CARD_MOVES[before])}"
                hint = "cancel it first" if before == "in_progress" else INSTEAD.get((before, after), usual)
                assert str(refused) == f"card {card.id} cannot move from {before} to {after}: {hint}"
                assert after not in (await cards_of(bench).get(LOCAL, card.id)).moves
            else:
                assert shown.status == after
                moved.add((before, after))
    assert moved == TO_TODO | {(status, status) for status in STATUSES}


async def test_a_card_that_people_work_on_is_moved_by_them_alone_and_done_when_it_is_approved(bench: Workbench) -> None:
    await write(bench, "a.txt", "one\n")
    cards = cards_of(bench)
    card = await card_of(bench, Work())
    with pytest.raises(BadCard, match="has no agent, script or flow: edit it, or move it by hand"):
        await cards.start(LOCAL, card.id)
    begun = await cards.move(LOCAL, card.id, CardMove(status="in_progress"))
    assert (begun.branch, begun.run, begun.moves) == ("card/1-do-it", None, ("in_review", "failed", "todo"))
    for status in ("failed", "in_progress", "todo", "in_progress"):
        await cards.move(LOCAL, card.id, CardMove(status=status))
    assert (await cards.cancel(LOCAL, card.id)).status == "todo"
    await cards.move(LOCAL, card.id, CardMove(status="in_progress"))
    sha = await write(bench, "b.txt", "two\n", "card/1-do-it")
    in_review = await cards.move(LOCAL, card.id, CardMove(status="in_review"))
    assert (in_review.head_sha, in_review.moves) == (sha, ("todo", "in_progress", "failed"))
    with pytest.raises(BadMove, match="approve it"):
        await cards.move(LOCAL, card.id, CardMove(status="done"))
    done = await cards.approve(LOCAL, card.id)
    assert (done.status, done.moves) == ("done", ("todo",))


async def test_a_card_that_has_had_a_run_can_be_moved_by_people_once_they_do_the_work(bench: Workbench) -> None:
    await write(bench, "a.txt", "one\n")
    cards = cards_of(bench)
    card = await worked(bench, Work(run="exit 3"))
    assert card.status == "failed"
    await cards.update(LOCAL, card.id, CardChanges(work=Work()))
    begun = await cards.move(LOCAL, card.id, CardMove(status="in_progress"))
    assert begun.moves == ("in_review", "failed", "todo")
    assert (await cards.cancel(LOCAL, card.id)).status == "todo"


async def test_a_verb_that_a_card_is_not_ready_for_says_what_to_do_first(bench: Workbench) -> None:
    await write(bench, "a.txt", "one\n")
    cards = cards_of(bench)
    refusals: dict[CardStatus, dict[str, str]] = {
        "todo": {
            "approve": "start it first",
            "reject": "only a card in review or a failed one can be rejected",
            "update_branch": "only a card in review or a failed one can be updated",
            "cancel": "not in progress",
        },
        "in_progress": {
            "start": "cancel it first",
            "approve": "only one in review can",
            "reject": "only a card in review or a failed one can be rejected",
            "update_branch": "only a card in review or a failed one can be updated",
            "delete": "cannot delete .* while it is in progress: cancel it first",
        },
        "in_review": {"cancel": "not in progress"},
        "done": {
            "start": "move it to todo first",
            "approve": "only one in review can",
            "reject": "only a card in review or a failed one can be rejected",
            "update_branch": "only a card in review or a failed one can be updated",
            "cancel": "not in progress",
        },
        "failed": {"approve": "retry it first", "cancel": "not in progress"},
    }
    async with rows_of(bench) as stored:
        for status, verbs in refusals.items():
            card = await card_row_in(stored, bench.repo, status)
            for verb, said in verbs.items():
                more = (Rejection(),) if verb == "reject" else ()
                with pytest.raises(CommandRefused, match=said):
                    await getattr(cards, verb)(LOCAL, card.id, *more)
            assert await stored.cards.get(card.id) == card
        card = await card_row_in(stored, bench.repo, "in_progress")
        for changes in (CardChanges(work=Work(run="true")), CardChanges(base="other")):
            with pytest.raises(CardInProgress, match="cancel it first"):
                await cards.update(LOCAL, card.id, changes)
        assert (await cards.update(LOCAL, card.id, CardChanges(title="Renamed"))).title == "Renamed"


async def test_of_two_people_who_start_a_card_at_once_one_does(bench: Workbench) -> None:
    await write(bench, "a.txt", "one\n")
    card = await card_of(bench, SCRIPT)
    answers = await at_once(*(cards_of(bench).start(LOCAL, card.id, StartCard()) for _ in range(3)))
    assert sorted(type(each).__name__ for each in answers) == ["BadMove", "BadMove", "CardInfo"]
    assert len(await cards_of(bench).attempts(LOCAL, card.id)) == 1


async def test_of_two_people_who_move_a_card_at_once_one_is_told_that_it_has_changed(bench: Workbench) -> None:
    await write(bench, "a.txt", "one\n")
    cards, card = cards_of(bench), await card_of(bench, Work())
    begun, refused = sorted(
        await at_once(
            *(
                cards.move(LOCAL, card.id, CardMove(status="in_progress", to_end=to_end), version=card.version)
                for to_end in (True, False)
            )
        ),
        key=lambda answer: isinstance(answer, StaleCard),
    )
    assert (begun.status, begun.version) == ("in_progress", card.version + 1)
    assert (type(refused), refused.version) == (StaleCard, begun.version)
    assert await cards.get(LOCAL, card.id) == begun
