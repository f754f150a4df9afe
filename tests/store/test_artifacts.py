"""Files that are kept while somebody still writes them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pitstop.store.sql import artifacts
from pitstop.store.sql.store import SqlStore
from tests.contracts.store import collect, record


async def test_a_file_that_shrinks_while_it_is_kept_is_kept_as_it_is_then(
    store: SqlStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "artifacts"
    folder.mkdir()
    file = folder / "report"
    file.write_bytes(bytes(3 * artifacts.CHUNK_BYTES))
    hash_chunks = artifacts._hash_chunks

    def hash_before_it_shrinks(path: Path) -> list[bytes]:
        chunks = hash_chunks(path)
        file.write_bytes(b"short")
        return chunks

    run = await store.create(record())
    monkeypatch.setattr(artifacts, "_hash_chunks", hash_before_it_shrinks)
    await run.keep_artifacts(folder)

    assert [each.size for each in await run.artifacts()] == [5]
    assert b"".join(await collect(run.artifact("report"))) == b"short"


async def test_files_that_are_kept_by_two_at_once_are_kept_as_they_are_last(
    store: SqlStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "artifacts"
    folder.mkdir()
    (folder / "report").write_text("first")
    run = await store.create(record())
    keep_chunks = artifacts._keep_chunks

    async with asyncio.TaskGroup() as others:
        later: list[asyncio.Task[None]] = []

        async def keep_chunks_while_it_is_replaced(*of: Any) -> tuple[list[bytes], int]:
            kept = await keep_chunks(*of)
            if not later:
                (folder / "report").write_text("second")
                later.append(others.create_task(run.keep_artifacts(folder)))
                await asyncio.wait(later, timeout=0.5)  # it may not overtake us
            return kept

        monkeypatch.setattr(artifacts, "_keep_chunks", keep_chunks_while_it_is_replaced)
        await run.keep_artifacts(folder)

    assert b"".join(await collect(run.artifact("report"))) == b"second"
