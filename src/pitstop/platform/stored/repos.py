"""Repositories in the database."""

from typing import Any

import msgspec
from sqlalchemy import BigInteger, Column, Connection, Double, Row, Table, Update, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from pitstop.errors import RepoExists, RepoNotReady, UnknownRepo
from pitstop.platform.lives import RepoState, states_before
from pitstop.platform.repo_values import RepoRecord, RepoSettings
from pitstop.platform.stored.feed import add_news
from pitstop.store.sql.columns import AnyText, Packed
from pitstop.store.sql.database import Database, telling_problems
from pitstop.store.sql.schema import metadata

repos = Table(
    "repos",
    metadata,
    Column("id", AnyText, primary_key=True),
    Column("title", AnyText, nullable=False),
    Column("default_branch", AnyText, nullable=False),
    Column("remote_url", AnyText),
    Column("home", AnyText, nullable=False),
    Column("state", AnyText, nullable=False),
    Column("error", AnyText),
    Column("settings", Packed, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("next_card", BigInteger, nullable=False, server_default="1"),
)


_STAYING = ("runs", "tokens", "test_reports")  # which outlive their repository


class StoredRepos:
    """The rows of repositories. A change and what the feed says of it are one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> tuple[RepoRecord, ...]:
        return tuple(map(_to_record, await self._database.rows(select(repos).order_by(repos.c.id))))

    async def get(self, repo: str) -> RepoRecord:
        """UnknownRepo."""
        rows = await self._database.rows(select(repos).where(repos.c.id == repo))
        if not rows:
            raise UnknownRepo(repo)
        return _to_record(rows[0])

    async def add(self, record: RepoRecord) -> None:
        """RepoExists."""
        row = msgspec.structs.asdict(record) | {"settings": msgspec.to_builtins(record.settings)}

        def work(connection: Connection) -> None:
            connection.execute(insert(repos).values(row))
            self._tell(connection, record.id, "repo.created")

        with telling_problems():
            try:
                await self._database.transact(work)
            except IntegrityError as error:
                raise RepoExists(record.id) from error

    async def move(self, repo: str, state: RepoState, error: str | None = None) -> None:
        """Change the state; RepoNotReady when that cannot follow the present one, UnknownRepo."""
        allowed = (repos.c.id == repo, repos.c.state.in_(states_before(state)))
        moved = update(repos).where(*allowed).values(state=state, error=error)
        kind = {"ready": "repo.ready", "failed": "repo.failed"}.get(state, "repo.changed")
        if not await self._update(repo, moved, kind):
            raise RepoNotReady(repo, (await self.get(repo)).state)

    async def change(self, repo: str, **fields: Any) -> None:
        """Change other fields of a repository; UnknownRepo."""
        if "settings" in fields:
            fields["settings"] = msgspec.to_builtins(fields["settings"])
        if not await self._update(repo, update(repos).where(repos.c.id == repo).values(**fields), "repo.changed"):
            raise UnknownRepo(repo)

    async def _update(self, repo: str, statement: Update, kind: str) -> bool:
        """Change the row of a repository and tell of it; False when there is none to be changed."""

        def work(connection: Connection) -> bool:
            is_changed = connection.execute(statement).rowcount > 0
            if is_changed:
                self._tell(connection, repo, kind)
            return is_changed

        with telling_problems():
            return await self._database.transact(work)

    async def remove(self, repo: str) -> None:
        """Delete all that the platform stores of a repository: the rows with its name in a column `repo`."""
        of_repos = [table for table in metadata.sorted_tables if "repo" in table.c and table.name not in _STAYING]

        def work(connection: Connection) -> None:
            for table in of_repos:
                connection.execute(delete(table).where(table.c.repo == repo))
            connection.execute(delete(repos).where(repos.c.id == repo))
            self._tell(connection, repo, "repo.deleted")

        with telling_problems():
            await self._database.transact(work)

    async def tell(self, repo: str, kind: str, **body: Any) -> None:
        """Tell the feed of something that changes no row."""
        with telling_problems():
            await self._database.transact(lambda connection: self._tell(connection, repo, kind, **body))

    def _tell(self, connection: Connection, repo: str, kind: str, **body: Any) -> None:
        add_news(self._database, connection, f"repo:{repo}", kind, {"repo": repo, **body})


def _to_record(row: "Row[Any, *tuple[Any, ...]]") -> RepoRecord:
    fields = {name: getattr(row, name) for name in RepoRecord.__struct_fields__}
    return RepoRecord(**(fields | {"settings": msgspec.convert(row.settings, RepoSettings)}))
