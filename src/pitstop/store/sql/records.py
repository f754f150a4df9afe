"""A run's record as a row, and back; which runs there are."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, and_, or_, select, tuple_

from pitstop.errors import UnknownRun
from pitstop.store.port import RunFilter, RunRecord
from pitstop.store.sql.database import Database
from pitstop.store.sql.schema import runs

FIELDS = RunRecord.__struct_fields__
RECORD = tuple(runs.c[name] for name in FIELDS)


def to_row(record: RunRecord) -> dict[str, Any]:
    return _as_row({name: getattr(record, name) for name in FIELDS})


def to_record(row: "Row[Any, *tuple[Any, ...]]") -> RunRecord:
    values = {name: getattr(row, name) for name in FIELDS}
    return RunRecord(**(values | {"failures": tuple(values["failures"])}))


def checked_changes(changes: dict[str, Any]) -> dict[str, Any]:
    """Changes of a record, as they stand in a row; TypeError for a field that it has not."""
    unknown = [name for name in changes if name not in FIELDS or name == "id"]
    if unknown:
        raise TypeError(f"a run's record has no field {', '.join(unknown)} that could be changed")
    return _as_row(changes)


async def read_record(database: Database, run: str) -> RunRecord:
    rows = await database.rows(select(*RECORD).where(runs.c.id == run))
    if not rows:
        raise UnknownRun(run)
    return to_record(rows[0])


def matching(filter: RunFilter) -> Select[Any]:
    """The runs that were asked for, the newest first."""
    wanted: list[ColumnElement[bool]] = []
    if filter.status:
        wanted.append(runs.c.status.in_(filter.status))
    if filter.flow is not None:
        addresses = (filter.flow, f"{filter.repo}:{filter.flow}")  # of a flow on its own, and of one in a repository
        wanted.append(or_(runs.c.flow == filter.flow, runs.c.file.in_(addresses)))
    if filter.file is not None:
        wanted.append(runs.c.file == filter.file)
    if filter.repo is not None:
        wanted.append(runs.c.repo == filter.repo)
    if filter.ref is not None:
        wanted.append(runs.c.ref == filter.ref)
    if filter.search:
        searched = (runs.c.id, runs.c.flow, runs.c.file)
        wanted.append(or_(*(column.icontains(filter.search, autoescape=True) for column in searched)))
    if filter.before is not None:
        wanted.append(tuple_(runs.c.created_at, runs.c.id) < filter.before)
    newest_first = (runs.c.created_at.desc(), runs.c.id.desc())
    return select(*RECORD).where(and_(True, *wanted)).order_by(*newest_first).limit(filter.limit)


def _as_row(fields: dict[str, Any]) -> dict[str, Any]:
    """Mappings that are no dicts would be packed as text."""
    row = {name: dict(value) if isinstance(value, Mapping) else value for name, value in fields.items()}
    if "failures" in row:
        row["failures"] = [dict(each) for each in row["failures"]]
    return row
