"""What a step wrote, read while it writes on."""

from typing import Any

import pytest

from pitstop.store.sql import output
from pitstop.store.sql.store import SqlStore
from tests.contracts.store import record, write


@pytest.mark.parametrize(("times", "end"), [(1, b"one\ntwo\nthr"), (100, b"one\ntwo\n")])
async def test_the_end_of_what_a_step_wrote_has_no_gap_though_it_writes_on(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch, times: int, end: bytes
) -> None:
    run = await store.create(record())
    write(run, "build", b"one\ntw")
    read_end, left = output.read_end, times

    async def read_while_it_writes(*of: Any) -> bytes:
        nonlocal left
        kept = await read_end(*of)
        if left:
            left -= 1
            write(run, "build", b"o\nthr" if left == times - 1 else b"ee\nthr")
        return kept

    monkeypatch.setattr("pitstop.store.sql.run.read_end", read_while_it_writes)
    told = await run.output_end("build", 1000)

    assert told.startswith(end)
    assert told.endswith(b"\n" if times > 1 else b"thr")
