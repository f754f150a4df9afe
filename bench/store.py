"""Keeping events durably, beside raw INSERTs with the same group commit; and a long log, opened and paged.

    python bench/store.py                       # SQLite and PostgreSQL, 10^6 events in the long log
    python bench/store.py --events 10000000     # as long as it may become
    python bench/store.py --quick               # few rounds, 10^5 events: to see that it works, not to quote

Both sides begin with the same events, pack them the same way, and commit after every 1,000, waiting for each commit; a
line that is for information gives the peer rows that were packed before. Every rate is that of the fastest round of
all, which are interleaved; the long log is judged by the median of 50 samples. SQLite is as the store sets it up (WAL,
synchronous NORMAL); PostgreSQL is a throw-away cluster on this machine, with fsync.
"""

import argparse
import asyncio
import json
import random
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import asyncpg

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from pitstop.events.outcome import Outcome, Status  # noqa: E402
from pitstop.events.types import AnyEvent, StepFinished, StepStarted  # noqa: E402
from pitstop.store.port import RunRecord  # noqa: E402
from pitstop.store.sql.database import PRAGMAS  # noqa: E402
from pitstop.store.sql.event_codec import KINDS  # noqa: E402
from pitstop.store.sql.packing import encoder  # noqa: E402
from pitstop.store.sql.store import SqlStore, open_sql_store  # noqa: E402
from tests.databases import Postgres  # noqa: E402

APPENDED = 50_000
PER_COMMIT = 1_000
TIMES = 1.5
LONGEST_MS = 50.0
PAGE = 1_000
LONG_RUN = "long"

Row = tuple[str, int, str, float, bytes]
Write = Callable[[Sequence[Row]], Awaitable[None]]


def make_events(count: int) -> Iterator[AnyEvent]:
    for number in range(1, count // 2 + 1):
        occurrence = f"build/compile#{number}"
        yield StepStarted(1.7e9 + number, "main", "build/compile", occurrence)
        outcome = Outcome(Status.PASSED, {"exit_code": 0, "files": number, "said": "all is well"})
        yield StepFinished(1.7e9 + number + 0.5, "main", "build/compile", occurrence, outcome)


def make_rows(run: str, events: Sequence[AnyEvent], first: int) -> list[Row]:
    return [
        (run, number, KINDS[type(event)], event.at, encoder.encode(event)) for number, event in enumerate(events, first)
    ]


class RawSqlite:
    """INSERT with the driver alone."""

    statement = "INSERT INTO events (run, number, kind, at, body) VALUES (?, ?, ?, ?, ?)"

    def __init__(self, path: str) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        for name, value in PRAGMAS.items():
            if value:
                self._connection.execute(f"PRAGMA {name}={value}")

    async def write(self, rows: Sequence[Row]) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.executemany(self.statement, rows)
        self._connection.execute("COMMIT")

    async def close(self) -> None:
        self._connection.close()


class RawPostgres:
    """INSERT with the driver alone."""

    statement = "INSERT INTO events (run, number, kind, at, body) VALUES ($1, $2, $3, $4, $5)"

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def write(self, rows: Sequence[Row]) -> None:
        async with self._connection.transaction():
            await self._connection.executemany(self.statement, rows)

    async def close(self) -> None:
        await self._connection.close()


async def open_raw(url: str) -> RawSqlite | RawPostgres:
    if url.startswith("sqlite"):
        return RawSqlite(url.removeprefix("sqlite:///"))
    return RawPostgres(await asyncpg.connect(url))


async def append_to_store(store: SqlStore, run: str, events: Sequence[AnyEvent]) -> float:
    kept = await store.create(RunRecord(id=run, flow="bench", file="bench.yaml", created_at=time.time()))
    begun = time.perf_counter()
    for first in range(0, len(events), PER_COMMIT):
        for event in events[first : first + PER_COMMIT]:
            kept.log.append(event)
        await kept.log.settled()
    spent = time.perf_counter() - begun
    await kept.close()
    return spent


async def insert_events(write: Write, run: str, events: Sequence[AnyEvent]) -> float:
    begun = time.perf_counter()
    for first in range(0, len(events), PER_COMMIT):
        await write(make_rows(run, events[first : first + PER_COMMIT], first + 1))
    return time.perf_counter() - begun


async def insert_rows(write: Write, run: str, events: Sequence[AnyEvent]) -> float:
    rows = make_rows(run, events, 1)
    begun = time.perf_counter()
    for first in range(0, len(rows), PER_COMMIT):
        await write(rows[first : first + PER_COMMIT])
    return time.perf_counter() - begun


async def measure_appends(name: str, url: str, rounds: int) -> list[dict[str, Any]]:
    store, raw = await open_sql_store(url), await open_raw(url)
    events = list(make_events(APPENDED))
    spent: dict[str, list[float]] = {"pitstop": [], "raw": [], "raw, packed before": []}
    for turn in range(rounds):
        spent["pitstop"].append(await append_to_store(store, f"store-{turn}", events))
        spent["raw"].append(await insert_events(raw.write, f"raw-{turn}", events))
        spent["raw, packed before"].append(await insert_rows(raw.write, f"packed-{turn}", events))
    await raw.close()
    await store.close()
    least = {side: min(taken) for side, taken in spent.items()}
    lines = []
    for peer, target in (("raw", TIMES), ("raw, packed before", None)):
        ratio = least["pitstop"] / least[peer]
        lines.append(
            {
                "work": f"{name}: {APPENDED:,} events kept, {PER_COMMIT:,} per commit",
                "pitstop": f"{APPENDED / least['pitstop']:,.0f}/s",
                "peer": f"INSERT {peer} {APPENDED / least[peer]:,.0f}/s",
                "ratio": f"{ratio:.2f}x",
                "to reach": "-" if target is None else f"<= {target}x",
                "verdict": "-" if target is None else judge(ratio <= target),
            }
        )
    return lines


async def measure_long_log(name: str, url: str, count: int, samples: int) -> list[dict[str, Any]]:
    store, raw = await open_sql_store(url), await open_raw(url)
    await store.create(RunRecord(id=LONG_RUN, flow="bench", file="bench.yaml", created_at=time.time()))
    some = list(make_events(20_000))
    for first in range(0, count, len(some)):
        await raw.write(make_rows(LONG_RUN, some[: count - first], first + 1))
    await raw.close()
    chance = random.Random(1)
    opening: list[float] = []
    paging: list[float] = []
    for _ in range(samples):
        begun = time.perf_counter()
        run = await store.open(LONG_RUN, events=False)
        opening.append(time.perf_counter() - begun)
        assert len(run.log) == count
        after = chance.randrange(max(1, count - PAGE))
        begun = time.perf_counter()
        page = await run.log.page(after, PAGE)
        paging.append(time.perf_counter() - begun)
        assert page[0][0] == after + 1
    await store.close()
    return [
        {
            "work": f"{name}: {count:,} events, {work}",
            "pitstop": f"{median(taken) * 1e3:.1f} ms ({min(taken) * 1e3:.1f} to {max(taken) * 1e3:.1f})",
            "peer": "-",
            "ratio": "-",
            "to reach": f"< {LONGEST_MS:g} ms",
            "verdict": judge(median(taken) * 1e3 < LONGEST_MS),
        }
        for work, taken in (("open the run", opening), (f"a page of {PAGE:,}", paging))
    ]


def judge(is_reached: bool) -> str:
    return "reached" if is_reached else "MISSED"


def format_table(lines: Sequence[dict[str, Any]]) -> str:
    cells = [list(lines[0]), *([str(value) for value in line.values()] for line in lines)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    rows = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in cells
    ]
    rows.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(rows)


async def measure_all(urls: dict[str, str], rounds: int, count: int) -> list[dict[str, Any]]:
    lines = []
    for name, url in urls.items():
        lines += await measure_appends(name, url, rounds)
        lines += await measure_long_log(name, url, count, 50)
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=10**6, help="how long the long log is")
    parser.add_argument("--only", default="sqlite,postgresql", help="which databases")
    parser.add_argument("--quick", action="store_true", help="few rounds, and a shorter log")
    parser.add_argument("--json", type=Path, default=ROOT / "bench/store.json", help="where the results go")
    options = parser.parse_args()
    count = min(options.events, 10**4) if options.quick else options.events
    folder = Path(tempfile.mkdtemp(prefix="pitstop-bench-"))
    postgres = None
    try:
        urls = {"SQLite": f"sqlite:///{folder}/pitstop.db"} if "sqlite" in options.only else {}
        if "postgresql" in options.only:
            (folder / "pg").mkdir()
            folder.chmod(0o755)
            postgres = Postgres(folder / "pg", fsync="on", shared_buffers="'256MB'")
            urls["PostgreSQL"] = postgres.new_database()
        lines = asyncio.run(measure_all(urls, 2 if options.quick else 10, count))
    finally:
        if postgres is not None:
            postgres.stop()
        shutil.rmtree(folder)
    print(format_table(lines))
    if options.quick:
        return 0
    options.json.write_text(
        json.dumps({"measured_at": datetime.now(UTC).isoformat(timespec="seconds"), "lines": lines}, indent=1) + "\n"
    )
    return 1 if any(line["verdict"] == "MISSED" for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
