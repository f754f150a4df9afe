"""A process to be killed: it writes two runs as fast as it can, and prints what it was told is kept."""

import asyncio
import sys

from pitstop.engine.executor import LogChunk
from pitstop.events.outcome import Outcome, Status
from pitstop.events.types import StepFinished
from pitstop.store.port import RunRecord
from pitstop.store.sql.store import open_sql_store


async def write(url: str, name: str) -> None:
    store = await open_sql_store(url)
    runs = [
        await store.create(RunRecord(id=f"{name}-{n}", flow="f", file="f.yaml", created_at=float(n))) for n in (1, 2)
    ]
    number = 0
    while True:
        for _ in range(1 + number % 20):
            number += 1
            for run in runs:
                text = "x" * (number * 97 % 40_000)  # some leave their row
                run.log.append(StepFinished(1.0, "main", "step", f"step#{number}", Outcome(Status.PASSED, text)))
                run.append_output("step", LogChunk("stdout", 0, 1.0, b"line %d\n" % number))
        for run in runs:
            await run.log.settled()
        print(number, flush=True)


if __name__ == "__main__":
    asyncio.run(write(sys.argv[1], sys.argv[2]))
