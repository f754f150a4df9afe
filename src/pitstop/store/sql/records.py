"""A run's record as a row, and back; which runs there are."""

from dataclasses import fields
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, and_, or_, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from pitstop.errors import UnknownRun
from pitstop.store.port import RunFilter, RunRecord
from pitstop.store.sql.schema import runs

FIELDS = tuple(field.name for field in fields(RunRecord))
RECORD = tuple(runs.c[name] for name in FIELDS)


def to_row(record: RunRecord) -> dict[str, Any]:
    row = {name: getattr(record, name) for name in FIELDS}
    return row | {name: _plain(row[name]) for name in ("failures", "request", "texts")}


def to_record(row: "Row[Any, *tuple[Any, ...]]") -> RunRecord:
    values = {name: getattr(row, name) for name in FIELDS}
    return RunRecord(**(values | {"failures": tuple(values["failures"])}))


def checked_changes(changes: dict[str, Any]) -> dict[str, Any]:
    """Changes of a record, as they stand in a row; TypeError for a field that it has not."""
    unknown = [name for name in changes if name not in FIELDS or name == "id"]
    if unknown:
        raise TypeError(f"a run's record has no field {', '.join(unknown)} that could be changed")
    return {
        name: _plain(value) if name in ("failures", "request", "texts") else value for name, value in changes.items()
    }


async def read_record(connection: AsyncConnection, run: str) -> RunRecord:
    row = (await connection.execute(select(*RECORD).where(runs.c.id == run))).one_or_none()
    if row is None:
        raise UnknownRun(run)
    return to_record(row)


def matching(filter: RunFilter) -> Select[Any]:
    """The runs that were asked for, the newest first."""
    wanted: list[ColumnElement[bool]] = []
    if filter.status:
        wanted.append(runs.c.status.in_(filter.status))
    if filter.flow is not None:
        wanted.append(runs.c.flow == filter.flow)
    if filter.file is not None:
        wanted.append(runs.c.file == filter.file)
    if filter.search:
        searched = (runs.c.id, runs.c.flow, runs.c.file)
        wanted.append(or_(*(column.icontains(filter.search, autoescape=True) for column in searched)))
    if filter.before is not None:
        wanted.append(tuple_(runs.c.created_at, runs.c.id) < filter.before)
    newest_first = (runs.c.created_at.desc(), runs.c.id.desc())
    return select(*RECORD).where(and_(True, *wanted)).order_by(*newest_first).limit(filter.limit)


def _plain(value: Any) -> Any:
    """Mappings that are no dicts would be packed as text."""
    return [dict(each) for each in value] if isinstance(value, tuple | list) else dict(value)
