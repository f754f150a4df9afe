"""What the debugger costs a node, through the public API alone: compare.py runs it with the Python of a checkout.

python bench/debugger_costs.py noop       # seconds of a no-op node
python bench/debugger_costs.py debugger   # each cost that has a goal, as JSON
"""

import argparse
import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from measure import Contender, Measurement, interleave
from nodes import NODES, is_looped, new_state
from pitstop import END, START, Graph, Session
from work import attached_chain, attaching, chain, compile_loop, logged_chain

BREAKPOINTS = 10_000
NODE_SECONDS = 10e-6
BUSY_NODES = 300


def busy_loops() -> int:
    """How many additions take NODE_SECONDS here, tried with about so many: sums of large numbers take longer each."""
    tried, times = 1200, 200
    seconds = []
    for _ in range(10):
        start = time.process_time()
        for _ in range(times):
            sum(range(tried))
        seconds.append(time.process_time() - start)
    return max(1, int(tried * times * NODE_SECONDS / min(seconds)))


def busy_chain(name: str, loops: int, *, is_debugged: bool) -> Contender:
    async def work(state: Mapping[str, Any]) -> dict[str, Any]:
        sum(range(loops))
        return {"text": "y"}

    graph = Graph()
    names = [f"n{index}" for index in range(BUSY_NODES)]
    for node in names:
        graph.add_node(node, work)
    for before, after in zip([START, *names], [*names, END], strict=True):
        graph.add_edge(before, after)
    app = graph.compile(recursion_limit=BUSY_NODES + 10)

    async def run() -> Any:
        session = Session(stop_at_entry=False, stop_on_error=True) if is_debugged else None
        return await app.invoke(new_state(), debug=session)

    return Contender(name, run)


def debugged_loop(name: str, **breakpoint: Any) -> Contender:
    """A loop with one breakpoint that never holds. Wall time, because jq may be another process's work."""
    app = compile_loop()
    taken = [0.0]

    async def run() -> Any:
        session = Session(stop_at_entry=False, stop_on_error=True)
        session.add_breakpoint(**breakpoint)
        start = time.perf_counter()
        result = await app.invoke(new_state(), debug=session)
        taken[0] = time.perf_counter() - start
        return result

    return Contender(name, run, own_seconds=lambda: taken[0], check=lambda result: is_looped(result.state))


def more(ours: Measurement, other: Measurement) -> float:
    return ours.seconds / other.seconds - 1


async def measure_debugger(rounds: int) -> dict[str, float]:
    loops = busy_loops()
    busy = [busy_chain("plain", loops, is_debugged=False), busy_chain("session", loops, is_debugged=True)]
    plain, session = (await interleave(busy, rounds)).values()
    looped = [
        debugged_loop("elsewhere", step="elsewhere"),
        debugged_loop("condition", step="node", condition=".turn == -1"),
        debugged_loop("state", state=".text"),
    ]
    elsewhere, condition, state = (await interleave(looped, rounds)).values()
    settle = chain().run
    chains = [logged_chain("log"), attached_chain("many", BREAKPOINTS)]
    wholes = [attaching("attaching one", 1), attaching("attaching many", BREAKPOINTS)]
    measured = await interleave([replace(each, settle=settle) for each in (*chains, *wholes)], rounds * 3)
    logged, many, whole_one, whole_many = measured.values()
    return {
        # A share of 10 us, not of what `plain` took: the speed at which busy_loops() was tried may be gone by now
        "session": (session.seconds - plain.seconds) / BUSY_NODES / NODE_SECONDS,
        "condition": (condition.seconds - elsewhere.seconds) / NODES,
        "state": (state.seconds - elsewhere.seconds) / NODES,
        "elsewhere": more(many, logged),
        "attaching": whole_many.seconds - whole_one.seconds,
    }


async def measure_noop() -> float:
    (measured,) = (await interleave([chain()], 3)).values()
    return measured.seconds / NODES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("noop", "debugger"))
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    found: object = asyncio.run(measure_noop() if options.what == "noop" else measure_debugger(options.rounds))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
