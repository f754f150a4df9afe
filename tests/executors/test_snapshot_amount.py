import asyncio
import os
from pathlib import Path

import pytest

from pitstop.engine.amount import Amount
from pitstop.executors.machine.snapshots.store import SnapshotStore
from tests.executors.test_snapshots import settle
from tests.held_files import HeldFiles, make_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir()
    return folder


@pytest.fixture
def store(tmp_path: Path) -> SnapshotStore:
    return SnapshotStore(tmp_path / "store")


async def test_how_far_a_snapshot_is_can_be_seen_while_it_is_taken(
    folder: Path, store: SnapshotStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_files(folder, "a", "b", "c", "d")
    held, amount = HeldFiles("c", monkeypatch), Amount()

    async with asyncio.TaskGroup() as group:
        group.create_task(store.take(folder, amount=amount))
        await held.came()
        seen = (amount.files, amount.bytes, amount.of_files, amount.of_bytes)
        held.let_go()

    assert seen == (2, 2000, 4, 4000)
    assert (amount.files, amount.bytes) == (4, 4000)


async def test_only_folders_that_have_changed_count(folder: Path, store: SnapshotStore) -> None:
    make_files(folder / "same", "a", "b")
    make_files(folder / "other", "c", "d")
    first = await store.take(folder)
    await settle(store, folder)
    make_files(folder / "other", "e")
    amount = Amount()

    await store.take(folder, first.id, amount=amount)

    assert (amount.files, amount.bytes, amount.of_files, amount.of_bytes) == (3, 3000, 3, 3000)


async def test_how_far_it_is_put_back_can_be_seen_meanwhile(
    folder: Path, store: SnapshotStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_files(folder, "a", "b", "c", "d")
    first = await store.take(folder)
    for name in ("a", "b", "c"):
        (folder / name).write_text("spoiled")
    held, amount = HeldFiles("c", monkeypatch), Amount()

    async with asyncio.TaskGroup() as group:
        group.create_task(store.restore(folder, first.id, amount=amount))
        await held.came()
        seen = (amount.files, amount.bytes, amount.of_files, amount.of_bytes)
        held.let_go()

    assert seen == (2, 2000, 3, 3000)
    assert (amount.files, amount.bytes) == (3, 3000)
    assert (folder / "c").read_text().startswith("c..")


async def test_a_large_file_counts_while_it_is_copied(
    folder: Path, store: SnapshotStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "large").write_bytes(os.urandom(5_000_000))
    seen: list[int] = []
    amount, read = Amount(), os.pread

    def noticed(fd: int, size: int, offset: int) -> bytes:
        seen.append(amount.bytes)
        return read(fd, size, offset)

    monkeypatch.setattr(os, "pread", noticed)
    await store.take(folder, amount=amount)

    assert seen == [number * 1024 * 1024 for number in range(5)]
    assert amount.bytes == 5_000_000
