"""The rows of the table: what is compared with what, and what is to be reached."""

import asyncio
import importlib
import json
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType

from growth import Series, measure_growth, plot
from measure import Measurement, interleave
from nodes import BRANCHES, NODES

HERE = Path(__file__).parent
BREAKPOINTS = (1, 100, 10_000)
PAUSED_FRAMES = 10_000
PATIENCE_SECONDS = 60
LEAST_PLOTTED_ROUNDS = 10  # fewer would draw noise
REACHED, MISSED, FOR_INFORMATION = "reached", "MISSED", "-"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table."""

    work: str
    pitstop: str
    peer: str
    ratio: str
    target: str
    verdict: str


@dataclass(frozen=True, slots=True)
class RowResult:
    """What a row found: its lines, the minima behind them, and figures that are no CPU times."""

    lines: Sequence[Line]
    measured: dict[str, Measurement] = field(default_factory=dict)
    figures: dict[str, float] = field(default_factory=dict)


def show(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.0f} ns"


def show_times(ratio: float) -> str:
    return f"{ratio:,.0f}x" if ratio >= 100 else f"{ratio:.1f}x"


def judge(is_reached: bool) -> str:
    return REACHED if is_reached else MISSED


def at_most(work: str, ours: Measurement, peer: Measurement, times: float) -> Line:
    ratio = ours.seconds / peer.seconds
    verdict = judge(ratio <= times)
    return Line(
        work, show(ours.seconds), f"{peer.name} {show(peer.seconds)}", f"{ratio:.2f}x", f"<= {times:g}x", verdict
    )


def faster(work: str, ours: Measurement, peer: Measurement, times: float | None = None) -> Line:
    ratio = peer.seconds / ours.seconds
    target = FOR_INFORMATION if times is None else f">= {times:g}x faster"
    verdict = FOR_INFORMATION if times is None else judge(ratio >= times)
    return Line(
        work, show(ours.seconds), f"{peer.name} {show(peer.seconds)}", f"{show_times(ratio)} faster", target, verdict
    )


def within(work: str, ours: Measurement, peer: Measurement, percent: float | None) -> Line:
    more = (ours.seconds / peer.seconds - 1) * 100
    target = FOR_INFORMATION if percent is None else f"<= {percent:g} %"
    verdict = FOR_INFORMATION if percent is None else judge(more <= percent)
    return Line(work, show(ours.seconds), f"{peer.name} {show(peer.seconds)}", f"{more:+.2f} %", target, verdict)


# --- The engine against its peers -------------------------------------------------------------------------------------


def installed_peers(*names: str) -> list[ModuleType]:
    """The modules of `peers` whose libraries are in this environment."""
    found = []
    for name in names:
        try:
            found.append(importlib.import_module(f"peers.{name}"))
        except ImportError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
    return found


async def measure_thin_nodes(kind: str, work_name: str, rounds: int) -> RowResult:
    import work
    from peers import bare

    victor = installed_peers("victor_peer")
    libraries = [*installed_peers("langgraph_peer", "burr_peer", "pydantic_graph_peer"), *victor]
    measured = await interleave(
        [getattr(module, kind)() for module in (work, bare, *libraries)]
        + [getattr(module, f"{kind}_as_it_comes")() for module in victor],
        rounds,
    )
    ours, floor, *peers = measured.values()
    fastest = min(peers, key=lambda peer: peer.seconds, default=None)
    lines = [at_most(work_name, ours, floor, 10)]
    if fastest is not None:
        lines.append(faster(f"{work_name}: fastest peer", ours, fastest, 10))
    lines += [faster(work_name, ours, peer, 150) for peer in peers if peer.name == "LangGraph"]
    lines += [faster(work_name, ours, peer) for peer in peers if peer.name != "LangGraph" and peer is not fastest]
    return RowResult(lines, measured)


async def chain(rounds: int) -> RowResult:
    return await measure_thin_nodes("chain", f"{NODES:,}-node chain", rounds)


async def loop(rounds: int) -> RowResult:
    return await measure_thin_nodes("loop", f"{NODES:,}-turn loop", rounds)


async def fan_out(rounds: int) -> RowResult:
    import work
    from peers import bare

    modules = (work, bare, *installed_peers("langgraph_peer"))
    measured = await interleave([module.fan_out() for module in modules], rounds)
    ours, gather, *peers = measured.values()
    name = f"fan-out of {BRANCHES} and join"
    return RowResult([at_most(name, ours, gather, 3), *(faster(name, ours, peer, 15) for peer in peers)], measured)


async def step(rounds: int) -> RowResult:
    import work

    measured = await interleave(
        [
            work.step_through_loop("pitstop"),
            work.step_through_chain("pitstop, chain"),
            *(module.step_through() for module in installed_peers("langgraph_peer")),
        ],
        rounds,
    )
    looped, chained, *peers = measured.values()
    lines = []
    for kind, ours in (("loop", looped), ("chain", chained)):
        per_step = ours.seconds / NODES
        verdict = judge(per_step <= 100e-6)
        lines.append(Line(f"single-stepping {NODES:,} nodes, {kind}", show(per_step), "-", "-", "<= 100 us", verdict))
    lines += [faster(f"single-stepping {NODES:,} nodes", looped, peer, 10) for peer in peers]
    return RowResult(lines, measured)


# --- What the debugger and the log cost -------------------------------------------------------------------------------


async def gate(rounds: int) -> RowResult:
    import work
    from gateless import GateSwitch

    switch = GateSwitch()
    try:
        measured = await interleave(
            [
                work.gated_chain("gate", switch, has_gate=True),
                work.gated_chain("no gate", switch, has_gate=False),
                work.gated_chain("no gate, again", switch, has_gate=False),
            ],
            rounds * 5,
        )
    finally:
        switch.restore()
    ours, gateless, again = measured.values()
    lines = [
        within("debugger present, not attached", ours, gateless, 2),
        within("noise: the same loop twice", again, gateless, None),
    ]
    return RowResult(lines, measured)


async def attached(rounds: int) -> RowResult:
    import work

    settle = work.chain().run
    contenders = [
        work.chain("not attached, no log"),
        work.logged_chain("not attached, log"),
        work.logged_chain("not attached, log, again"),
        *(work.attached_chain(f"attached, breakpoints: {count:,}", count) for count in BREAKPOINTS),
        work.attaching(f"whole run, breakpoints: {BREAKPOINTS[-1]:,}", BREAKPOINTS[-1]),
    ]
    measured = await interleave([replace(contender, settle=settle) for contender in contenders], rounds * 2)
    plain, logged, again, *debugged, whole = measured.values()
    lines = [
        within(f"attached, breakpoints elsewhere: {count:,}", ours, logged, 5)
        for count, ours in zip(BREAKPOINTS, debugged, strict=True)
    ]
    least, most = min(debugged, key=lambda one: one.seconds), max(debugged, key=lambda one: one.seconds)
    lines.append(within("attached: dearest against cheapest of the three", most, least, 2))
    lines.append(within("noise: the same loop twice", again, logged, None))
    lines.append(within("attached and logged, against neither", debugged[0], plain, None))
    lines.append(Line(f"{whole.name}, attaching", show(whole.seconds), "-", "-", FOR_INFORMATION, FOR_INFORMATION))
    return RowResult(lines, measured)


def _record_name(size: str, is_recorded: bool) -> str:
    return f"{size}, {'recorded' if is_recorded else 'not'}"


async def record(rounds: int) -> RowResult:
    import work

    pairs = [("50-byte state", False), ("50 KB state", True)]
    measured = await interleave(
        [
            work.recorded_chain(_record_name(size, is_recorded), is_large=is_large, is_recorded=is_recorded)
            for size, is_large in pairs
            for is_recorded in (False, True)
        ],
        rounds,
    )
    lines, costs = [], []
    for size, _ in pairs:
        off, on = measured[_record_name(size, False)], measured[_record_name(size, True)]
        cost = (on.seconds - off.seconds) / NODES
        costs.append(cost)
        peer = f"not recording {show(off.seconds)}"
        verdict = judge(cost <= 1e-6)
        lines.append(Line(f"recording, {size}", show(on.seconds), peer, f"+{show(cost)} a node", "<= 1 us", verdict))
    apart = abs(costs[1] - costs[0])
    verdict = judge(apart <= 0.1e-6)
    lines.append(Line("recording: 50 KB against 50 bytes", "-", "-", f"{show(apart)} a node", "<= 100 ns", verdict))
    return RowResult(lines, measured, {"seconds_per_node_small": costs[0], "seconds_per_node_large": costs[1]})


# --- In processes of their own ----------------------------------------------------------------------------------------


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


async def paused(rounds: int) -> RowResult:
    found: list[dict[str, float]] = []
    for _ in range(min(3, rounds)):
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(HERE / "work.py"),
            str(PAUSED_FRAMES),
            stdout=asyncio.subprocess.PIPE,
            env=_environment(),
        )
        try:
            output, _ = await asyncio.wait_for(process.communicate(), PATIENCE_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()
            late = f"{PAUSED_FRAMES:,} frames were not paused and continued in {PATIENCE_SECONDS} s"
            raise TimeoutError(late) from None
        if process.returncode:
            raise RuntimeError(f"pausing {PAUSED_FRAMES:,} frames failed: see above")
        found.append(json.loads(output))
    best = {key: min(one[key] for one in found) for key in found[0]}
    best["bytes"] = max(one["bytes"] for one in found)  # memory has no noise to be freed of
    name = f"{PAUSED_FRAMES:,} frames paused at once"
    megabytes = best["bytes"] / 1e6
    continued = best["wall_seconds"]
    lines = [
        Line(f"{name}: memory", f"{megabytes:.0f} MB", "-", "-", "< 100 MB", judge(megabytes < 100)),
        Line(f"{name}: continue all", f"{show(continued)} (wall)", "-", "-", "< 2 s", judge(continued < 2)),
    ]
    return RowResult(lines, figures=best)


IMPORTS = {
    "import pitstop": "import pitstop",
    "Graph and Session": "from pitstop import END, START, Graph, MemoryLog, Session",
    "interpreter alone": "pass",
}
PEER_IMPORTS = {
    "langgraph_peer": ("LangGraph", "from langgraph.graph import END, START, StateGraph"),
    "burr_peer": ("Burr", "from burr.core import ApplicationBuilder, State, action"),
}


def _child_seconds(code: str) -> float:
    """The CPU time of a whole Python process that runs this code."""
    child = os.posix_spawn(sys.executable, [sys.executable, "-c", code], _environment())
    _, status, usage = os.wait4(child, 0)
    if status:
        raise RuntimeError(f"{code!r} failed: see above")
    return usage.ru_utime + usage.ru_stime


async def imports(rounds: int) -> RowResult:
    peers = [module.__name__.removeprefix("peers.") for module in installed_peers(*PEER_IMPORTS)]
    codes = IMPORTS | dict(PEER_IMPORTS[peer] for peer in peers)
    samples: dict[str, list[float]] = {name: [] for name in codes}
    for code in codes.values():
        _child_seconds(code)  # writes the bytecode
    for _ in range(max(3, rounds // 3)):
        for name, code in codes.items():
            samples[name].append(_child_seconds(code))
    measured = {name: Measurement(name, taken) for name, taken in samples.items()}
    ours, used, alone, *others = measured.values()
    whole = f"{alone.name} {show(alone.seconds)}"
    lines = [
        Line("import pitstop", show(ours.seconds), whole, "-", "<= 100 ms", judge(ours.seconds <= 0.1)),
        Line("import Graph, Session", show(used.seconds), whole, "-", FOR_INFORMATION, FOR_INFORMATION),
        *(faster("import Graph, Session", used, other) for other in others),
    ]
    return RowResult(lines, measured)


def _growth_line(one: Series) -> Line:
    reach = "" if one.is_complete else f", {one.wanted:,} out of reach"
    return Line(
        f"growth: {one.sizes[0]:,} to {one.sizes[-1]:,} {one.name}{reach}",
        f"{show(one.seconds[0])} to {show(one.seconds[-1])}",
        "-",
        f"slope {one.slope:.2f}",
        "linear: <= 1.1",
        judge(one.is_complete and one.slope <= 1.1),
    )


async def growth(rounds: int) -> RowResult:
    series, measured = await measure_growth(min(rounds, max(3, rounds // 3)))
    if rounds >= LEAST_PLOTTED_ROUNDS:
        plot(series, HERE / "growth.png")
    slopes = {f"slope: {one.name}": one.slope for one in series}
    return RowResult([_growth_line(one) for one in series], measured, slopes)


ROWS: dict[str, Callable[[int], Awaitable[RowResult]]] = {
    "chain": chain,
    "loop": loop,
    "fan_out": fan_out,
    "gate": gate,
    "attached": attached,
    "record": record,
    "step": step,
    "paused": paused,
    "import": imports,
    "growth": growth,
}
