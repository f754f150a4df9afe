"""Files that are kept while somebody still writes them."""

from pathlib import Path

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
