"""The tables of cards, their attempts and their notes, and how rows become values."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from sqlalchemy import BigInteger, Boolean, Column, Double, Index, Integer, Row, Table, null

from pitstop.platform.cards.card_values import AttemptRecord, CardRecord, NoteRecord
from pitstop.store.sql.columns import AnyText, Packed
from pitstop.store.sql.schema import metadata

AnyRow = Row[Any]

cards = Table(
    "cards",
    metadata,
    Column("id", AnyText, primary_key=True),
    Column("repo", AnyText, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("title", AnyText, nullable=False),
    Column("description", AnyText, nullable=False),
    Column("status", AnyText, nullable=False),
    Column("position", Double, nullable=False),
    Column("work", Packed, nullable=False),
    Column("kind", AnyText, nullable=False),
    Column("profile", AnyText),
    Column("labels", AnyText, nullable=False),
    Column("base", AnyText, nullable=False),
    Column("branch", AnyText),
    Column("base_sha", AnyText),
    Column("head_sha", AnyText),
    Column("merged_sha", AnyText),
    Column("landed_at", Double),
    Column("conflict", Packed),
    Column("attempt", BigInteger, nullable=False),
    Column("run", AnyText),
    Column("reason", AnyText),
    Column("depth", BigInteger, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("by", AnyText, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("updated_at", Double, nullable=False),
    Index("cards_by_number", "repo", "number", unique=True),
    Index("cards_by_place", "repo", "status", "position"),
)

attempts = Table(
    "attempts",
    metadata,
    Column("card", AnyText, primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("repo", AnyText, nullable=False),
    Column("kind", AnyText, nullable=False),
    Column("run", AnyText, nullable=False),
    Column("profile", AnyText),
    Column("from_sha", AnyText, nullable=False),
    Column("work_sha", AnyText),
    Column("parents", Packed, nullable=False),
    Column("to_sha", AnyText),
    Column("outcome", AnyText, nullable=False),
    Column("reason", AnyText),
    Column("live", Packed, nullable=False),
    Column("text", AnyText, nullable=False),
    Column("prompt", AnyText, nullable=False),
    Column("by", AnyText, nullable=False),
    Column("started_at", Double, nullable=False),
    Column("ended_at", Double),
    Index("attempts_by_run", "run", unique=True),
)

card_notes = Table(
    "card_notes",
    metadata,
    Column("id", BigInteger().with_variant(Integer(), "sqlite"), primary_key=True),
    Column("card", AnyText, nullable=False),
    Column("repo", AnyText, nullable=False),
    Column("kind", AnyText, nullable=False),
    Column("text", AnyText, nullable=False),
    Column("file", AnyText),
    Column("line", BigInteger),
    Column("side", AnyText, nullable=False),
    Column("sha", AnyText),
    Column("resolved", Boolean, nullable=False),
    Column("who", AnyText, nullable=False),
    Column("at", Double, nullable=False),
    Index("card_notes_by_card", "card", "id"),
)


def to_card(row: AnyRow) -> CardRecord:
    return msgspec.convert(_fields(row, CardRecord) | {"labels": labels_in(row.labels)}, CardRecord)


def to_attempt(row: AnyRow) -> AttemptRecord:
    return msgspec.convert(_fields(row, AttemptRecord), AttemptRecord)


def to_note(row: AnyRow) -> NoteRecord:
    return NoteRecord(**_fields(row, NoteRecord))


def card_row(card: CardRecord) -> dict[str, Any]:
    """What is stored of a card."""
    row = as_stored({name: getattr(card, name) for name in CardRecord.__struct_fields__})
    return row | {"kind": card.work.kind, "profile": card.work.agent}


def as_stored(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a card as its columns have them."""
    row = dict(fields)
    if "labels" in row:
        row["labels"] = labels_text(row["labels"])
    for name in ("work", "conflict"):
        if name in row:
            row[name] = null() if row[name] is None else msgspec.to_builtins(row[name])
    if "work" in fields:
        row |= {"kind": fields["work"].kind, "profile": fields["work"].agent}
    return row


def labels_text(labels: Iterable[str]) -> str:
    """Labels as one text in which each can be found: a line each, with line breaks around them."""
    return "".join(f"\n{label}" for label in labels) + "\n" if labels else ""


def labels_in(stored: str) -> tuple[str, ...]:
    return tuple(filter(None, stored.split("\n")))


def _fields(row: AnyRow, kind: Any) -> dict[str, Any]:
    return {name: getattr(row, name) for name in kind.__struct_fields__}
