import asyncio
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Boolean, Column, Integer, LargeBinary, MetaData, Table, insert, select

from pitstop.errors import BadStore
from pitstop.events.outcome import Outcome, Status
from pitstop.events.types import StepFinished
from pitstop.service.audit import Deed
from pitstop.service.stored.audit import StoredAudit
from pitstop.service.stored.secrets import StoredSecrets
from pitstop.store.port import RunFilter
from pitstop.store.sql import backup
from pitstop.store.sql.store import SqlStore, open_sql_store, restore_sql_store
from tests.contracts.store import STARTED, collect, handed_on, record, step, write
from tests.databases import Postgres

LARGE = StepFinished(
    1.0, "main", "build", "b#1", Outcome(Status.PASSED, {"x": "y" * 50_000, "b": b"\x00\xff", "n": 2**70})
)


@pytest.fixture
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of the kind that is asked for."""
    postgres: Postgres = request.getfixturevalue("postgres")
    return postgres.new_database() if request.param == "postgres" else f"sqlite:///{tmp_path}/new.db"


def make_files(folder: Path) -> Path:
    folder.mkdir()
    (folder / "file").write_bytes(bytes(range(256)) * 5000)
    return folder


def backups_in(folder: Path) -> list[str]:
    return [path.name for path in folder.glob("backup*")]


async def fill(store: SqlStore, folder: Path) -> None:
    run = await store.create(record(error="NUL \x00 and \ud800", sealed_secrets=b"\x00\x01"), [STARTED, LARGE])
    write(run, "build", b"\xff said\n")
    await run.keep_artifacts(handed_on(folder))
    await run.update(status="failed", failures=({"step": "x", "nan": float("inf")},))
    await run.close()
    await store.create(record("other"), owner="one", lease_seconds=30)
    await StoredSecrets(store.database).put("key", "server", b"\xffsealed", ["web"])
    await StoredSecrets(store.database).put("key", "flow::ci", b"narrower", [])
    await store.write_flow_setting("build", "breakpoints", [1, 2])
    await StoredAudit(store).add(Deed(1.5, "ann", "start", "run-1", {"flow": "build"}))


@pytest.mark.parametrize("new_url", ["sqlite", "postgres"], indirect=True)
async def test_a_backup_restores_everything_on_either_database(store: SqlStore, new_url: str, tmp_path: Path) -> None:
    await fill(store, make_files(tmp_path / "artifacts"))
    await backup.write_backup(store.database, tmp_path / "backup.zip")
    await restore_sql_store(new_url, tmp_path / "backup.zip")

    again = await open_sql_store(new_url)
    try:
        assert await again.find(RunFilter()) == await store.find(RunFilter())
        run = await again.open("run-1")
        assert list(run.log.read()) == [STARTED, LARGE]
        assert b"".join(await collect(run.output_bytes("build"))) == b"\xff said\n"
        assert b"".join(await collect(run.artifact("file"))) == bytes(range(256)) * 5000
        assert await StoredSecrets(again.database).all() == await StoredSecrets(store.database).all()
        assert await again.read_flow_setting("build", "breakpoints") == [1, 2]
        audit = StoredAudit(again)
        assert await audit.newest(None, None, 100) == await StoredAudit(store).newest(None, None, 100)
        await audit.add(Deed(2.5, "bob", "pin", None, {}))  # new rows have ids of their own
        assert len(await audit.newest(None, None, 100)) == 2
        assert (tmp_path / "backup.zip").stat().st_mode & 0o777 == 0o600
    finally:
        await again.close()


@pytest.mark.parametrize("new_url", ["sqlite", "postgres"], indirect=True)
async def test_a_table_that_the_store_does_not_know_is_copied_too(
    store: SqlStore, new_url: str, tmp_path: Path
) -> None:
    columns = Column("id", Integer, primary_key=True), Column("is_open", Boolean), Column("body", LargeBinary)
    notes = Table("notes", MetaData(), *columns)
    again = await open_sql_store(new_url)
    for each in (store, again):
        async with each.database.write() as connection:
            await connection.run_sync(notes.create)
    async with store.database.write() as connection:
        await connection.execute(
            insert(notes), [{"is_open": True, "body": b"\x00\xff"}, {"is_open": False, "body": None}]
        )
    await backup.write_backup(store.database, tmp_path / "backup.zip")
    await restore_sql_store(new_url, tmp_path / "backup.zip")

    async with again.database.write() as connection:
        await connection.execute(insert(notes), [{"body": b"new"}])
    rows = [tuple(row) for row in await again.database.rows(select(notes).order_by(notes.c.id))]
    assert rows == [(1, True, b"\x00\xff"), (2, False, None), (3, None, b"new")]
    with pytest.raises(BadStore, match="it has notes"):
        await restore_sql_store(new_url, tmp_path / "backup.zip")
    await again.close()


async def test_a_backup_is_of_one_moment_while_runs_go_on(store: SqlStore, tmp_path: Path) -> None:
    runs = [await store.create(record(f"run-{number}")) for number in range(3)]
    is_done = asyncio.Event()

    async def work() -> None:
        number = 0
        while not is_done.is_set():
            number += 1
            for run in runs:  # in one batch: all three or none
                run.log.append(step(number))
            await runs[0].log.settled()
            await runs[1].log.settled()
            await runs[2].log.settled()

    async with asyncio.TaskGroup() as group:
        group.create_task(work())
        for _ in range(3):
            await backup.write_backup(store.database, tmp_path / "backup.zip")
        is_done.set()
    await restore_sql_store(f"sqlite:///{tmp_path}/new.db", tmp_path / "backup.zip")
    again = await open_sql_store(f"sqlite:///{tmp_path}/new.db")

    for number in range(3):
        log = list((await again.open(f"run-{number}")).log.read())
        assert log == [step(each) for each in range(1, len(log) + 1)]
    await again.close()


async def test_two_backups_into_one_file_at_once_are_each_whole(
    store: SqlStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(store, make_files(tmp_path / "artifacts"))
    write_rows, path = backup._write_rows, tmp_path / "backup.zip"
    whole: list[bool] = []

    async def write_rows_while_another_backs_up(*of: Any) -> None:
        await write_rows(*of)
        if not whole:
            monkeypatch.undo()
            await backup.write_backup(store.database, path)
            whole.append(zipfile.ZipFile(path).testzip() is None)

    monkeypatch.setattr(backup, "_write_rows", write_rows_while_another_backs_up)
    await backup.write_backup(store.database, path)
    whole.append(zipfile.ZipFile(path).testzip() is None)

    assert whole == [True, True]
    assert backups_in(tmp_path) == ["backup.zip"]


async def test_a_store_that_is_in_use_is_not_restored_into(store: SqlStore, database_url: str, tmp_path: Path) -> None:
    await store.create(record())
    await backup.write_backup(store.database, tmp_path / "backup.zip")

    with pytest.raises(BadStore, match="is not empty"):
        await restore_sql_store(database_url, tmp_path / "backup.zip")
    assert len(await store.find(RunFilter())) == 1


async def test_what_is_no_backup_restores_nothing(store: SqlStore, tmp_path: Path) -> None:
    await store.create(record(), [STARTED])
    await backup.write_backup(store.database, tmp_path / "backup.zip")
    whole = (tmp_path / "backup.zip").read_bytes()
    (tmp_path / "text").write_text("no backup")
    (tmp_path / "cut").write_bytes(whole[: len(whole) // 2])
    with zipfile.ZipFile(tmp_path / "later", "w") as later:
        later.writestr("backup.json", json.dumps({"format": 99}))
    with zipfile.ZipFile(tmp_path / "damaged", "w") as damaged, zipfile.ZipFile(tmp_path / "backup.zip") as good:
        for name in good.namelist():
            damaged.writestr(name, b"[1, 2\n" if name == "events.jsonl" else good.read(name))

    url = f"sqlite:///{tmp_path}/new.db"
    for name in ("text", "cut", "later", "damaged"):
        with pytest.raises(BadStore):
            await restore_sql_store(url, tmp_path / name)
    again = await open_sql_store(url)
    assert await again.find(RunFilter()) == ()
    await again.close()


async def test_a_backup_that_cannot_be_written_leaves_nothing(store: SqlStore, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        await backup.write_backup(store.database, tmp_path / "nowhere" / "backup.zip")
    assert not (tmp_path / "nowhere").exists()
