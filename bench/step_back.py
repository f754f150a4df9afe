"""Going back over one step at the end of a run, with the files of then, in a short run and in a long one.

    python bench/step_back.py
    python bench/step_back.py --quick         # short runs: to see that it works, not to quote

Each step writes one of ten files; the run is stopped after the last one and goes back to before it, as `back` does,
again and again. Beside it, what it would take to be there without: running the flow from its start. The time that a
step back takes is to be independent of how long the run is. The last line is of a run in which each step makes a file
of its own: how long it takes to look through the files does depend on how many there are (see snapshot.py).
"""

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from statistics import median

from pitstop.app import open_service
from pitstop.service.caller import LOCAL
from pitstop.service.debugging import Debugger, verbs
from pitstop.service.runs import ActiveRun, BreakpointRequest, DebugRequest, RunRequest
from pitstop.settings import Settings

LENGTHS = (20, 200, 2000)
QUICK_LENGTHS = (20, 100)
FILES = 10
MANY_FILES = 200
ROUNDS = 15
TO_REACH = 1.5  # times the shortest run, whose log has a tenth of the events, or a hundredth


async def measure_all(lengths: Sequence[int]) -> None:
    print(f"load {os.getloadavg()[0]:.1f}")
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for steps in lengths:
            found[steps] = await told(Path(folder, str(steps)), steps, FILES)
        await told(Path(folder, "files"), MANY_FILES, MANY_FILES)
    short = found[lengths[0]]
    for steps in lengths[1:]:
        verdict = "reached" if found[steps] <= TO_REACH * short else "MISSED"
        print(f"{steps} steps / {lengths[0]} steps: {found[steps] / short:.2f}x; to reach <= {TO_REACH}x: {verdict}")


async def told(home: Path, steps: int, files: int) -> float:
    """Seconds for one step back, at best."""
    whole, back = await measured(home, steps, files)
    print(
        f"{steps:4} steps, {files:3} files: from the start {whole * 1e3:8.1f} ms, "
        f"one step back min {min(back) * 1e3:6.1f} ms, median {median(back) * 1e3:6.1f} ms"
    )
    return min(back)


async def measured(home: Path, steps: int, files: int) -> tuple[float, list[float]]:
    """Seconds for the whole run, and for each step back."""
    flow = "steps:\n" + "".join(f"  - {{id: s{n}, run: echo {n} > f{n % files}}}\n" for n in range(steps))
    last = f"s{steps - 1}"
    wanted = (BreakpointRequest(step=last), BreakpointRequest(step=last, position="after"))
    async with open_service(Settings(home)) as service:
        began = time.perf_counter()
        request = RunRequest(flow="f.yaml", text=flow, debug=DebugRequest(breakpoints=wanted))
        run = await service.runs.start(LOCAL, request)
        stops, debugger = stops_of(run), Debugger(service.debugging, LOCAL, run.id)
        await debugger.say(verbs.Continue(await anext(stops)))
        stop = await anext(stops)
        whole = time.perf_counter() - began
        back = []
        for _ in range(ROUNDS):
            began = time.perf_counter()
            await debugger.say(verbs.Step(stop, "back"))
            stop = await anext(stops)
            back.append(time.perf_counter() - began)
            await debugger.say(verbs.Continue(stop))
            stop = await anext(stops)
        await debugger.say(verbs.Abort())
        await run.wait()
    return whole, back


async def stops_of(run: ActiveRun) -> AsyncIterator[int]:
    async for event in run.events():
        if event.kind == "debug.stopped":
            yield event.fields["stop"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="short runs")
    asyncio.run(measure_all(QUICK_LENGTHS if parser.parse_args().quick else LENGTHS))


if __name__ == "__main__":
    main()
