"""The board: its order, its pages and its size with thousands of cards."""

from collections.abc import Mapping
from itertools import count
from typing import Any

import pytest
from sqlalchemy import insert

from pitstop.errors import BadCursor, UnknownCard
from pitstop.platform.cards.card_values import CardRecord
from pitstop.platform.cards.limits import LONGEST_TITLE
from pitstop.platform.lives import CARD_MOVES, CardStatus
from pitstop.platform.stored.card_rows import card_row, cards
from pitstop.platform.stored.cards import new_card
from pitstop.service.caller import LOCAL
from pitstop.service.cards import CardMove, Work
from pitstop.store.sql.store import open_sql_store
from tests.platform.card_bench import SCRIPT, at_once, card_of, cards_of, http_of, write
from tests.platform.workbench import Workbench

MANY = 5_000
LARGEST_PAGE_BYTES = 200 * 1024
STATUSES = tuple(CARD_MOVES)


async def fill(bench: Workbench, *rows: Mapping[str, Any]) -> list[str]:
    """Cards with these fields, stored in one transaction; their ids."""
    numbers = count(1)
    usual = {"title": "Do it", "work": SCRIPT, "base": "main", "by": "ada", "created_at": 1e9, "updated_at": 1e9}
    made = [new_card(next(numbers), bench.repo, {**usual, "status": "todo", **row}) for row in rows]
    store = await open_sql_store(bench.settings.database)
    async with store.database.write() as connection:
        await connection.execute(insert(cards), [row_of(card) for card in made])
    await store.close()
    return [card.id for card in made]


def row_of(card: CardRecord) -> dict[str, Any]:
    """What is stored of a card without a conflict."""
    return {name: value for name, value in card_row(card).items() if name != "conflict"}


async def order(bench: Workbench, status: CardStatus = "todo") -> list[str]:
    found = await cards_of(bench).column(LOCAL, bench.repo, status, limit=100)
    return [card.id.rpartition("-")[2] for card in found.cards]


async def test_the_first_page_of_5000_cards_is_small_and_its_columns_are_read_without_gaps(bench: Workbench) -> None:
    title = f"Let the checkout accept a second card, and show why the first one was refused {'x' * 20}"
    work = Work(agent="claude", prompt="p" * 2_000)
    sha, run = "0123456789" * 4, "20260101-120000-0123456789"
    filled = await fill(
        bench,
        *(
            {
                "title": title,
                "description": "d" * 2_000,
                "status": STATUSES[number % 5],
                "position": float(number // 10),  # always two have the same
                "work": work,
                "labels": ("backend", f"label {number % 30}"),
                "branch": f"card/{number}-let-the-checkout-accept-a-second-card",
                "head_sha": sha,
                "run": run,
                "reason": "r" * 2_000,
            }
            for number in range(MANY)
        ),
    )
    async with http_of(bench) as client:
        page = await client.get(f"/repos/{bench.repo}/cards")
        assert page.status_code == 200
        assert len(page.content) <= LARGEST_PAGE_BYTES
        board = page.json()
        assert [column["count"] for column in board["columns"]] == [MANY // 5] * 5
        assert [len(column["cards"]) for column in board["columns"]] == [50] * 5
        found: list[tuple[float, str]] = []
        cursor: str | None = None
        while len(found) < MANY:
            params = {"limit": "100", **({"cursor": cursor} if cursor else {})}
            column = (await client.get(f"/repos/{bench.repo}/columns/failed", params=params)).json()
            found += [(card["position"], card["id"]) for card in column["cards"]]
            cursor = column["next"]
            if cursor is None:
                break
        assert (await client.get(f"/repos/{bench.repo}/columns/failed?cursor=nonsense")).status_code == 422
    assert found == sorted(found)
    assert sorted(card for _, card in found) == sorted(filled[4::5])
    filtered = await cards_of(bench).board(LOCAL, bench.repo)
    assert (len(filtered.labels), filtered.profiles) == (31, ("claude",))


async def test_a_card_is_put_where_it_was_dropped_however_often_and_little_room_there_is(bench: Workbench) -> None:
    await fill(bench, *({"position": position} for position in (1.0, 1.0 + 2**-48, 5.0, 5.0, 7.0)))
    cards_desk = cards_of(bench)

    async def put(card: int, after: int | None, status: CardStatus = "todo") -> list[str]:
        behind = None if after is None else f"{bench.repo}-{after}"
        await cards_desk.move(LOCAL, f"{bench.repo}-{card}", CardMove(status=status, after=behind))
        return await order(bench)

    assert await order(bench) == ["1", "2", "3", "4", "5"]
    assert await put(5, 3) == ["1", "2", "3", "5", "4"]  # the two around it had the same place
    for _ in range(2):
        assert await put(3, 1) == ["1", "3", "2", "5", "4"]
        assert await put(5, 1) == ["1", "5", "3", "2", "4"]
        assert await put(3, 1) == ["1", "3", "5", "2", "4"]
        assert await put(5, 2) == ["1", "3", "2", "5", "4"]
        assert await put(3, 2) == ["1", "2", "3", "5", "4"]
    assert await put(4, None) == ["4", "1", "2", "3", "5"]
    assert await put(2, 2) == ["4", "1", "2", "3", "5"]
    assert await put(5, 5) == ["4", "1", "2", "3", "5"]
    with pytest.raises(UnknownCard):
        await put(1, 9)


async def test_a_card_comes_to_the_end_of_a_column_or_where_it_is_put_in_it(bench: Workbench) -> None:
    await write(bench, "a.txt", "one\n")
    cards_desk = cards_of(bench)
    names = [(await card_of(bench, Work(), f"Card {number}")).id for number in range(4)]
    await cards_desk.move(LOCAL, names[0], CardMove(status="todo", to_end=True))
    assert await order(bench) == ["2", "3", "4", "1"]
    await cards_desk.move(LOCAL, names[0], CardMove(status="in_progress"))
    await cards_desk.move(LOCAL, names[1], CardMove(status="in_progress", to_end=True))
    await cards_desk.move(LOCAL, names[2], CardMove(status="in_progress", after=names[0]))
    assert await order(bench, "in_progress") == ["1", "3", "2"]
    with pytest.raises(UnknownCard):  # it is in another column
        await cards_desk.move(LOCAL, names[0], CardMove(status="in_progress", after=names[3]))
    with pytest.raises(BadCursor):
        await cards_desk.column(LOCAL, bench.repo, "todo", cursor="a b")


async def test_many_cards_that_are_created_at_once_get_a_number_and_a_place_each(bench: Workbench) -> None:
    made = await at_once(*(card_of(bench, SCRIPT, f"Card {number}") for number in range(12)))
    assert sorted(card.number for card in made) == list(range(1, 13))
    assert await order(bench) == [str(number) for number in range(1, 13)]
    assert len({card.position for card in made}) == 12
    assert (await card_of(bench, SCRIPT, "t" * LONGEST_TITLE)).title == "t" * LONGEST_TITLE
