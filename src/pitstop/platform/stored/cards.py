"""Cards in the database: a change, what the feed tells of it and the firings that follow are one transaction."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    delete,
    func,
    insert,
    literal,
    or_,
    select,
    union_all,
    update,
)

from pitstop.errors import BadMove, CommandRefused, StaleCard, UnknownCard, UnknownRepo
from pitstop.git.names import BRANCHES
from pitstop.platform.cards.card_info import BoardFilter
from pitstop.platform.cards.card_values import CardRecord, card_id
from pitstop.platform.cards.positions import STEP
from pitstop.platform.lives import CARD_MOVES, CardStatus
from pitstop.platform.stored.card_rows import (
    AnyRow,
    as_stored,
    attempts,
    card_notes,
    card_row,
    cards,
    labels_in,
    to_card,
)
from pitstop.platform.stored.feed import add_news
from pitstop.platform.stored.pushes import refs
from pitstop.platform.stored.repos import repos
from pitstop.store.sql.columns import to_column
from pitstop.store.sql.database import Database, telling_problems
from pitstop.store.sql.schema import runs

MOST_CARDS = 20_000  # of a repository

T = TypeVar("T")

_SHORT = tuple(
    cards.c[name]
    for name in (
        *("id", "repo", "number", "title", "status", "position", "kind", "profile", "labels", "base", "branch"),
        *("head_sha", "landed_at", "attempt", "run", "reason", "version", "by", "created_at", "updated_at"),
    )
)
_SHOWN: Select[Any] = select(
    *_SHORT, cards.c.conflict.is_not(None).label("has_conflict"), runs.c.status.label("run_status")
).outerjoin(runs, runs.c.id == cards.c.run)


class StoredCards:
    """The rows of cards. A change names the card as it was read, and fails with StaleCard if it is another by now."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def transact(self, work: Callable[[Connection], T]) -> T:
        """A transaction of several changes; an error of ours in it changes nothing."""
        with telling_problems():
            return await self._database.transact(work)

    async def get(self, card: str) -> CardRecord:
        """UnknownCard."""
        rows = await self._database.rows(select(cards).where(cards.c.id == card))
        if not rows:
            raise UnknownCard(card)
        return to_card(rows[0])

    async def made_by(self, repo: str, who: str, title: str) -> CardRecord | None:
        """The card with this title that a user or a run has made."""
        wanted = select(cards).where(cards.c.repo == repo, cards.c.by == who, cards.c.title == title)
        rows = await self._database.rows(wanted.order_by(cards.c.number).limit(1))
        return to_card(rows[0]) if rows else None

    async def in_review(self, repo: str) -> tuple[CardRecord, ...]:
        wanted = select(cards).where(cards.c.repo == repo, cards.c.status == "in_review")
        return tuple(map(to_card, await self._database.rows(wanted)))

    async def moved_branches(self, repo: str) -> list[str]:
        """The cards whose branch is not where they have it, as far as is known."""
        name = literal(BRANCHES) + cards.c.branch
        joined = select(cards.c.id).outerjoin(refs, and_(refs.c.repo == cards.c.repo, refs.c.name == name))
        is_other = refs.c.sha.is_distinct_from(cards.c.head_sha)
        is_open = and_(cards.c.repo == repo, cards.c.status != "done", cards.c.branch.is_not(None))
        return [row.id for row in await self._database.rows(joined.where(is_open, is_other))]

    async def merged_into(self, repo: str, base: str) -> tuple[CardRecord, ...]:
        """The cards that were merged into a branch, and have not landed."""
        is_merged = and_(cards.c.status == "done", cards.c.merged_sha.is_not(None), cards.c.landed_at.is_(None))
        wanted = select(cards).where(cards.c.repo == repo, cards.c.base == base, is_merged)
        return tuple(map(to_card, await self._database.rows(wanted.order_by(cards.c.number.desc()).limit(500))))

    # Lists

    async def counts(self, repo: str, filter: BoardFilter) -> dict[str, int]:
        """How many cards each column has."""
        wanted = select(cards.c.status, func.count()).where(*_matching(repo, filter)).group_by(cards.c.status)
        return {row[0]: row[1] for row in await self._database.rows(wanted)}

    async def column(
        self, repo: str, status: CardStatus, filter: BoardFilter, after: tuple[float, str] | None, limit: int
    ) -> Sequence[AnyRow]:
        """Cards of a column in order, as the board shows them; `after` is the position and id of the last one."""
        shown = _SHOWN.where(cards.c.status == status, *_matching(repo, filter))
        if after is not None:
            position, card = after
            is_after = and_(cards.c.position == position, cards.c.id > card)
            shown = shown.where(or_(cards.c.position > position, is_after))
        return await self._database.rows(shown.order_by(cards.c.position, cards.c.id).limit(limit))

    async def first(self, repo: str, filter: BoardFilter, limit: int) -> dict[str, list[AnyRow]]:
        """The first cards of each column, all as they were at one moment: each card is in one column."""
        of_repo = _SHOWN.where(*_matching(repo, filter))
        columns = (
            of_repo.where(cards.c.status == status).order_by(cards.c.position, cards.c.id).limit(limit).subquery()
            for status in CARD_MOVES
        )
        found: dict[str, list[AnyRow]] = {}
        for row in await self._database.rows(union_all(*(select(each) for each in columns))):
            found.setdefault(row.status, []).append(row)
        return {status: sorted(rows, key=lambda row: (row.position, row.id)) for status, rows in found.items()}

    async def short(self, names: Sequence[str]) -> Sequence[AnyRow]:
        """Cards by their ids, as the board shows them."""
        return await self._database.rows(_SHOWN.where(cards.c.id.in_(names)))

    async def words(self, repo: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """All labels and all agents that the cards of a repository have."""
        wanted = select(cards.c.labels, cards.c.profile).where(cards.c.repo == repo).distinct()
        rows = await self._database.rows(wanted)
        labels = {label for row in rows for label in labels_in(row.labels)}
        return tuple(sorted(labels)), tuple(sorted({row.profile for row in rows if row.profile is not None}))

    async def neighbors(self, repo: str, status: CardStatus, after: str | None) -> tuple[float | None, float | None]:
        """The positions around the place behind a card, or at the beginning of a column. UnknownCard."""
        place = (cards.c.repo == repo, cards.c.status == status)
        before: float | None = None
        following = select(func.min(cards.c.position)).where(*place)
        if after is not None:
            rows = await self._database.rows(select(cards.c.position).where(*place, cards.c.id == after))
            if not rows:
                raise UnknownCard(after)
            before = rows[0].position
            is_behind = and_(cards.c.position == before, cards.c.id > after)
            following = following.where(or_(cards.c.position > before, is_behind))
        return before, (await self._database.rows(following))[0][0]

    # Changes

    async def add(self, repo: str, make: Callable[[int], CardRecord]) -> CardRecord:
        """A new card at the end of its column, made with the next number of the repository. UnknownRepo."""

        def work(connection: Connection) -> CardRecord:
            number = update(repos).where(repos.c.id == repo).values(next_card=repos.c.next_card + 1)
            taken = connection.execute(number.returning(repos.c.next_card)).scalar_one_or_none()
            if taken is None:
                raise UnknownRepo(repo)
            present = connection.execute(select(func.count()).where(cards.c.repo == repo)).scalar_one()
            if present >= MOST_CARDS:
                raise CommandRefused(f"repository {repo!r} has {present:,} cards, which is the limit: delete some")
            card = make(taken - 1)
            row = card_row(card) | {"position": self._end_of(connection, repo, card.status)}
            connection.execute(insert(cards).values(row))
            self.tell(connection, card, "card.created")
            return to_card(connection.execute(select(cards).where(cards.c.id == card.id)).one())

        return await self.transact(work)

    async def change(self, card: CardRecord, kind: str = "card.changed", **fields: Any) -> CardRecord:
        """Change fields of a card in a transaction of its own. StaleCard."""
        return await self.transact(lambda connection: self.change_in(connection, card, kind, **fields))

    def change_in(
        self, connection: Connection, card: CardRecord, kind: str = "card.changed", **fields: Any
    ) -> CardRecord:
        """Change fields of a card. StaleCard."""
        row = as_stored(fields) | {"version": card.version + 1, "updated_at": self._database.now}
        is_it = (cards.c.id == card.id, cards.c.version == card.version)
        if connection.execute(update(cards).where(*is_it).values(row)).rowcount == 0:
            raise StaleCard(card.id, _version_of(connection, card.id))
        changed = to_card(connection.execute(select(cards).where(cards.c.id == card.id)).one())
        self.tell(connection, changed, kind)
        return changed

    def move_in(self, connection: Connection, card: CardRecord, status: CardStatus, **fields: Any) -> CardRecord:
        """Let a card get another status, at the end of that column. BadMove, StaleCard."""
        if status not in CARD_MOVES[card.status]:
            raise BadMove(card.id, card.status, status, f"from there it can only get to {in_words(card.status)}")
        fields.setdefault("position", self._end_of(connection, card.repo, status))
        return self.change_in(connection, card, "card.moved", status=status, **fields)

    async def move(self, card: CardRecord, status: CardStatus, **fields: Any) -> CardRecord:
        """The same in a transaction of its own."""
        return await self.transact(lambda connection: self.move_in(connection, card, status, **fields))

    async def end_of(self, repo: str, status: CardStatus) -> float:
        """The position behind all cards of a column."""
        return await self.transact(lambda connection: self._end_of(connection, repo, status))

    async def number_again(self, repo: str, status: CardStatus) -> None:
        """Make room between all cards of a column."""

        def work(connection: Connection) -> None:
            place = (cards.c.repo == repo, cards.c.status == status)
            found = connection.execute(select(cards.c.id).where(*place).order_by(cards.c.position, cards.c.id)).all()
            for number, row in enumerate(found):
                connection.execute(update(cards).where(cards.c.id == row.id).values(position=number * STEP))

        await self.transact(work)

    async def delete(self, card: CardRecord) -> None:
        """Delete a card with its attempts and notes. StaleCard."""

        def work(connection: Connection) -> None:
            is_it = (cards.c.id == card.id, cards.c.version == card.version)
            if connection.execute(delete(cards).where(*is_it)).rowcount == 0:
                raise StaleCard(card.id, _version_of(connection, card.id))
            for table in (attempts, card_notes):
                connection.execute(delete(table).where(table.c.card == card.id))
            self.tell(connection, card, "card.deleted")

        await self.transact(work)

    def tell(self, connection: Connection, card: CardRecord, kind: str, **body: Any) -> None:
        """Tell the feed of a card, in the transaction of what it tells."""
        told = {"card": card.id, "repo": card.repo, "status": card.status, "version": card.version, **body}
        add_news(self._database, connection, f"repo:{card.repo}", kind, told)

    def _end_of(self, connection: Connection, repo: str, status: CardStatus) -> float:
        last = select(func.max(cards.c.position)).where(cards.c.repo == repo, cards.c.status == status)
        found: float | None = connection.execute(last).scalar_one()
        return 0.0 if found is None else found + STEP


def in_words(status: CardStatus) -> str:
    """Where a card can get from a status."""
    return " or ".join(CARD_MOVES[status])


def new_card(number: int, repo: str, fields: Mapping[str, Any]) -> CardRecord:
    return CardRecord(id=card_id(repo, number), repo=repo, number=number, **fields)


def _version_of(connection: Connection, card: str) -> int:
    """The present version of a card. UnknownCard if it was deleted."""
    found = connection.execute(select(cards.c.version).where(cards.c.id == card)).scalar_one_or_none()
    if found is None:
        raise UnknownCard(card)
    return int(found)


def _matching(repo: str, filter: BoardFilter) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = [cards.c.repo == repo]
    if filter.label:
        wanted_label = to_column(f"\n{filter.label}\n")
        found.append(func.replace(cards.c.labels, wanted_label, "") != cards.c.labels)  # LIKE of SQLite ignores case
    if filter.profile:
        found.append(cards.c.profile == filter.profile)
    if filter.search:
        wanted = filter.search.lower()
        texts = (cards.c.title, cards.c.description, cards.c.id)
        found.append(or_(*(func.lower(each).contains(wanted, autoescape=True) for each in texts)))
    return found
